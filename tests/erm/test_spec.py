# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public constants of a problem: L and beta of T53 and T44, never smaller than the truth, and errors by name."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError

LOSSES = [Logistic(), HuberHinge(0.25), SmoothedHinge(0.3), Hinge()]
radii = st.floats(1e-101, 1e101)
weights = st.floats(1e-30, 1e30)


def spec(**changes) -> ProblemSpec:
    return ProblemSpec(**{"loss": Logistic(), "radius": 2.0, "dim": 3, "regularization": 1.0, **changes})


def test_constants_of_logistic_regression():  # T53
    assert spec().lipschitz == pytest.approx(2.0, rel=1e-14)
    assert spec().smoothness == pytest.approx(1.0, rel=1e-14)
    assert spec(weight=3.0).lipschitz == pytest.approx(6.0, rel=1e-14)
    assert spec(weight=3.0).smoothness == pytest.approx(3.0, rel=1e-14)
    assert spec(loss=Hinge()).smoothness == math.inf


def test_clipping_limits_the_slope_and_leaves_the_curvature():  # T44: R/2 halves the noise
    clipped = spec().clipped(1.0)
    assert clipped.lipschitz == pytest.approx(1.0, rel=1e-14)
    assert clipped.smoothness == spec().smoothness
    assert spec(clip=100.0).lipschitz == spec().lipschitz  # a clip above R sup|f'| limits nothing
    assert spec(clip=1.0, weight=5.0).lipschitz == pytest.approx(5.0, rel=1e-14)
    assert clipped.clipped(None) == spec()


@given(st.sampled_from(LOSSES), radii, weights, st.none() | st.floats(1e-200, 1e200))
def test_constants_are_rounded_up(loss, radius, weight, clip):  # T53, T44
    problem = ProblemSpec(loss, radius, 2, clip=clip, weight=weight)
    slope = Fraction(radius) if clip is None else min(Fraction(radius), Fraction(clip))
    exact = Fraction(weight) * slope
    assert exact <= Fraction(problem.lipschitz) <= exact * (1 + Fraction(1, 2**49))
    if loss.curvature < math.inf:
        sharp = {"logistic": Fraction(1, 4), "huber_hinge": Fraction(2), "smoothed_hinge": 1 / (Fraction(0.3) * 4 / 3)}
        exact = Fraction(weight) * Fraction(radius) ** 2 * sharp[loss.name]
        assert exact <= Fraction(problem.smoothness) <= exact * (1 + Fraction(1, 2**47))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("clip", [None, 0.7])
def test_no_record_has_a_larger_gradient_or_hessian(loss, clip):  # T53, T44: attained on the sphere of radius R
    problem = ProblemSpec(loss, 2.0, 3, clip=clip, weight=1.5)
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(4000, 3))
    rows *= (2.0 * generator.choice([0.2, 0.9, 1.0], size=4000) / np.linalg.norm(rows, axis=1))[:, np.newaxis]
    margins = generator.uniform(-20, 6, size=4000)
    margins[:3] = 0.0, 1.0, -20.0
    lengths = np.linalg.norm(rows, axis=1)
    limits = None if clip is None else clip / lengths
    gradients = 1.5 * np.abs(loss.derivative(margins, limits)) * lengths
    hessians = 1.5 * loss.second(margins, limits) * lengths**2
    assert 0.999 * problem.lipschitz <= gradients.max() <= problem.lipschitz
    assert hessians.max() <= problem.smoothness


def test_strength_has_to_be_chosen_before_it_is_used():
    undecided = spec(regularization=None)
    with pytest.raises(ParameterError, match="regularization has not been chosen: give C, or let a method plan it"):
        undecided.strength  # noqa: B018
    assert undecided.with_regularization(4.0).strength == 4.0
    assert undecided.with_regularization(4.0).with_regularization(5.0) == undecided.with_regularization(5.0)


def test_numpy_numbers_become_plain_ones():
    problem = spec(radius=np.float64(2.0), dim=np.int64(3), n=np.int32(7), regularization=np.float32(0.5))
    assert problem == spec(n=7, regularization=0.5)
    assert [type(x) for x in (problem.radius, problem.dim, problem.n, problem.regularization)] == [
        float,
        int,
        int,
        float,
    ]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("radius", 0.0),
        ("radius", math.inf),
        ("radius", 1e-200),  # its square would underflow, and beta with it
        ("radius", 1e200),
        ("dim", 0),
        ("dim", 2.0),
        ("n", 0),
        ("n", True),
        ("regularization", 0.0),
        ("regularization", -1.0),
        ("regularization", math.nan),
        ("clip", 0.0),
        ("clip", 1e-300),  # times a small weight it would underflow, and L with it
        ("clip", "1"),
        ("weight", 0.0),
        ("weight", math.inf),
    ],
)
def test_nonsense_is_refused_by_name(name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be .*got {re.escape(repr(bad))}"):
        spec(**{name: bad})
