# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T53: values, derivatives and constants of every loss. T44: a limited slope is a clipped gradient of a convex loss."""

import math

import mpmath as mp
import numpy as np
import pytest

from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.errors import ParameterError

SMOOTH = [Logistic(), HuberHinge(), HuberHinge(0.05), SmoothedHinge(), SmoothedHinge(0.05), SmoothedHinge(2.0)]
LOSSES = [*SMOOTH, Hinge()]
NAMES = [f"{loss.name}-{getattr(loss, 'width', '')}" for loss in LOSSES]
WIDE = np.concatenate([np.linspace(-6, 6, 4001), np.linspace(0.9, 1.1, 4001)])
FAR = np.array([-1.7976931348623157e308, -1e308, -1e100, -800.0, 800.0, 1e100, 1e308, 1.7976931348623157e308])
LIMITS = [1e-3, 0.2, 0.5, 0.9, 0.999]

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=NAMES[:-1])
every_limit = pytest.mark.parametrize("limit", LIMITS)


def as_printed(loss, z: float) -> mp.mpf:
    """T53's formulas, in 50 digits."""
    z = mp.mpf(z)
    if isinstance(loss, Logistic):
        return mp.log1p(mp.exp(-z))
    if isinstance(loss, Hinge):
        return max(mp.mpf(0), 1 - z)
    h = mp.mpf(loss.width)
    if z > 1 + h:
        return mp.mpf(0)
    if z < 1 - h:
        return 1 - z
    if isinstance(loss, HuberHinge):
        return (1 + h - z) ** 2 / (4 * h)
    return -((1 - z) ** 4) / (16 * h**3) + 3 * (1 - z) ** 2 / (8 * h) + (1 - z) / 2 + 3 * h / 16


def slope_as_printed(loss, z: mp.mpf) -> mp.mpf:
    """-f' where the loss bends, by hand."""
    if isinstance(loss, Logistic):
        return 1 / (1 + mp.exp(z))
    h = mp.mpf(loss.width)
    if isinstance(loss, HuberHinge):
        return (1 + h - z) / (2 * h)
    return -((1 - z) ** 3) / (4 * h**3) + 3 * (1 - z) / (4 * h) + mp.mpf(1) / 2


def limited(loss, z: float, limit: float) -> mp.mpf:
    """T44 by its definition: the loss from ``turn`` on, the tangent of slope -limit before."""
    ends = (-50, 50) if isinstance(loss, Logistic) else (1 - mp.mpf(loss.width), 1 + mp.mpf(loss.width))
    turn = mp.findroot(lambda x: slope_as_printed(loss, x) - limit, ends, solver="bisect", tol=1e-25, maxsteps=200)
    return as_printed(loss, z) if z >= turn else as_printed(loss, turn) + limit * (turn - mp.mpf(z))


def per_record(margins: np.ndarray, limit: float) -> np.ndarray:
    return np.full(margins.shape, limit)


@every_loss
def test_values_at_given_points_are_those_of_the_formulas(loss):  # T53
    with mp.workdps(50):
        for z in (
            -700.0,
            -30.25,
            -2.0,
            -1.0,
            -0.3,
            0.0,
            0.4,
            0.5,
            0.75,
            0.97,
            1.0,
            1.03,
            1.2,
            1.5,
            2.9,
            3.0,
            30.0,
            700.0,
        ):
            truth = float(as_printed(loss, z))
            assert float(loss.value(np.array([z]))[0]) == pytest.approx(truth, rel=1e-12, abs=1e-300), z


def test_values_that_a_reader_can_check():  # T53, h = .5
    z = np.array([-1.0, 0.0, 1.0, 2.0])
    assert Hinge().value(z) == pytest.approx([2, 1, 0, 0], rel=1e-15)
    assert HuberHinge(0.5).value(z) == pytest.approx([2, 1, 0.125, 0], rel=1e-15)
    assert SmoothedHinge(0.5).value(z) == pytest.approx([2, 1, 0.09375, 0], rel=1e-15)
    assert Logistic().value(z[1:2]) == pytest.approx([math.log(2)], rel=1e-15)


