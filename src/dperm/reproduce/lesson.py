# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A claim of the lectures that can be run, and what came out, as plain data."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from dperm.audit.demo.result import Cell
from dperm.audit.demo.result import ResultTable as Table
from dperm.privacy import ApproxDP, PureDP
from dperm.report.pictures import Picture

__all__ = ["Cell", "Check", "Effort", "Lesson", "Outcome", "Table", "guaranteed"]


@dataclass(frozen=True)
class Effort:
    """How a lesson is run.

    Attributes
    ----------
    seed
        Of made-up data and of simulated noise: everything here is reproducible, and NOT PRIVATE.
    quick
        Fewer settings and repetitions, for tests: the same checks in a second or two.
    progress
        Told the share that is done.
    """

    seed: int = 0
    quick: bool = False
    progress: Callable[[float], None] = lambda share: None


@dataclass(frozen=True)
class Check:
    """Something that the numbers were asked to show, and whether they do."""

    statement: str
    holds: bool

    def __post_init__(self) -> None:
        """Numpy's own truth is none that JSON knows."""
        object.__setattr__(self, "holds", bool(self.holds))


def guaranteed(goal: PureDP | ApproxDP) -> dict[str, Cell]:
    """A goal as parameters of an outcome.

    Examples
    --------
    >>> guaranteed(PureDP(0.5, "replace_one"))
    {'epsilon': 0.5, 'adjacency': 'replace_one'}
    """
    delta = {"delta": goal.delta} if isinstance(goal, ApproxDP) else {}
    return {"epsilon": goal.epsilon, **delta, "adjacency": goal.adjacency.value}


@dataclass(frozen=True)
class Outcome:
    """What came out of a lesson.

    Attributes
    ----------
    parameters
        All that is needed to run it again, by name.
    table
        The numbers.
    picture
        The same to look at.
    checks
        What they show: orderings, slopes, who wins.
    sentence
        What to take away, in one or two sentences.
    """

    parameters: Mapping[str, Cell]
    table: Table
    picture: Picture
    checks: tuple[Check, ...]
    sentence: str

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return {
            "parameters": dict(self.parameters),
            **asdict(self.table),
            "checks": [asdict(check) for check in self.checks],
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Lesson:
    """A figure or a claim of the lectures.

    Attributes
    ----------
    name
        On the command line: ``dperm reproduce NAME``.
    title
        In a few words.
    source
        Whose lecture: Bellet, Razaviyayn, Monteleoni, Wang or Musco.
    claim
        What is said there, in our words; and, if it is wrong, what is true.
    tags
        The statements of docs/theory that it runs, and its errata: T6, E2.
    run
        From an effort to an outcome.
    """

    name: str
    title: str
    source: str
    claim: str
    tags: tuple[str, ...]
    run: Callable[[Effort], Outcome]
