# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The black-box audit: a fair coin for each run, several statistics, each paid for."""

from collections.abc import Sequence

import numpy as np

from dperm import checks
from dperm.audit.black_box.guessing import fewest_runs
from dperm.audit.black_box.sample import Progress, Sample, Truths
from dperm.audit.black_box.statistics import Statistic
from dperm.audit.black_box.subject import Subject
from dperm.audit.finding import Finding
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy.guarantee import AnyGuarantee, ApproxDP, Guarantee, PureDP

USUAL_DELTA = 1e-5
"""At which the curves of GDP, zCDP and RDP claims are read."""


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
    """Run ``subject`` many times, with the record or without it by a fair coin, and guess which.

    Parameters
    ----------
    subject
        What is attacked.
    runs
        Number of runs.
    statistics
        What to look at; by default what the subject suggests. Alpha is shared out in proportion to their shares.
    confidence
        With this probability all the bounds are true.
    delta
        At which epsilon is bounded; by default the claim's.
    seed
        Of the auditor's coins, never of the noise; None takes one from the operating system.
    progress
        Is told the share that is done.

    Raises
    ------
    ParameterError
        If there is no claim, no statistic, or too few runs to show anything; before anything is run.
    DataError
        If outputs are not numbers, or not one row for each run.
    """
    claimed = _checked_claim(subject.claimed)
    chosen = tuple(subject.statistics if statistics is None else statistics)
    alpha = 1 - checks.between("confidence", confidence, 0.5, 1 - 1e-12)
    levels = _levels(chosen, alpha)
    runs = _enough(checks.count("runs", runs), chosen, levels)
    at = _delta_of(claimed) if delta is None else checks.small_delta("delta", delta)
    sample = _sampled(subject, runs, seed, progress)
    bounds = {one.name: one.bound(sample, delta=at, alpha=level) for one, level in zip(chosen, levels, strict=True)}
    facts = {"runs": runs, "with_record": int(np.count_nonzero(sample.included)), **subject.facts}
    return Finding(subject.name, claimed, bounds, confidence, subject.profile, facts)


def _checked_claim(claimed: AnyGuarantee | None) -> AnyGuarantee:
    if not isinstance(claimed, Guarantee):
        raise ParameterError(
            f'claimed must be the guarantee that the subject is said to have, such as PureDP(1.0, "add_remove"), got '
            f"{checks.shown(claimed)}. An audit compares what is measured with it."
        )
    return claimed


def _levels(statistics: tuple[Statistic, ...], alpha: float) -> list[float]:
    """Each statistic's part of alpha (A5): in the sum no more."""
    names = [one.name for one in statistics]
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"statistics must be at least one, each with a name of its own, got {names}.")
    total = sum(one.share for one in statistics)
    return [alpha * one.share / total for one in statistics]


def _enough(runs: int, statistics: tuple[Statistic, ...], levels: list[float]) -> int:
    """The number of runs, if any of the statistics could show an epsilon above 0 with it."""
    pairs = list(zip(statistics, levels, strict=True))
    if not any(one.tested(runs) >= fewest_runs(level) for one, level in pairs):
        least = min(_fewest(one, fewest_runs(level)) for one, level in pairs)
        raise ParameterError(
            f"runs must be at least {least} here: with fewer, not even guesses that are all right show an epsilon "
            f"above 0 at this confidence, got {runs}. Use 1,000 or more; 100,000 come close to the truth."
        )
    return runs


def _fewest(statistic: Statistic, guesses: int) -> int:
    """The least number of runs that leaves so many for guesses."""
    runs = guesses
    while statistic.tested(runs) < guesses:
        runs += 1
    return runs


def _delta_of(claimed: AnyGuarantee) -> float:
    match claimed:
        case PureDP():
            return 0.0
        case ApproxDP():
            return claimed.delta
    return USUAL_DELTA


def _sampled(subject: Subject, runs: int, seed: int | None, progress: Progress | None) -> Sample:
    """Independent fair coins, then the runs.

    The coins are a branch of the seed's generator: whoever simulates noise with the same seed has other numbers.
    """
    included: Truths = generator(seed).spawn(1)[0].random(runs) < 0.5
    return Sample(_checked_outputs(subject.outputs(included, progress), runs), included)


def _checked_outputs(outputs: Floats, runs: int) -> Floats:
    found = np.asarray(outputs, dtype=np.float64)
    if found.ndim == 0 or len(found) != runs:
        raise DataError(f"outputs must have one row for each of the {runs} runs, got shape {found.shape}.")
    bad = runs - int(np.count_nonzero(np.isfinite(found.reshape(runs, -1)).all(axis=1)))
    if bad:
        raise DataError(
            f"outputs must be finite numbers, got NaN or infinity in {bad} of {runs} runs. If a run can fail, release "
            f"that as a number of its own: failures tell about the data too."
        )
    return found
