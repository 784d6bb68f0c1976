# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A bug: what is wrong, and how both versions, the wrong and the correct one, are audited."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dperm.audit.black_box import Subject, audit
from dperm.audit.finding import Finding

CONFIDENCE = 1 - 2e-5
"""Of every audit of the matrix: its correct versions are tight, and 220 audits at 95 % would raise eleven alarms."""


@runtime_checkable
class Bug(Protocol):
    """Something that goes wrong in private learning, and an audit that sees it."""

    @property
    def name(self) -> str:
        """In a few words."""

    @property
    def wrong(self) -> str:
        """What is wrong, in a sentence."""

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """One audit of the wrong version, or of the correct one: the same claim, the same statistics."""


@dataclass(frozen=True)
class SimulatedBug:
    """A bug that is looked for by running both versions many times.

    Attributes
    ----------
    name
        In a few words.
    wrong
        What is wrong, in a sentence.
    subject
        From (buggy, seed) to a training with its claim and its statistics.
    effort
        How many times the usual number of runs it takes to see it.
    """

    name: str
    wrong: str
    subject: Callable[[bool, int], Subject]
    effort: float = 1.0

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """The black-box audit; coins and noise have seeds of their own."""
        subject = self.subject(buggy, 2 * seed)
        return audit(subject, runs=round(self.effort * runs), confidence=CONFIDENCE, seed=2 * seed + 1)


@dataclass(frozen=True)
class ExactBug:
    """A bug that is found without sampling: the audit is the same each time, and its confidence is 1."""

    name: str
    wrong: str
    of_buggy: Callable[[], Finding]
    of_correct: Callable[[], Finding]

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """The exact audit; runs and seed do not matter."""
        return (self.of_buggy if buggy else self.of_correct)()
