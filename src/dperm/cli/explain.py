# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm explain``: success of the best attacker against a guarantee or a sequence of events."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dperm.cli.options import EVENTS_HELP, AdjacencyName, AsJson, EventFiles, Events, number
from dperm.cli.running import reported_errors, spinner
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.privacy import GDP, ZCDP, ApproxDP, Explanation, PrivacyProfile

    Promise = ApproxDP | GDP | ZCDP

HELP = f"""Given a guarantee or a sequence of EVENTs, bound the success of any attacker who knows all records except the
one under attack.

Give one of: --epsilon with --delta, --mu (Gaussian DP), --rho (zero-concentrated DP), or events. All results are upper
bounds, rounded up, except the nearest Gaussian mu: it approximates the smallest mu for which mu-GDP holds. Events give
tighter bounds than their (epsilon, delta) guarantee, because bounds from a guarantee must hold for the worst mechanism
that satisfies it.

{EVENTS_HELP}
\b
Examples:
  dperm explain --adjacency replace_one --epsilon 1 --delta 1e-6
  dperm explain --adjacency replace_one --mu 1 --json
  dperm explain --adjacency add_remove "poisson(gaussian(1.0), rate=0.01) * 1000"
"""

_ONE_SUBJECT = "one subject: --epsilon with --delta, or --mu, or --rho, or events"


def explain(
    adjacency: AdjacencyName = "",
    events: Events = None,
    epsilon: Annotated[float | None, number("--epsilon", "Epsilon of an (epsilon, delta) guarantee.")] = None,
    delta: Annotated[float | None, number("--delta", "Delta of the guarantee; 0 for pure DP.")] = None,
    mu: Annotated[float | None, number("--mu", "Parameter mu of a guarantee of Gaussian DP (mu-GDP).")] = None,
    rho: Annotated[
        float | None, number("--rho", "Parameter rho of a guarantee of zero-concentrated DP (rho-zCDP).")
    ] = None,
    event_file: EventFiles = None,
    surprise: Annotated[
        float | None,
        number(
            "--surprise",
            "Probability with which the bound on the attacker's posterior belief may be exceeded.",
            show_default="the smallest power of 10 from 1e-6 to 1e-2 that gives a bound",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Explain a guarantee or events."""
    with reported_errors():
        from dperm import checks
        from dperm.cli.event_input import substitution
        from dperm.privacy import explain as explained

        relation = substitution(adjacency).adjacency
        if surprise is not None:
            checks.positive_delta("--surprise", surprise)
        options = {"epsilon": epsilon, "delta": delta, "mu": mu, "rho": rho}
        if events or event_file:
            _refuse_beside_events(options)
        promise = _promise(relation, **options)
        if promise is None and not events and not event_file:
            raise ParameterError(f"give {_ONE_SUBJECT}.")
        profile, data = (
            _profile_of_events(events, event_file, relation) if promise is None else _profile_of_guarantee(promise)
        )
        with spinner("Explaining ..."):
            explanation = explained(profile, surprise=surprise)
        if json:
            _print_json(data, explanation)
        else:
            _print_table(explanation)


def _refuse_beside_events(options: dict[str, float | None]) -> None:
    given = [f"--{name}" for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            f"events take no {' and no '.join(given)}: give {_ONE_SUBJECT}. "
            "For the epsilon of events at a delta, use dperm account."
        )


def _promise(
    adjacency: str, *, epsilon: float | None, delta: float | None, mu: float | None, rho: float | None
) -> "Promise | None":
    """Return the guarantee of the options; None without one."""
    from dperm import checks
    from dperm.privacy import GDP, ZCDP, ApproxDP

    if (epsilon is None) != (delta is None):
        raise ParameterError("--epsilon and --delta belong together; a pure guarantee has --delta 0.")
    named: list[Promise] = []
    if epsilon is not None and delta is not None:
        pair = checks.nonnegative("--epsilon", epsilon), checks.small_delta("--delta", delta)
        named.append(ApproxDP(*pair, adjacency))
    if mu is not None:
        named.append(GDP(checks.nonnegative("--mu", mu), adjacency))
    if rho is not None:
        named.append(ZCDP(checks.nonnegative("--rho", rho), adjacency))
    if len(named) > 1:
        raise ParameterError(f"give one guarantee, got {' and '.join(map(repr, named))}.")
    return named[0] if named else None


def _profile_of_guarantee(promise: "Promise") -> "tuple[PrivacyProfile, dict[str, object]]":
    from dperm.privacy.guarantee import guarantee_as_dict

    return promise.profile(), {"guarantee": guarantee_as_dict(promise)}


def _profile_of_events(
    events: list[str] | None, files: list[Path] | None, adjacency: str
) -> "tuple[PrivacyProfile, dict[str, object]]":
    from dperm.accounting import account
    from dperm.cli.event_input import event_data, event_of, read_events, substitution

    event = event_of(read_events(events, files), substitution(adjacency))
    return account(event, adjacency), {"event": event_data(event)}


def _print_json(subject: dict[str, object], explanation: "Explanation") -> None:
    from dperm.cli.output import print_json

    print_json({**explanation.as_dict(), **subject})


def _print_table(explanation: "Explanation") -> None:
    from dperm.cli.output import print_paragraphs, print_table, typed, up

    mu = explanation.gdp_mu
    rows = [
        *((f"true-positive rate at false-positive rate {typed(x)}", up(y)) for x, y in explanation.true_positive_rates),
        ("attack advantage: true- minus false-positive rate", up(explanation.advantage)),
        ("accuracy of a guess, with even prior odds", up(explanation.accuracy)),
        (
            f"posterior belief, with even prior odds, exceeded with probability {typed(explanation.surprise)}",
            up(explanation.posterior),
        ),
        *((f"epsilon at delta {typed(delta)}", up(epsilon)) for delta, epsilon in explanation.epsilons),
    ]
    print_table((f"one record, {explanation.adjacency.value}", "at most"), rows)
    level = f"Protection level in a privacy statement: {explanation.protection.level}."
    nearest = f"Nearest Gaussian mu: {'none' if mu is None else up(mu)} (an approximation, not a bound)."
    print_paragraphs((nearest, *explanation.sentences, level))
