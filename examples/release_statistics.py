# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Release statistics of a survey under one budget, and show the leak of floating-point noise.

The survey is synthetic. The public information is declared before the data are read: the number of participants and
the bounds of the answers.
"""

import numpy as np

from dperm import PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import BudgetError
from dperm.mechanisms import LaplaceMechanism
from dperm.mechanisms.releases import Count, Histogram, Mean, Quantile

PEOPLE = 5000
INCOME = (0.0, 200_000.0)
EDGES = (0, 25_000, 50_000, 75_000, 100_000, 200_000)


def synthetic_survey() -> tuple[np.ndarray, np.ndarray]:
    """Incomes, and whether each person owns a bicycle."""
    generator = np.random.default_rng(2026)
    return np.exp(generator.normal(10.6, 0.6, PEOPLE)), generator.random(PEOPLE) < 0.37


def show_statistics() -> None:
    """Make four releases that the budget covers, and one that it refuses."""
    incomes, cyclists = synthetic_survey()
    budget = MemoryBudget(PureDP(1.0, "replace_one"))
    share = PureDP(0.25, "replace_one")
    print(f"A budget of epsilon = 1 for a survey of {PEOPLE:,} people; each release costs 0.25.")
    mean = Mean(share, bounds=INCOME, n=PEOPLE).release(incomes, budget)
    print(f"  mean income     {mean.value:>10,.0f}   (without privacy {incomes.clip(*INCOME).mean():,.0f})")
    median = Quantile(share, 0.5, bounds=INCOME).release(incomes, budget)
    print(f"  median income   {median.value:>10,.0f}   (without privacy {np.median(incomes):,.0f})")
    count = Count(share).release(cyclists, budget)
    print(f"  own a bicycle   {count.value:>10,}   (without privacy {cyclists.sum():,})")
    histogram = Histogram(share, edges=EDGES).release(incomes, budget)
    for low, high, people in zip(EDGES, EDGES[1:], histogram.value, strict=False):
        print(f"    {low:>7,} to {high:>7,}  {people:>6,}  {'#' * max(0, people // 50)}")
    try:
        Count(share).release(cyclists, budget)
    except BudgetError as error:
        print(f"  a fifth release is refused: {error}")
    print(f"  noise of the mean: {mean.record.noise}")


def show_low_order_bits() -> None:
    """Print the fraction of outputs for the value 0 that are impossible for the value 1."""
    size = 100_000
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=size)
    grid = mechanism.calibration.grid.step
    floats = np.random.default_rng().laplace(size=size)
    ours = mechanism.release(np.zeros(size)).value
    print("Outputs whose low-order bits reveal that the value was 0, not 1:")
    print(f"  numpy's Laplace noise {np.mean((floats - 1) + 1 != floats):>8.1%}")
    print(f"  dperm's Laplace noise {np.mean(np.rint((ours - 1) / grid) * grid + 1 != ours):>8.1%}")


if __name__ == "__main__":
    show_statistics()
    print()
    show_low_order_bits()