@every_loss
def test_value_at_zero_is_the_one_it_announces(loss):
    value = float(loss.value(np.zeros(1))[0])
    assert value <= loss.at_zero <= value * (1 + 1e-15)


def test_logistic_loss_falls_with_the_margin():  # E5: one source has exp(+y w'x), which learns the opposite
    value = Logistic().value(np.array([-3.0, 0.0, 3.0]))
    assert value[0] > value[1] > value[2]
    assert value[2] == pytest.approx(math.log1p(math.exp(-3.0)), rel=1e-15)


@smooth_loss
@pytest.mark.parametrize("limit", [None, *LIMITS])
def test_derivatives_are_finite_differences(loss, limit):  # T53, T44
    z, step = np.linspace(-5, 5, 2003), 1e-6
    at = None if limit is None else per_record(z, limit)
    difference = (loss.value(z + step, at) - loss.value(z - step, at)) / (2 * step)
    assert np.abs(difference - loss.derivative(z, at)).max() <= loss.curvature * step + 1e-8
    bends = (loss.derivative(z + step, at) - loss.derivative(z - step, at)) / (2 * step)
    off = np.abs(bends - loss.second(z, at))
    # a corner of f' is near two points of the grid at most, and there are two corners
    assert (off > 30 * loss.curvature**2 * step + 1e-8).sum() <= 4


@every_loss
def test_the_loss_is_convex_decreasing_and_nonnegative(loss):  # T53: monotone in the sense of T40
    z = np.sort(WIDE)
    values, slopes, bends = loss.value(z), loss.derivative(z), loss.second(z)
    assert (values >= 0).all() and (np.diff(values) <= 1e-15).all()
    assert (slopes <= 0).all() and (np.diff(slopes) >= 0).all()
    assert (bends >= 0).all()
    # the computed derivative is a subgradient: the tangent is below (a ramp of 2^-9 stands for the hinge's kink)
    others = np.linspace(-6, 6, 97)[:, np.newaxis]
    slack = 1e-12 + (2.0**-9 if isinstance(loss, Hinge) else 0.0)
    assert (loss.value(others) >= values + slopes * (others - z) - slack).all()


@every_loss
def test_the_constants_are_attained_and_never_exceeded(loss):  # T53: L = R sup |f'|, beta = R^2 sup f''
    z = np.concatenate([WIDE, FAR])
    slopes, bends = np.abs(loss.derivative(z)), loss.second(z)
    assert slopes.max() <= loss.slope
    assert bends.max() <= loss.curvature
    assert np.abs(loss.derivative(np.array([-50.0])))[0] == pytest.approx(loss.slope, rel=1e-12)
    if not isinstance(loss, Hinge):
        steepest = np.array([0.0 if isinstance(loss, Logistic) else 1.0])
        assert loss.second(steepest)[0] == pytest.approx(loss.curvature, rel=1e-12)

    z = np.concatenate([np.linspace(-6, 0.9, 2001), np.linspace(0.91, 1.09, 2001), np.linspace(1.1, 6, 2001)])
    changes = np.diff(loss.derivative(z)) / np.diff(z)
    assert changes.max() <= loss.steepness * (1 + 1e-9)
    if not isinstance(loss, Hinge):  # f' itself moves that fast, whatever ``second`` says
        assert changes.max() >= 0.999 * loss.curvature


