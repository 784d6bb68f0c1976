# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Amplification by subsampling: epsilon against the sampling rate, a biased coin, and 2 q epsilon (T21)."""

import math

import numpy as np
from scipy.optimize import brentq

from dperm.accounting import Gaussian, Poisson, account
from dperm.accounting.theorems import amplify_poisson
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Check, Effort, Lesson, LessonTable, Outcome

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SHOWN = (0.5, 4.0)
COLUMNS = ("epsilon", "q", "ln(1 + q(e^epsilon - 1))", "loss of a coin", "2 q epsilon")


def amplified(epsilon: float, rate: float) -> float:
    """Return the epsilon of the amplification lemma (T21)."""
    return amplify_poisson(epsilon, 0.0, rate=rate, adjacency="add_remove")[0]


def coin_loss(epsilon: float, rate: float) -> float:
    """Return the largest privacy loss of a mechanism that reports whether a record was drawn.

    The report is false with probability 1/(1 + e^eps). The loss is exact, from the probabilities of both answers with
    and without the record in the data.
    """
    lie = 1 / (1 + math.exp(epsilon))
    present = rate * (1 - lie) + (1 - rate) * lie
    return max(abs(math.log(present / lie)), abs(math.log((1 - present) / (1 - lie))))


def largest_epsilon_for_twice() -> float:
    """Return the root of e^x - 1 = 2x: ln(1 + q(e^x - 1)) <= 2 q x for every q below the root, but not above it."""
    return float(brentq(lambda x: math.expm1(x) - 2 * x, 1.0, 2.0, xtol=1e-13))


def replaced_base() -> tuple[float, float]:
    """Return the true and claimed delta under replace-one, for a Gaussian base with sigma = 1, q = 0.1, epsilon = 1.

    The base is (1, 0.127)-DP under add/remove. The lemma also needs a guarantee under replace-one (T21, T25).
    """
    base = account(Gaussian(1.0), "add_remove").delta(1.0)
    epsilon, claimed = amplify_poisson(1.0, base, rate=0.1, adjacency="add_remove")
    return account(Poisson(Gaussian(1.0), rate=0.1), "replace_one").delta(epsilon), claimed


def _rates(quick: bool) -> tuple[float, ...]:
    return tuple(float(rate) for rate in np.geomspace(1e-3, 1.0, 4 if quick else 10))


def _checks(rates: tuple[float, ...]) -> tuple[Check, ...]:
    pairs = [(epsilon, rate) for epsilon in EPSILONS for rate in rates]
    end, (true, claimed) = largest_epsilon_for_twice(), replaced_base()
    attained = all(abs(coin_loss(*pair) / amplified(*pair) - 1) < 1e-9 for pair in pairs)
    below = all(amplified(end * 0.999, rate) <= 2 * rate * end * 0.999 for rate in rates)
    above = amplified(end * 1.01, rates[0]) > 2 * rates[0] * end * 1.01
    factor = amplified(4.0, rates[0]) / (8 * rates[0])
    return (
        Check("A biased coin attains the bound of the lemma at every epsilon and rate.", attained),
        Check(
            f"2 q epsilon is a valid bound up to epsilon = {end:.4f}, for every q, and too small for larger epsilon.",
            below and above,
        ),
        Check(f"At epsilon = 4, q = {rates[0]:g} the exact value is {factor:.1f} times 2 q epsilon.", factor > 6),
        Check(
            "A base mechanism that is DP only for added records is not amplified for replaced records: delta is "
            f"{true:.5f}, where {claimed:.5f} is claimed.",
            true > 1.5 * claimed,
        ),
    )


def _curves(rates: tuple[float, ...]) -> tuple[Curve, ...]:
    curves: list[Curve] = []
    for epsilon in SHOWN:
        twice = tuple(2 * rate * epsilon for rate in rates)
        curves += [
            Curve(f"lemma, epsilon = {epsilon:g}", rates, tuple(amplified(epsilon, rate) for rate in rates), "proved"),
            Curve(f"2 q epsilon, epsilon = {epsilon:g}", rates, twice, "published" if epsilon < 1 else "wrong"),
        ]
    return tuple(curves)


def _run(effort: Effort) -> Outcome:
    rates = _rates(effort.quick)
    rows = tuple(
        (epsilon, rate, amplified(epsilon, rate), coin_loss(epsilon, rate), 2 * rate * epsilon)
        for epsilon in EPSILONS
        for rate in rates
    )
    effort.progress(1.0)
    return Outcome(
        parameters={"epsilons": ", ".join(f"{epsilon:g}" for epsilon in EPSILONS)},
        table=LessonTable(COLUMNS, rows),
        picture=Picture(
            "Amplification by subsampling: epsilon against the sampling rate",
            "sampling rate q",
            "epsilon",
            _curves(rates),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(rates),
        sentence=(
            f"A sample of 1 % turns epsilon = 1 into {amplified(1.0, 0.01):.4f}, and no smaller bound follows from "
            f"epsilon alone. 2 q epsilon is a valid bound up to epsilon = {largest_epsilon_for_twice():.4f}; at "
            f"epsilon = 4 it gives 0.08 in place of {amplified(4.0, 0.01):.2f}."
        ),
    )


LESSON = Lesson(
    name="amplification",
    title="Amplification by subsampling",
    source="Razaviyayn",
    claim=(
        "The lecture claims that an (epsilon, delta)-DP mechanism on a secret random sample with sampling rate q is "
        "(ln(1 + q(e^eps - 1)), q delta)-DP, and that the new epsilon is at most 2 q epsilon if epsilon < 1. Both "
        "claims are right. The sampling must match the adjacency: Poisson sampling for add/remove, sampling without "
        "replacement for replace-one."
    ),
    tags=("T21", "T25"),
    run=_run,
)
