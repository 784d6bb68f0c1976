# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bugs, each with an audit of the buggy and of the correct version."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dperm.audit.black_box import Subject, audit
from dperm.audit.finding import Finding

CONFIDENCE = 1 - 2e-5
"""Confidence level of every audit of the matrix.

Audits of the correct versions are tight, so 220 of them at 95 % would raise eleven false alarms.
"""


@runtime_checkable
class Bug(Protocol):
    """Protocol for a known bug in private learning, with an audit that detects it."""

    @property
    def name(self) -> str:
        """Short name of the bug."""

    @property
    def wrong(self) -> str:
        """One-sentence description of the bug."""

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """Audit the buggy or the correct version. The claim and the statistics are the same for both.

        Parameters
        ----------
        buggy
            Whether to audit the buggy version.
        runs
            Number of runs of the audit.
        seed
            Seed of the coin flips and the noise.

        Returns
        -------
        Finding
            Lower bounds on epsilon and the verdict on the claim.
        """


@dataclass(frozen=True)
class SimulatedBug:
    """Bug detected by running the buggy and the correct version many times.

    Attributes
    ----------
    name
        Short name of the bug.
    wrong
        One-sentence description of the bug.
    subject
        Function of (buggy, seed) that returns the audit subject with its claim and statistics.
    effort
        Factor by which the usual number of runs is multiplied.
    """

    name: str
    wrong: str
    subject: Callable[[bool, int], Subject]
    effort: float = 1.0

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """Return the result of the black-box audit.

        Coin flips and noise use different seeds, both derived from ``seed``.

        Parameters
        ----------
        buggy
            Whether to audit the buggy version.
        runs
            Usual number of runs; multiplied by ``effort``.
        seed
            Seed of the coin flips and the noise.

        Returns
        -------
        Finding
            Lower bounds on epsilon and the verdict on the claim.
        """
        subject = self.subject(buggy, 2 * seed)
        return audit(subject, runs=round(self.effort * runs), confidence=CONFIDENCE, seed=2 * seed + 1)


@dataclass(frozen=True)
class ExactBug:
    """Bug detected without sampling, with confidence 1.

    Attributes
    ----------
    name
        Short name of the bug.
    wrong
        One-sentence description of the bug.
    of_buggy, of_correct
        Functions that return the finding of the buggy and of the correct version.
    """

    name: str
    wrong: str
    of_buggy: Callable[[], Finding]
    of_correct: Callable[[], Finding]

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """Return the exact audit. ``runs`` and ``seed`` are ignored.

        Parameters
        ----------
        buggy
            Whether to audit the buggy version.
        runs
            Ignored.
        seed
            Ignored.

        Returns
        -------
        Finding
            Finding with confidence 1.
        """
        return (self.of_buggy if buggy else self.of_correct)()
