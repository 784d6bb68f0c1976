# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Black-box audit with a fair coin flip for each run, and an error probability shared by several statistics."""

from collections.abc import Sequence

import numpy as np

from dperm import checks
from dperm.audit.black_box.guess_bounds import fewest_guesses
from dperm.audit.black_box.sample import Progress, RunSample, Truths, real_numbers
from dperm.audit.black_box.statistics import Statistic, checked_statistics
from dperm.audit.black_box.subject import Subject
from dperm.audit.claim import audit_delta, checked_claim, checked_profile
from dperm.audit.finding import ROUNDING, Finding
from dperm.audit.lower_bound import LowerBound
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator

DEFAULT_DELTA = 1e-5
"""Default delta for GDP, zCDP and RDP claims."""
LARGEST_SPLIT = 20
"""Largest suggested number of runs, as a multiple of the required guesses."""


def audit(
    subject: Subject,
    *,
    runs: int,
    statistics: Sequence[Statistic] | None = None,
    confidence: float = 0.95,
    delta: float | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Finding:
    """Run ``subject`` many times, with or without the record by a fair coin flip, and guess each flip from the output.

    **Guarantees.** If the subject satisfies its claim, the finding reports a violation with probability at most 1 -
    confidence over the coin flips and the noise (A4, A5). This holds for all scores, neighbouring data sets and numbers
    of runs. A poor choice of them gives weak bounds, but never invalid ones. The absence of a violation does not prove
    the claim.

    **Edge cases.**

    ================================  =============================================
    too few runs for a bound above 0  ``ParameterError`` before any run
    NaN or infinite outputs           ``DataError``
    infinite claimed epsilon          ``ParameterError``: no bound could refute it
    ================================  =============================================

    Parameters
    ----------
    subject
        Training run or mechanism under attack, with its claim; see `repeated`, `of_plan` and `of_mechanism`.
    runs
        Number of runs.
    statistics
        Statistics from which the flips are guessed, each with its own bound; None uses ``subject.statistics``. The
        error probability alpha = 1 - ``confidence`` is divided among them in proportion to their ``share``.
    confidence
        Confidence level at which all bounds hold together, from 0.5 to 1 - 1e-12.
    delta
        The delta of the bounds. None uses the delta of the claim (0 for pure DP), or 1e-5 for claims of GDP, zCDP and
        RDP. The claimed epsilon must be finite at this delta.
    seed
        Seed of the coin flips, not of the noise; None draws a seed from the operating system.
    progress
        Callback that receives the completed fraction of the runs, in (0, 1].

    Returns
    -------
    Finding
        Lower bounds on epsilon and the verdict on the claim.

    Raises
    ------
    ParameterError
        Before any run, if the subject has no claim, the claimed epsilon is infinite at ``delta``, there is no
        statistic, or there are too few runs for a bound above 0. After the runs, if a statistic does not return one
        number for each run.
    DataError
        If the outputs are not finite numbers, or there is not exactly one row per run.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.audit.black_box import audit, of_mechanism
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> subject = of_mechanism(LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove")))
    >>> audit(subject, runs=2000, confidence=0.9999).violation
    False
    """
    _check_types(subject, progress)
    claimed = checked_claim(subject.claimed)
    at = audit_delta(claimed, delta, profile=checked_profile(subject.profile, claimed), usual=DEFAULT_DELTA)
    chosen = checked_statistics(subject.statistics if statistics is None else statistics, delta=at)
    levels = _levels(chosen, 1 - checks.between("confidence", confidence, 0.5, 1 - 1e-12))
    runs = _require_enough(checks.count("runs", runs), chosen, levels)
    sample = _draw_sample(subject, runs, seed, progress)
    bounds = {one.name: _bound(one, sample, at, level) for one, level in zip(chosen, levels, strict=True)}
    facts = {"runs": runs, "with_record": int(np.count_nonzero(sample.included)), **subject.facts}
    return Finding(subject.name, claimed, bounds=bounds, confidence=confidence, profile=subject.profile, facts=facts)


def _check_types(subject: object, progress: object) -> None:
    if isinstance(subject, type) or not isinstance(subject, Subject):
        raise ParameterError(
            argument="subject",
            rule="must be an audit subject",
            got=checks.shown(subject),
            remedy=(
                "Build one with repeated(train, with_record, without_record, claimed=...), of_plan(model.plan_) or "
                "of_mechanism(...)."
            ),
        )
    if progress is not None and not callable(progress):
        raise ParameterError(
            argument="progress", rule="must be a function of the finished share", got=checks.shown(progress)
        )


def _levels(statistics: tuple[Statistic, ...], alpha: float) -> list[float]:
    """Divide alpha among the statistics in proportion to their shares (A5)."""
    shares = [checks.positive(f"share of the statistic {one.name!r}", one.share) for one in statistics]
    return [alpha * share / sum(shares) for share in shares]


def _bound(statistic: Statistic, sample: RunSample, delta: float, alpha: float) -> LowerBound:
    """Return the statistic's bound; raise ``ParameterError`` if a custom statistic has too little confidence."""
    found = statistic.bound(sample, delta=delta, alpha=alpha)
    if isinstance(found, LowerBound) and found.confidence >= 1 - alpha - ROUNDING:
        return found
    got = f"one of {found.confidence:g}" if isinstance(found, LowerBound) else checks.shown(found)
    raise ParameterError(
        f"the statistic {statistic.name!r} must give a LowerBound of confidence {1 - alpha:g} at least, got {got}."
    )


def _require_enough(runs: int, statistics: tuple[Statistic, ...], levels: list[float]) -> int:
    """Return ``runs``; raise ``ParameterError`` if that is too few for any statistic to show an epsilon above 0."""
    pairs = list(zip(statistics, levels, strict=True))
    if not any(one.tested(runs) >= fewest_guesses(level) for one, level in pairs):
        least = min(_fewest(one, fewest_guesses(level)) for one, level in pairs)
        raise ParameterError(
            argument="runs",
            rule=f"must be at least {least} here: with fewer, even correct guesses in all runs show no epsilon above 0",
            got=str(runs),
            remedy="Use 1,000 or more; 100,000 come close to the true value.",
        )
    return runs


def _fewest(statistic: Statistic, guesses: int) -> int:
    """Return the smallest number of runs that leaves so many guesses, at most ``LARGEST_SPLIT`` times the guesses."""
    most = LARGEST_SPLIT * guesses
    return next((runs for runs in range(guesses, most) if statistic.tested(runs) >= guesses), most)


def _draw_sample(subject: Subject, runs: int, seed: int | None, progress: Progress | None) -> RunSample:
    """Draw independent fair coin flips, and run the subject.

    The coin flips come from a branch of the seed's generator, so noise simulated with the same seed is different. The
    subject gets a read-only copy and cannot change the auditor's coin flips.
    """
    included: Truths = generator(seed).spawn(1)[0].random(runs) < 0.5
    shown = included.copy()
    shown.flags.writeable = False
    return RunSample(_checked_outputs(subject.outputs(shown, progress), runs), included)


def _checked_outputs(outputs: object, runs: int) -> Floats:
    found = real_numbers(outputs)
    if found is None:
        raise DataError(
            argument="outputs",
            rule="must be an array of real numbers",
            got=f"an object of type {type(outputs).__name__}",
        )
    if found.ndim == 0 or len(found) != runs or not found.size:
        raise DataError(
            argument="outputs", rule=f"must have one row for each of the {runs} runs", got=f"shape {found.shape}"
        )
    bad = runs - int(np.count_nonzero(np.isfinite(found.reshape(runs, -1)).all(axis=1)))
    if bad:
        raise DataError(
            argument="outputs",
            rule="must be finite numbers",
            got=f"NaN or infinity in {bad} of {runs} runs",
            remedy=(
                "If a run can fail, release the failure as a number: failures reveal information about the data, too."
            ),
        )
    return found
