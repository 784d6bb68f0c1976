# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums x x' and y x (T201): within their claimed errors of the exact sums, in whole numbers."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Interval
from dperm.erm.moments import cross_error, gram_error, moments
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec

ULP = 2.0**-53
RNG = np.random.default_rng(201)
SPACES = {
    "norm": FeatureSpace(4, norm=1.7),
    "tiny": FeatureSpace(4, norm=1e-90, intercept=False),
    "huge": FeatureSpace(4, norm=1e90),
    "bounds": FeatureSpace(4, bounds=((-1.0, 1.0),) * 4),
}
ROWS = {
    "of all sizes": lambda space: RNG.normal(size=(5000, 4)) * 10.0 ** RNG.uniform(-8, 2, size=(5000, 1)),
    "at their ends": lambda space: RNG.choice([-1.0, 1.0], size=(5000, 4)),
    # Entries of 2,100 units or so are split into 4,096 and about -2,000, whose products cancel.
    "of few units": lambda space: RNG.integers(2049, 2300, size=(5000, 4)) * 2.0**-24,
}


def distance(found: np.ndarray, exact: np.ndarray, unit: Fraction) -> float:
    """The Frobenius norm of the difference from integers times a unit."""
    pairs = zip(found.ravel().tolist(), exact.ravel().tolist(), strict=True)
    off = [Fraction(value) - whole * unit for value, whole in pairs]
    with mp.workdps(40):
        return float(mp.sqrt(sum((mp.mpf(one.numerator) / mp.mpf(one.denominator)) ** 2 for one in off)))


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_sums_are_within_their_claimed_errors_of_the_exact_ones(space, kind, is_sparse):
    X, y = ROWS[kind](space) * (space.norm or 1.0), RNG.uniform(-1, 1, size=5000)
    X[17], y[18] = np.nan, np.inf
    data = enforce(sparse.csr_array(X) if is_sparse else X, y, space, Interval(-1.0, 1.0), invalid="drop")
    spec, rows = ProblemSpec(Squared(), space.radius, space.size), data.in_memory()
    cells = rows.cells.toarray() if is_sparse else rows.cells
    whole = (
        np.hstack([cells, np.full((5000, int(space.intercept)), data.grid.constant)]).astype(np.int64).astype(object)
    )
    valid = ~np.isnan(rows.codes)
    assert valid.sum() == 4998
    found, unit = moments(data, spec), Fraction(data.grid.unit)
    gram = distance(found.gram, whole[valid].T @ whole[valid], unit**2)
    assert gram <= gram_error(spec, 5000)
    assert np.array_equal(found.gram, found.gram.T)
    labels = np.array([int(Fraction(code) * 2**120) for code in rows.codes[valid].tolist()], dtype=object)
    cross = distance(found.cross, whole[valid].T @ labels, unit / 2**120)
    assert cross <= cross_error(spec, 5000)
    if kind == "at their ends":
        assert gram_error(spec, 5000) <= 300 * max(gram, ULP * 5000 * space.radius**2)


def test_squares_of_few_units_are_off_by_their_last_bits():
    """Parts that cancel are put together without a loss: the error is relative to the sum, not to its parts."""
    space = FeatureSpace(4, norm=1.0, intercept=False)
    X = ROWS["of few units"](space)
    data = enforce(X, np.zeros(5000), space, Interval(-1.0, 1.0))
    whole = (X * 2.0**24).astype(np.int64)
    gram = moments(data, ProblemSpec(Squared(), space.radius, 4)).gram
    assert np.abs(gram * 2.0**48 / (whole.T @ whole) - 1).max() <= 16 * ULP
