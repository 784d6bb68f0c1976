# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm calibrate``: noise, rate or count of events for a target guarantee."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from dperm.cli.event_grammar import COUNT, EventNode, Substitution
from dperm.cli.options import EVENTS_HELP, AdjacencyName, AsJson, EventFiles, Events, number
from dperm.cli.running import reported_errors, spinner
from dperm.errors import AssumptionError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.engines import Answer
    from dperm.accounting.event import Event

HELP = f"""Find the value of ? at which a sequence of EVENTs is (epsilon, delta)-DP: the least noise or the most steps.

Write ? in place of a number in the events: a noise multiplier, a rate, a count, or the epsilon or delta of a declared
guarantee. Every ? stands for the same number. The value is rounded in the safe direction, and the printed epsilon is
certified for the rounded value.

{EVENTS_HELP}
\b
Examples:
  dperm calibrate --adjacency add_remove --epsilon 1 --delta 1e-5 "poisson(gaussian(?), rate=0.01) * 1000"
  dperm calibrate --adjacency add_remove --epsilon 1 --delta 1e-5 "poisson(gaussian(1.0), rate=0.01) * ?"
  dperm calibrate --adjacency replace_one --epsilon 2 --delta 1e-6 --json "laplace(?) * 5" "gaussian(10)"
"""

_NOISE = "noise_multiplier"
_BOUNDS = {
    _NOISE: (1e-2, 1e8),
    "rate": (1e-9, 1.0),
    "epsilon": (1e-6, 500.0),
    "delta": (1e-18, 0.999),
    "mean": (1.0, 1e6),
    COUNT: (1, 1e9),
}
"""Default search interval of ?; the largest count also depends on the other events."""

_DIGITS = (8, 12)


def calibrate(
    epsilon: Annotated[float, number("--epsilon", "Target epsilon, greater than 0.")],
    delta: Annotated[float, number("--delta", "Target delta; 0 for pure DP.")],
    adjacency: AdjacencyName = "",
    events: Events = None,
    event_file: EventFiles = None,
    low: Annotated[
        float | None, number("--low", "Lower end of the search range for ?.", show_default="depends on the parameter")
    ] = None,
    high: Annotated[
        float | None, number("--high", "Upper end of the search range for ?.", show_default="depends on the parameter")
    ] = None,
    json: AsJson = False,
) -> None:
    """Calibrate the value of ?."""
    with reported_errors():
        from dperm import checks
        from dperm.cli.event_input import read_events, substitution

        relation = substitution(adjacency).adjacency
        expression = read_events(events, event_file)
        target = checks.positive("--epsilon", epsilon), checks.small_delta("--delta", delta)
        family = _Family(expression, _role(expression), *target, relation)
        with spinner("Calibrating ..."):
            value = family.calibrated(*family.bounds(low, high))
            shown = repr(value) if json else family.shown(value)
            found = family.answer(float(shown))
        if json:
            _print_json(family, value, found)
        else:
            _print_table(family, shown, found)


def _role(expression: EventNode) -> str:
    """Return the name of the parameter in place of ?."""
    roles = expression.roles()
    if len(roles) != 1:
        found = f"there are ? for {' and '.join(sorted(roles))}" if roles else "there is no ?"
        raise ParameterError(
            f"write ? for one number in the events, or for several equal numbers of the same kind; {found}."
        )
    (role,) = roles
    if role not in _BOUNDS:
        raise ParameterError(f"? may stand for {', '.join(_BOUNDS)}, but not for {role}.")
    return role


@dataclass(frozen=True)
class _Family:
    """Events as a function of ``?``, and the target."""

    expression: EventNode
    role: str
    epsilon: float
    delta: float
    adjacency: str

    def event(self, value: float) -> "Event":
        """Return the events with ``value`` for ``?``."""
        return self.expression.event(Substitution(self.adjacency, value))

    def answer(self, value: float) -> "Answer":
        """Return the certified epsilon at ``value``."""
        from dperm.accounting import account

        return account(self.event(value), self.adjacency).epsilon_answer(self.delta)

    def bounds(self, low: float | None, high: float | None) -> tuple[float, float]:
        """Return the search interval: --low and --high, or the default."""
        from dperm.accounting.event import MOST_STEPS
        from dperm.cli.event_input import event_of, steps

        least, most = _BOUNDS[self.role]
        if self.role == COUNT:
            most = MOST_STEPS // max(1, steps(self.event(1)))
        chosen = {"--low": least if low is None else low, "--high": most if high is None else high}
        for option, value in chosen.items():
            self._check(option, value)
            event_of(self.expression, Substitution(self.adjacency, value))
        if not chosen["--low"] < chosen["--high"]:
            raise ParameterError(f"--low must be below --high, got {chosen['--low']:g} and {chosen['--high']:g}.")
        return chosen["--low"], chosen["--high"]

    def _check(self, option: str, value: float) -> None:
        from dperm import checks

        checks.positive(option, value)
        try:
            self.event(value)
        except ParameterError as error:
            raise ParameterError(f"{option} is {value:g}, and {error}") from None

    def calibrated(self, low: float, high: float) -> float:
        """Return the calibrated value; a whole number if it is a count."""
        from dperm.accounting import calibrate as calibrated

        try:
            value = calibrated(self.event, self.epsilon, self.delta, self.adjacency, bounds=(low, high))
        except AssumptionError as error:
            raise AssumptionError(f"{error} (--low and --high bound the search for ?.)") from None
        return int(value) if self.role == COUNT else value

    def shown(self, value: float) -> str:
        """Return ``value`` with few digits, rounded to the side on which the target is still certified."""
        from dperm.cli.output import down, up

        if self.role == COUNT:
            return str(value)
        rounded = up if self.role == _NOISE else down
        short = (rounded(value, digits) for digits in _DIGITS)
        return next((text for text in short if self.answer(float(text)).upper <= self.epsilon), repr(value))


def _print_json(family: _Family, value: float, found: "Answer") -> None:
    from dperm.cli.account import answer_data
    from dperm.cli.event_input import event_data
    from dperm.cli.output import print_json

    print_json(
        {
            "adjacency": family.adjacency,
            "target": {"epsilon": family.epsilon, "delta": family.delta},
            "parameter": family.role,
            "value": value,
            **answer_data(found, "epsilon"),
            "event": event_data(family.event(value)),
        }
    )


def _print_table(family: _Family, shown: str, found: "Answer") -> None:
    from dperm.cli.output import bracket, print_facts, print_table, typed, up

    headers = (family.role, f"epsilon at delta {typed(family.delta)} at most", "interval", "engine")
    print_table(headers, [(shown, up(found.upper), bracket(found.lower, found.upper), found.engine)])
    side = "up" if family.role == _NOISE else "down"
    print_facts(
        [
            ("adjacency", family.adjacency),
            (
                "target",
                f"epsilon {typed(family.epsilon)} at delta {typed(family.delta)}; {family.role} is rounded {side}",
            ),
            (found.engine, found.why),
        ]
    )
