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
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.softmax import Softmax
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


def test_constants_of_regression():  # T53: R kappa and R^2, R max(q, 1 - q)
    huber = spec(loss=Huber(0.3), weight=3.0)
    assert (huber.lipschitz, huber.smoothness) == pytest.approx((1.8, 12.0), rel=1e-14)
    assert huber.bend == huber.smoothness
    assert spec(loss=Pinball(0.2)).lipschitz == pytest.approx(1.6, rel=1e-14)
    squared = spec(loss=Squared(), clip=0.5)
    assert (squared.lipschitz, squared.smoothness) == pytest.approx((0.5, 4.0), rel=1e-14)
    assert squared.is_clipped and not huber.is_clipped and spec(loss=Huber(0.3), clip=0.5).is_clipped


def test_the_squared_loss_has_no_constant_without_a_clip():  # T44
    with pytest.raises(ParameterError, match="clip must be given for the loss 'squared'"):
        spec(loss=Squared()).lipschitz  # noqa: B018


def test_constants_of_several_classes():  # T53, T53a: sqrt(2) R, R^2/2, R^2/K
    softmax = spec(loss=Softmax(5), dim=20, weight=3.0)
    assert softmax.lipschitz == pytest.approx(6 * math.sqrt(2), rel=1e-14)
    assert Fraction(softmax.lipschitz) ** 2 >= 72
    assert (softmax.smoothness, softmax.bend) == pytest.approx((6.0, 12 / 5), rel=1e-14)
    assert (softmax.outputs, softmax.width) == (5, 4)
    assert not softmax.clipped(2.9).is_clipped and softmax.clipped(2.8).is_clipped
    assert softmax.clipped(0.5).lipschitz == pytest.approx(1.5, rel=1e-14)


def test_coefficients_come_in_as_many_parts_as_there_are_scores():
    with pytest.raises(ParameterError, match=r"^dim must be a multiple of the number of scores of a record, 3, got 10"):
        spec(loss=Softmax(3), dim=10)


@given(radii, weights)
def test_constants_of_several_classes_are_rounded_up(radius, weight):
    problem = ProblemSpec(Softmax(3), radius, 3, weight=weight)
    assert Fraction(problem.lipschitz) ** 2 >= 2 * (Fraction(radius) * Fraction(weight)) ** 2
    assert Fraction(problem.bend) * 3 >= Fraction(weight) * Fraction(radius) ** 2
    assert Fraction(problem.smoothness) * 2 >= Fraction(weight) * Fraction(radius) ** 2


def test_strength_has_to_be_chosen_before_it_is_used():
    undecided = spec(regularization=None)
    with pytest.raises(ParameterError, match=r"regularization must be set\. Set C, or let a method plan it"):
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
