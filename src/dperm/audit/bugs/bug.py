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

Audits of the correct versions give bounds close to the claim, so 220 such audits at 95 % would raise about eleven false
alarms.
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
        """Audit the buggy or the correct version; both versions have the same claim and the same statistics.

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
    """Bug that is detected by a black-box audit, which runs the buggy version many times.

    Attributes
    ----------
    name
        Short name of the bug.
    wrong
        One-sentence description of the bug.
    subject
        Function that takes ``buggy`` (whether to build the buggy version) and the seed of the noise, and returns the
        audit subject with its claim and statistics.
    effort
        Factor by which `finding` multiplies the number of runs: above 1 for bugs that are hard to detect, below 1 for
        slow or easily detected ones.
    """

    name: str
    wrong: str
    subject: Callable[[bool, int], Subject]
    effort: float = 1.0

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """Run the black-box audit of the buggy or the correct version.

        The coin flips and the noise use different seeds, both derived from ``seed``.

        Parameters
        ----------
        buggy
            Whether to audit the buggy version.
        runs
            Number of runs of the audit, before the multiplication by ``effort``.
        seed
            Seed of the audit.

        Returns
        -------
        Finding
            Lower bounds on epsilon and the verdict on the claim.
        """
        subject = self.subject(buggy, 2 * seed)
        return audit(subject, runs=round(self.effort * runs), confidence=CONFIDENCE, seed=2 * seed + 1)


@dataclass(frozen=True)
class ExactBug:
    """Bug that is detected by an exact computation, without sampling and with confidence 1.

    Attributes
    ----------
    name
        Short name of the bug.
    wrong
        One-sentence description of the bug.
    of_buggy, of_correct
        Functions without arguments that return the findings on the buggy and on the correct version.
    """

    name: str
    wrong: str
    of_buggy: Callable[[], Finding]
    of_correct: Callable[[], Finding]

    def finding(self, *, buggy: bool, runs: int, seed: int) -> Finding:
        """Return the finding of the exact audit of the buggy or the correct version.

        Parameters
        ----------
        buggy
            Whether to audit the buggy version.
        runs
            Ignored, because the audit is exact.
        seed
            Ignored, because the audit is exact.

        Returns
        -------
        Finding
            Finding with confidence 1.
        """
        return (self.of_buggy if buggy else self.of_correct)()