def test_the_constants_are_golden():  # T53: golden hinge_losses at h = .5; logistic 1, 1/4
    assert (Logistic().slope, Logistic().curvature) == (1.0, 0.25)
    assert (HuberHinge(0.5).slope, HuberHinge(0.5).curvature) == (1.0, 1.0)
    assert (SmoothedHinge(0.5).slope, SmoothedHinge(0.5).curvature) == (1.0, 1.5)
    assert (Hinge().slope, Hinge().curvature) == (1.0, math.inf)


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.5, 3.0, 1e6])
@pytest.mark.parametrize("kind", [HuberHinge, SmoothedHinge])
def test_smoothed_hinges_meet_the_hinge_outside_the_kink(kind, width):  # T53
    loss, hinge = kind(width), Hinge()
    outside = np.array([1 - 50 * width, 1 - 2 * width, 1 + 2 * width, 1 + 50 * width])
    assert loss.value(outside) == pytest.approx(hinge.value(outside), rel=1e-9, abs=1e-12)
    joint = np.array([1 - width, 1 + width])
    assert loss.value(joint) == pytest.approx([width, 0], rel=1e-9, abs=1e-9 * width)
    assert loss.derivative(joint) == pytest.approx([-1, 0], abs=1e-9)
    inside = np.linspace(1 - width, 1 + width, 101)
    assert (loss.value(inside) >= hinge.value(inside) - 1e-9 * width).all()


@every_loss
def test_ends_of_the_double_range_do_not_overflow(loss):  # warnings are errors
    for limits in (None, per_record(FAR, 0.3), per_record(FAR, 1.0), per_record(FAR, np.inf)):
        value, slopes, bends = (f(FAR, limits) for f in (loss.value, loss.derivative, loss.second))
        assert np.isfinite(value).all() and np.isfinite(slopes).all() and np.isfinite(bends).all()
        scale = 1.0 if limits is None else min(limits[0], 1.0)
        assert value[:3] == pytest.approx(-scale * FAR[:3], rel=1e-12)
        assert value[-3:] == pytest.approx([0, 0, 0], abs=1e-300)
        assert slopes[:4] == pytest.approx([-scale] * 4, rel=1e-12)
        assert bends == pytest.approx(np.zeros(len(FAR)), abs=1e-300)


@pytest.mark.parametrize("kind", [HuberHinge, SmoothedHinge])
def test_narrow_kinks_do_not_overflow_either(kind):
    loss = kind(1e-6)
    assert loss.value(FAR[:3]) == pytest.approx(-FAR[:3], rel=1e-12)
    assert (loss.derivative(FAR) == np.where(FAR < 0, -1.0, 0.0)).all()
    assert (loss.second(FAR) == 0).all()


@every_loss
@every_limit
def test_a_limited_slope_is_the_clipped_gradient(loss, limit):  # T44
    x = np.array([2.0, -1.0, 0.5])
    for z in (-4.0, -0.5, 0.0, 0.7, 1.0, 1.3, 5.0):
        slope = loss.derivative(np.array([z]))[0]
        gradient, clip = slope * x, limit * np.linalg.norm(x)
        clipped = gradient * min(1.0, clip / max(np.linalg.norm(gradient), 1e-300))
        inner = loss.derivative(np.array([z]), np.array([limit]))[0]
        if not (isinstance(loss, Hinge) and abs(z - 1) < 2.0**-20):
            assert inner * x == pytest.approx(clipped, rel=1e-12, abs=1e-15)
        assert abs(inner) <= limit


@smooth_loss
@every_limit
def test_a_limited_loss_is_the_linear_extension(loss, limit):  # T44, value against the definition in 30 digits
    with mp.workdps(30):
        for z in (-300.0, -3.0, -0.2, 0.5, 0.96, 1.0, 1.04, 1.6, 4.0):
            value = float(loss.value(np.array([z]), np.array([limit]))[0])
            assert value == pytest.approx(float(limited(loss, z, limit)), rel=1e-9, abs=1e-13), z


