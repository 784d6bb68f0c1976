# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm calibrate``: the parameter of a family of events that reaches a target."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from dperm.cli.grammar import COUNT, Filling, Node
from dperm.cli.options import EVENTS_HELP, AdjacencyName, AsJson, EventFiles, Events, number
from dperm.cli.running import reported_errors, spinner
from dperm.errors import AssumptionError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.engines import Answer
    from dperm.accounting.event import Event

HELP = f"""The value of ? at which EVENTs in sequence are (epsilon, delta)-DP: the least noise, or the most steps.

Write ? for one number of the events: a noise multiplier, a rate, a count, or the epsilon or delta of a declared
guarantee. If there are several ? they are the same number. The value is rounded to the safe side, and the epsilon
beside it is certified at the very value that is shown.

{EVENTS_HELP}
\b
Examples:
  dperm calibrate --adjacency add_remove --epsilon 1 --delta 1e-5 "poisson(gaussian(?), rate=0.01) * 1000"
  dperm calibrate --adjacency add_remove --epsilon 1 --delta 1e-5 "poisson(gaussian(1.0), rate=0.01) * ?"
  dperm calibrate --adjacency replace_one --epsilon 2 --delta 1e-6 --json "laplace(?) * 5" "gaussian(10)"
"""

_NOISE = "noise_multiplier"
_BOUNDS = {_NOISE: (1e-2, 1e8), "rate": (1e-9, 1.0), "epsilon": (1e-6, 500.0), "delta": (1e-18, 0.999), COUNT: (1, 1e9)}
"""Where ? is searched unless --low and --high say otherwise; the most steps depend on the other events."""

_DIGITS = (8, 12)


def calibrate(
    epsilon: Annotated[float, number("--epsilon", "The epsilon to reach.")],
    delta: Annotated[float, number("--delta", "The delta at which to reach it.")],
    adjacency: AdjacencyName = "",
    events: Events = None,
    event_file: EventFiles = None,
    low: Annotated[float | None, number("--low", "Least value of ? to try.")] = None,
    high: Annotated[float | None, number("--high", "Largest value to try.")] = None,
    json: AsJson = False,
) -> None:
    """Calibrate the one open number of a command line."""
    with reported_errors():
        from dperm import checks
        from dperm.cli.subject import filling, read_subject

        relation = filling(adjacency).adjacency
        subject = read_subject(events, event_file)
        target = checks.positive("--epsilon", epsilon), checks.small_delta("--delta", delta)
        family = _Family(subject, _role(subject), *target, relation)
        with spinner("Calibrating ..."):
            value = family.calibrated(*family.bounds(low, high))
            shown = repr(value) if json else family.shown(value)
            found = family.answer(float(shown))
        if json:
            _print_json(family, value, found)
        else:
            _print_table(family, shown, found)


def _role(subject: Node) -> str:
    """The name of the parameter that every ? stands for."""
    roles = subject.roles()
    if len(roles) != 1:
        found = f"they stand for {' and '.join(sorted(roles))}" if roles else "there is none"
        raise ParameterError(f"write ? for one number of the events, or for equal ones of the same kind; {found}.")
    (role,) = roles
    if role not in _BOUNDS:
        raise ParameterError(f"? may stand for {', '.join(_BOUNDS)}, but not for {role}.")
    return role


@dataclass(frozen=True)
class _Family:
    """The events as a function of ``?``, and the target."""

    subject: Node
    role: str
    epsilon: float
    delta: float
    adjacency: str

    def event(self, value: float) -> "Event":
        """The events with ``value`` for ``?``."""
        return self.subject.event(Filling(self.adjacency, value))

    def answer(self, value: float) -> "Answer":
        """The certified epsilon at ``value``."""
        from dperm.accounting import account

        return account(self.event(value), self.adjacency).epsilon_answer(self.delta)

    def bounds(self, low: float | None, high: float | None) -> tuple[float, float]:
        """Where to search: as asked for, or everywhere that makes sense."""
        from dperm.accounting.event import MOST_STEPS
        from dperm.cli.subject import event_of, steps

        least, most = _BOUNDS[self.role]
        if self.role == COUNT:
            most = MOST_STEPS // max(1, steps(self.event(1)))
        chosen = {"--low": least if low is None else low, "--high": most if high is None else high}
        for option, value in chosen.items():
            self._check(option, value)
            event_of(self.subject, Filling(self.adjacency, value))
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
        """The value that reaches the target; whole if it is a count."""
        from dperm.accounting import calibrate as calibrated

        try:
            value = calibrated(self.event, self.epsilon, self.delta, self.adjacency, bounds=(low, high))
        except AssumptionError as error:
            raise AssumptionError(f"{error} (--low and --high are the bounds of ?.)") from None
        return int(value) if self.role == COUNT else value

    def shown(self, value: float) -> str:
        """``value`` with few digits, rounded to the side on which the target is still certified."""
        from dperm.cli.output import down, up

        if self.role == COUNT:
            return str(value)
        rounded = up if self.role == _NOISE else down
        short = (rounded(value, digits) for digits in _DIGITS)
        return next((text for text in short if self.answer(float(text)).upper <= self.epsilon), repr(value))


def _print_json(family: _Family, value: float, found: "Answer") -> None:
    from dperm.cli.answers import answer_data
    from dperm.cli.output import print_json
    from dperm.cli.subject import event_data

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
    from dperm.cli.output import bracket, print_facts, print_table, up

    headers = (family.role, f"epsilon at delta {family.delta!r} at most", "bracket", "engine")
    print_table(headers, [(shown, up(found.upper), bracket(found.lower, found.upper), found.engine)])
    side = "up" if family.role == _NOISE else "down"
    print_facts(
        [
            ("adjacency", family.adjacency),
            ("target", f"epsilon {family.epsilon!r} at delta {family.delta!r}; {family.role} is rounded {side}"),
            (found.engine, found.why),
        ]
    )
