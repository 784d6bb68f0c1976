# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lessons, which check claims of the lectures listed in docs/errata.md, and their outcomes as plain data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dperm.deprecation import deprecated_names
from dperm.privacy import ApproxDP, PureDP
from dperm.report.pictures import Picture

__all__ = ["Cell", "Check", "Effort", "Lesson", "LessonTable", "Outcome", "guarantee_parameters", "slope"]

__getattr__ = deprecated_names(
    __name__,
    {
        "Table": "dperm.reproduce.lesson:LessonTable",
        "guaranteed": "dperm.reproduce.lesson:guarantee_parameters",
    },
)

Cell = str | float | int
"""Entry of a table: text or a number."""


@dataclass(frozen=True)
class Effort:
    """Options for running a lesson, which demonstrates a claim of a lecture on simulated data.

    Parameters
    ----------
    seed
        Seed of the simulated data and noise. All results are reproducible and NOT PRIVATE.
    quick
        Whether to use fewer settings and repetitions, for tests. The lesson then takes a second or two, and makes the
        same checks.
    progress
        Callback that receives the completed fraction of the work, from 0 to 1.
    """

    seed: int = 0
    quick: bool = False
    progress: Callable[[float], None] = lambda share: None


@dataclass(frozen=True)
class Check:
    """Statement about the results of a lesson, and whether the statement holds.

    Attributes
    ----------
    statement
        The statement, as a sentence.
    holds
        Whether the statement holds.
    """

    statement: str
    holds: bool

    def __post_init__(self) -> None:
        """Convert numpy's booleans, which JSON does not accept."""
        object.__setattr__(self, "holds", bool(self.holds))


@dataclass(frozen=True)
class LessonTable:
    """Table of the results of a lesson, with named columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def guarantee_parameters(goal: PureDP | ApproxDP) -> dict[str, Cell]:
    """Return epsilon, delta (unless the guarantee is pure) and adjacency, for the parameters of an outcome.

    Examples
    --------
    >>> guarantee_parameters(PureDP(0.5, "replace_one"))
    {'epsilon': 0.5, 'adjacency': 'replace_one'}
    """
    delta = {"delta": goal.delta} if isinstance(goal, ApproxDP) else {}
    return {"epsilon": goal.epsilon, **delta, "adjacency": goal.adjacency.value}


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the least-squares slope of log y against log x, which is about b if y is close to a x^b."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@dataclass(frozen=True)
class Outcome:
    """Result of a lesson.

    Attributes
    ----------
    parameters
        Parameters of the run, keyed by parameter name; they suffice to repeat the run.
    table
        Results of the run, as a table.
    picture
        Plot of the results.
    checks
        Statements about the results, such as an ordering or a slope, and whether each statement holds.
    sentence
        Conclusion in a few sentences.
    """

    parameters: Mapping[str, Cell]
    table: LessonTable
    picture: Picture
    checks: tuple[Check, ...]
    sentence: str

    def as_dict(self) -> dict[str, object]:
        """Return the outcome as plain data for JSON, without the picture."""
        return {
            "parameters": dict(self.parameters),
            **asdict(self.table),
            "checks": [asdict(check) for check in self.checks],
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Lesson:
    """Figure or claim of a lecture, with a function that reproduces it.

    Attributes
    ----------
    name
        Name on the command line: ``dperm reproduce NAME``.
    title
        Short title.
    source
        Name of the lecturer: Bellet, Razaviyayn, Monteleoni, Wang or Musco (see docs/errata.md). If two lecturers make
        the claim, a comma separates their names.
    claim
        The lecture's claim, paraphrased, followed by a correction if the claim is wrong.
    tags
        Tags of the theorems (docs/theory) and errata (docs/errata.md) that the lesson demonstrates, such as T6 and E2.
    run
        Function that takes an `Effort` and returns an `Outcome`.
    """

    name: str
    title: str
    source: str
    claim: str
    tags: tuple[str, ...]
    run: Callable[[Effort], Outcome]