@every_loss
@every_limit
def test_a_limited_loss_is_convex_decreasing_continuous_and_no_more_curved(loss, limit):  # T44
    z = np.sort(WIDE)
    at = per_record(z, limit)
    values, slopes, bends = loss.value(z, at), loss.derivative(z, at), loss.second(z, at)
    assert (values >= 0).all() and (np.diff(values) <= 1e-15).all()
    assert (slopes <= 0).all() and (np.diff(slopes) >= 0).all() and np.abs(slopes).max() <= limit
    assert (bends <= loss.second(z)).all() and (bends >= 0).all()
    # Lipschitz with the limit, so continuous; and the integral of its own derivative, so no jump is hidden
    assert (-np.diff(values) <= limit * np.diff(z) + 1e-14).all()
    integral = ((slopes[1:] + slopes[:-1]) / 2 * np.diff(z)).sum()
    assert values[-1] - values[0] == pytest.approx(integral, abs=2e-3 * limit)
    assert (values <= loss.value(z) + 1e-14).all()  # a tangent line is below a convex function
    assert np.abs(loss.derivative(np.array([-50.0]), np.array([limit]))) == pytest.approx([limit], rel=1e-12)


@every_loss
def test_limits_are_one_for_each_record(loss):  # T44
    z, limits = np.array([-2.0, -2.0, -2.0, -2.0]), np.array([0.1, 0.6, 1.0, np.inf])
    slopes = loss.derivative(z, limits)
    assert slopes[:2] == pytest.approx([-0.1, -0.6], rel=1e-12)
    for f in (loss.value, loss.derivative, loss.second):
        one_by_one = [f(z[i : i + 1], limits[i : i + 1])[0] for i in range(4)]
        assert f(z, limits).tolist() == one_by_one
        assert f(z, limits)[2:] == pytest.approx(f(z[2:]), rel=1e-12)  # 1 and more limit nothing


@smooth_loss
def test_very_small_limits_keep_their_digits(loss):  # T44: a value that belongs to its own derivative
    for limit in (1e-6, 1e-12):
        z = np.array([-100.0, -50.0])
        at = per_record(z, limit)
        low, high = loss.value(z, at)
        assert (low - high) / 50 == pytest.approx(limit, rel=1e-9)
        assert loss.derivative(z, at) == pytest.approx([-limit, -limit], rel=1e-12)


@every_loss
def test_losses_are_equal_and_hashable_by_value(loss):
    twin = type(loss)(loss.width) if hasattr(loss, "width") else type(loss)()
    assert twin == loss and hash(twin) == hash(loss)


@pytest.mark.parametrize("kind", [HuberHinge, SmoothedHinge])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "0.5", None, True, 1e-7, 1e7])
def test_a_width_that_smooths_nothing_is_refused(kind, bad):
    with pytest.raises(ParameterError, match=r"^width must be a number in \[1e-06, 1e\+06\], got .*half the width"):
        kind(bad)


def _constants_hold(module) -> None:
    z = np.linspace(0.4, 1.6, 1201)
    for loss in (module.HuberHinge(0.5), module.SmoothedHinge(0.5), module.Logistic()):
        assert (np.diff(loss.derivative(z)) / np.diff(z)).max() <= loss.curvature * (1 + 1e-9)
        assert np.abs(loss.derivative(z - 9.0, np.full(z.shape, 0.5))).max() <= 0.5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return 1 / (2 * self.width)", "return 1 / (4 * self.width)"),
        ("return 3 / (4 * self.width)", "return 3 / (8 * self.width)"),
        ("return 3 / (4 * self.width)", "return 2 / (4 * self.width)"),
        ("-np.minimum(slopes, limits))", "-slopes)"),
        ("-np.minimum(self._slopes(z), within_one(limits))", "-self._slopes(z)"),
        (
            "-np.minimum(self._slopes(self._inside(z)), within_one(limits))",
            "-self._slopes(self._inside(z))",
        ),
    ],
)
def test_unsafe_mutants_of_the_constants_are_killed(assert_killed, old, new):  # T53, T44
    assert_killed(_constants_hold, "dperm.erm.losses", old, new)
