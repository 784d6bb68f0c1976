# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One of finitely many hypotheses: empirical risk minimisation against the exponential mechanism (T59, E25).

One hypothesis errs with probability r, all others with r + g (`dperm.reproduce.gaps`): r = 1/4 (agnostic), or r = 0
(realizable). The excess risk is then g or 0, and the measured one is the largest g that is still incurred with
probability beta: the hardest gap for each n, to which the bounds of T59 apply. With one gap for all n both learners
would be right almost always from some n on, and no rate would be seen.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from dperm.report.pictures import Curve, Picture
from dperm.reproduce.gaps import BETA, GOAL, HYPOTHESES, Simulation, mechanism_wrong, minimizer_wrong
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome, Table, guaranteed
from dperm.reproduce.slopes import slope
from dperm.theory import finite_class_excess_risk

RISKS = {"agnostic": 0.25, "realizable": 0.0}
RECORDS, QUICK_RECORDS = (400, 1600, 6400, 25_600, 102_400), (400, 3200, 25_600)
REPEATS, QUICK_REPEATS = 2000, 300
CLOSE = 0.15
CHANCE = 0.02
"""What the simulation may add to a factor near 1."""


@dataclass(frozen=True)
class At:
    """Largest gaps that are incurred with probability beta on n records; ``bound`` is T59's for the mechanism.

    ``printed`` is the source's expression for the mechanism, which has no constants (E25).
    """

    case: str
    n: int
    minimizer: float
    mechanism: float
    minimizer_bound: float
    bound: float
    printed: float


def run(effort: Effort) -> Outcome:
    """Errors of the hypotheses are simulated; the mechanism's probabilities given them are exact."""
    sizes, repeats = (QUICK_RECORDS, QUICK_REPEATS) if effort.quick else (RECORDS, REPEATS)
    found, total = [], len(RISKS) * len(sizes)
    for case in RISKS:
        for n in sizes:
            found.append(_at(case, n, Simulation(RISKS[case], n, repeats, effort.seed)))
            effort.progress(len(found) / total)
    parameters: dict[str, Cell] = {
        **guaranteed(GOAL),
        "hypotheses": HYPOTHESES,
        "beta": BETA,
        "risk of the best": ", ".join(f"{case} {risk:g}" for case, risk in RISKS.items()),
        "data sets": repeats,
        "seed": effort.seed,
    }
    return Outcome(parameters, _table(found), _picture(found), _checks(found), _sentence(found))


def _at(case: str, n: int, simulation: Simulation) -> At:
    risk = finite_class_excess_risk(
        HYPOTHESES, n, epsilon=GOAL.epsilon, beta=BETA, adjacency=GOAL.adjacency, realizable=case == "realizable"
    )
    return At(
        case=case,
        n=n,
        minimizer=simulation.largest_gap(minimizer_wrong),
        mechanism=simulation.largest_gap(mechanism_wrong),
        minimizer_bound=min(1.0, 2 * risk.deviation),
        bound=risk.bound,
        printed=printed(case, n),
    )


def printed(case: str, n: int) -> float:
    """The source's table for the exponential mechanism: without constants, and without the factor 2 (E25)."""
    share = math.log(HYPOTHESES / BETA) / n
    return (share if case == "realizable" else math.sqrt(share)) + share / GOAL.epsilon


def _table(found: list[At]) -> Table:
    columns = ("case", "n", "ERM", "exponential mechanism", "bound, ERM", "bound, mechanism (T59)", "as printed (E25)")
    rows = tuple((a.case, a.n, a.minimizer, a.mechanism, a.minimizer_bound, a.bound, a.printed) for a in found)
    return Table(columns, rows)


def _picture(found: list[At]) -> Picture:
    agnostic, realizable = (_columns(found, case) for case in RISKS)
    n = agnostic[0]
    curves = (
        Curve("mechanism, realizable", n, realizable[2]),
        Curve("mechanism, agnostic", n, agnostic[2]),
        Curve("ERM, realizable", n, realizable[1]),
        Curve("ERM, agnostic", n, agnostic[1]),
        Curve("bound, mechanism, agnostic", n, agnostic[3], "proved", beside="mechanism, agnostic"),
        Curve("bound, mechanism, realizable", n, realizable[3], "proved", beside="mechanism, realizable"),
        Curve("as printed, mechanism, realizable", n, realizable[4], "published"),
    )
    title = f"Excess risk with {HYPOTHESES} hypotheses, exceeded with probability {BETA:g}"
    return Picture(title, "records", "excess risk", curves, x_log=True, y_log=True)


def _columns(found: list[At], case: str) -> tuple[tuple[float, ...], ...]:
    rows = [(float(a.n), a.minimizer, a.mechanism, a.bound, a.printed) for a in found if a.case == case]
    return tuple(zip(*rows, strict=True))


def _checks(found: list[At]) -> tuple[Check, ...]:
    n, agnostic, private, _, _ = _columns(found, "agnostic")
    _, realizable, exact, _, without = _columns(found, "realizable")
    powers = slope(n, agnostic), slope(n, realizable), slope(n, exact)
    ratios = [mechanism / erm for mechanism, erm in zip(private, agnostic, strict=True)]
    return (
        Check(f"ERM falls like n^{powers[0]:.2f} agnostically; theory says n^-0.50.", abs(powers[0] + 0.5) < CLOSE),
        Check(f"ERM falls like n^{powers[1]:.2f} realizably; theory says n^-1.00.", abs(powers[1] + 1) < CLOSE),
        Check(
            f"The mechanism falls like n^{powers[2]:.2f} realizably; theory says n^-1.00.", abs(powers[2] + 1) < CLOSE
        ),
        Check(
            f"Agnostically the mechanism is worse by a factor that falls from each n to the next, up to {CHANCE} of "
            f"chance: from more than 1.3 to 1, within 0.1.",
            ratios[0] > 1.3 and abs(ratios[-1] - 1) < 0.1 and all(b < a + CHANCE for a, b in pairwise(ratios)),
        ),
        Check(
            "Realizably the factor stays: it is near 1/(1 - e^(-epsilon/2)) at every n.",
            all(abs(m / e * -math.expm1(-GOAL.epsilon / 2) - 1) < 0.2 for m, e in zip(exact, realizable, strict=True)),
        ),
        Check(
            "No excess is above its bound (T59).",
            all(a.mechanism <= a.bound and a.minimizer <= a.minimizer_bound for a in found),
        ),
        Check(
            "Without constants the table is exceeded realizably, at every n (E25).",
            all(measured > value for measured, value in zip(exact, without, strict=True)),
        ),
    )


def _sentence(found: list[At]) -> str:
    first, last = ([a for a in found if a.case == case][place] for case, place in (("agnostic", 0), ("agnostic", -1)))
    exact = [a for a in found if a.case == "realizable"][-1]
    return (
        f"Agnostically privacy costs a factor {first.mechanism / first.minimizer:.2f} on {first.n} records and "
        f"{last.mechanism / last.minimizer:.2f} on {last.n}; where some hypothesis is perfect, a factor "
        f"{exact.mechanism / exact.minimizer:.1f} that no number of records removes."
    )


LESSON = Lesson(
    name="finite_class",
    title="One of finitely many hypotheses",
    source="Wang",
    claim=(
        "Excess risk of ERM: sqrt(log(|H|/beta)/n) agnostically and log(|H|/beta)/n realizably; "
        "the exponential mechanism adds log(|H|/beta)/(n epsilon). With constants it is T59; the printed table omits "
        "them, and a factor 2 (E25)."
    ),
    tags=("T59", "T8", "E25"),
    run=run,
)
