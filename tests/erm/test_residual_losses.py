# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T53: values, derivatives and constants of the losses of regression. T44: a limited slope is a clipped gradient.

Pinball losses are the exception: a limit shrinks them as a whole, so that the quantile stays.
"""

import math

import mpmath as mp
import numpy as np
import pytest

from dperm.data.targets import LabelKind
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.errors import ParameterError

PARABOLAS = [Squared(), Huber(), Huber(1e-6), Huber(0.05), Huber(3.0), Huber(1e6)]
PINBALLS = [Pinball(), Pinball(0.1), Pinball(1 - 1e-6)]
LOSSES = [*PARABOLAS, *PINBALLS]
WIDE = np.concatenate([np.linspace(-6, 6, 4001), np.linspace(-0.1, 0.1, 4001)])
FAR = np.array([-1e150, -1e100, -800.0, 800.0, 1e100, 1e150])
LIMITS = [1e-3, 0.2, 0.5, 0.9, 7.0]

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
parabola = pytest.mark.parametrize("loss", PARABOLAS, ids=repr)
pinball = pytest.mark.parametrize("loss", PINBALLS, ids=repr)
every_limit = pytest.mark.parametrize("limit", LIMITS)


def as_printed(loss, z: float, limit: float = math.inf) -> mp.mpf:
    """T53's formulas and T44's linear extension, or the pinball loss times a factor, in 50 digits."""
    z, s = mp.mpf(z), mp.mpf(limit)
    if isinstance(loss, Pinball):
        q = mp.mpf(loss.q)
        return min(s / max(q, 1 - q), 1) * max((1 - q) * z, -q * z)
    end = min(s, mp.mpf(getattr(loss, "kappa", math.inf)))
    return z**2 / 2 if abs(z) <= end else end**2 / 2 + end * (abs(z) - end)


def per_record(z: np.ndarray, limit: float) -> np.ndarray:
    return np.full(z.shape, limit)


@every_loss
@pytest.mark.parametrize("limit", [None, *LIMITS])
def test_values_are_those_of_the_formulas(loss, limit):  # T53, T44
    at = None if limit is None else np.array([limit])
    with mp.workdps(50):
        for z in (-700.0, -3.25, -1.0, -0.3, -1e-7, 0.0, 1e-7, 0.05, 0.4, 0.5, 0.75, 2.9, 1e6, 3e6):
            truth = float(as_printed(loss, z, math.inf if limit is None else limit))
            assert float(loss.value(np.array([z]), at)[0]) == pytest.approx(truth, rel=1e-12, abs=1e-300), z


def test_values_that_a_reader_can_check():  # T53, kappa = .5, q = .25
    z = np.array([-2.0, -0.5, 0.0, 0.25, 2.0])
    assert Squared().value(z) == pytest.approx([2, 0.125, 0, 0.03125, 2], rel=1e-15)
    assert Huber(0.5).value(z) == pytest.approx([0.875, 0.125, 0, 0.03125, 0.875], rel=1e-15)
    assert Pinball(0.25).value(z) == pytest.approx([0.5, 0.125, 0, 0.1875, 1.5], rel=1e-15)


@every_loss
def test_scores_and_targets_make_the_residual(loss):
    scores, targets = np.array([0.4, -3.0, 1.0, 0.2]), np.array([-1.0, 0.5, 1.0, 0.7])
    assert loss.losses(scores, targets).tolist() == loss.value(scores - targets).tolist()
    assert loss.slopes(scores, targets).tolist() == loss.derivative(scores - targets).tolist()
    bends = loss.bends(scores, targets)
    assert bends.tolist() == loss.second(scores - targets).tolist()
    assert loss.spread(bends, targets).tolist() == (bends * targets).tolist()
    assert (loss.labels, loss.outputs, loss.rank, loss.monotone) == (LabelKind.NUMBER, 1, 1, False)


@every_loss
def test_the_value_at_scores_of_zero_is_at_most_the_one_it_announces(loss):
    """Labels are in [-1, 1]."""
    values = loss.losses(np.zeros(3), np.array([-1.0, 0.3, 1.0]))
    assert values.max() <= loss.at_zero <= values.max() * (1 + 1e-15)


@parabola
@pytest.mark.parametrize("limit", [None, *LIMITS])
def test_derivatives_are_finite_differences(loss, limit):  # T53, T44
    z, step = np.linspace(-5, 5, 2003), 1e-6
    at = None if limit is None else per_record(z, limit)
    difference = (loss.value(z + step, at) - loss.value(z - step, at)) / (2 * step)
    assert np.abs(difference - loss.derivative(z, at)).max() <= step + 1e-8
    bends = (loss.derivative(z + step, at) - loss.derivative(z - step, at)) / (2 * step)
    assert (np.abs(bends - loss.second(z, at)) > 1e-8).sum() <= 4  # there are two corners of f'


@every_loss
@pytest.mark.parametrize("limit", [None, *LIMITS])
def test_the_loss_is_convex_and_nonnegative_and_its_slope_is_limited(loss, limit):  # T53, T44
    z = np.sort(WIDE)
    at = None if limit is None else per_record(z, limit)
    values, slopes, bends = loss.value(z, at), loss.derivative(z, at), loss.second(z, at)
    assert (values >= 0).all() and (np.diff(slopes) >= 0).all() and (bends >= 0).all()
    assert np.abs(slopes).max() <= min(loss.slope, math.inf if limit is None else limit)
    assert (values <= loss.value(z) + 1e-14).all() and (bends <= loss.second(z)).all()
    # the computed derivative is a subgradient: the tangent is below (a ramp of 2^-9 stands for the kink)
    others = np.linspace(-6, 6, 97)[:, np.newaxis]
    there = loss.value(others, None if limit is None else per_record(others, limit))
    assert (there >= values + slopes * (others - z) - (2.0**-9 if isinstance(loss, Pinball) else 1e-12)).all()


@every_loss
def test_the_constants_are_attained_and_never_exceeded(loss):  # T53: L = R sup |f'|, beta = R^2 sup f''
    z = np.concatenate([WIDE, FAR])
    assert np.abs(loss.derivative(z)).max() == (1e150 if loss == Squared() else loss.slope)
    assert loss.second(z).max() == (0.0 if isinstance(loss, Pinball) else loss.curvature)
    z = np.concatenate([np.linspace(-3, 3, 3001), np.linspace(-1e-6, 1e-6, 2001)])
    z = np.unique(z)
    changes = np.diff(loss.derivative(z)) / np.diff(z)
    assert 0.999 * loss.steepness <= changes.max() <= loss.steepness * (1 + 1e-6)
    assert loss.bend == loss.curvature


def test_the_constants_are_golden():  # T53: R^2; R kappa, R^2; R max(q, 1 - q), no bound
    assert (Squared().slope, Squared().curvature) == (math.inf, 1.0)
    assert (Huber(0.3).slope, Huber(0.3).curvature) == (0.3, 1.0)
    assert (Pinball(0.2).slope, Pinball(0.2).curvature) == (0.8, math.inf)
    assert Pinball().slope == 0.5


@parabola
@every_limit
def test_a_limited_slope_is_the_clipped_gradient(loss, limit):  # T44
    x = np.array([2.0, -1.0, 0.5])
    for z in (-4.0, -0.5, -0.1, 0.1, 0.7, 1.3, 5.0):
        gradient, clip = loss.derivative(np.array([z]))[0] * x, limit * np.linalg.norm(x)
        clipped = gradient * min(1.0, clip / np.linalg.norm(gradient))
        inner = loss.derivative(np.array([z]), np.array([limit]))[0]
        assert inner * x == pytest.approx(clipped, rel=1e-12, abs=1e-15)


@pinball
@every_limit
def test_a_limit_shrinks_a_pinball_loss_and_keeps_its_quantile(loss, limit):
    """The factor is the largest that keeps both slopes within the limit, and of residuals the q-quantile stays best."""
    z, factor = np.linspace(-3, 3, 1201), min(1.0, limit / loss.slope)
    limits = per_record(z, limit)
    assert loss.value(z, limits) == pytest.approx(factor * loss.value(z), rel=1e-12, abs=1e-300)
    assert loss.derivative(z, limits) == pytest.approx(factor * loss.derivative(z), rel=1e-12, abs=1e-15)
    assert np.abs(loss.derivative(z, limits)).max() == pytest.approx(min(limit, loss.slope), rel=1e-12)
    y = np.linspace(-1, 1, 1001)
    totals = [loss.losses(np.full(1001, at), y, per_record(y, limit)).sum() for at in y]
    assert y[int(np.argmin(totals))] == pytest.approx(np.quantile(y, loss.q), abs=0.003)


@pinball
def test_a_limited_slope_is_never_above_the_limit_in_the_last_digit_either(loss):  # T44
    limits = np.random.default_rng(5).uniform(0, 1.2, 20_000) ** 3
    for side in (-3.0, 3.0):
        slopes = loss.derivative(np.full(limits.shape, side), limits)
        assert (np.abs(slopes) <= np.minimum(limits, loss.slope)).all()


@every_loss
def test_limits_are_one_for_each_record(loss):  # T44
    z, limits = np.array([-2.0, 2.0, -2.0, -2.0]), np.array([1e-7, 1e-9, 1e7, np.inf])
    shares = (loss.q, 1 - loss.q) / np.array(loss.slope) if isinstance(loss, Pinball) else (1.0, 1.0)
    assert loss.derivative(z, limits)[:2] == pytest.approx([-1e-7 * shares[0], 1e-9 * shares[1]], rel=1e-12)
    for f in (loss.value, loss.derivative, loss.second):
        assert f(z, limits).tolist() == [f(z[i : i + 1], limits[i : i + 1])[0] for i in range(4)]
        assert f(z, limits)[2:] == pytest.approx(f(z[2:]), rel=1e-12)  # these limit nothing


@every_loss
def test_far_residuals_do_not_overflow(loss):  # warnings are errors
    for limits in (None, per_record(FAR, 0.3), per_record(FAR, np.inf)):
        if limits is None and loss == Squared():
            continue
        for f in (loss.value, loss.derivative, loss.second):
            assert np.isfinite(f(FAR, limits)).all()


@parabola
@pytest.mark.parametrize("limit", [None, 0.4])
def test_the_parabola_of_the_secant_lies_above_the_loss(loss, limit):
    """It touches at z, and its curvature is what caution mixes in."""
    z, others = np.linspace(-4, 4, 161), np.linspace(-9, 9, 801)[:, np.newaxis]
    at = None if limit is None else per_record(z, limit)
    there = loss.value(others, None if limit is None else per_record(others, limit))
    gap, secant = others - z, loss.secant(z, at)
    assert (loss.value(z, at) + loss.derivative(z, at) * gap + secant * gap**2 / 2 >= there - 1e-9).all()
    mixed = loss.bends(z, np.zeros(len(z)), at, 0.25)
    assert mixed == pytest.approx(0.75 * loss.second(z, at) + 0.25 * secant, rel=1e-15)


@every_loss
def test_slopes_are_the_residual_the_limit_or_kappa_as_they_are_given(loss):
    """To the last bit; of a pinball loss with a factor."""
    third, limit = 1 / 3, 1 / 9**9
    scores, targets = np.array([third, -third]), np.array([0.25, -0.25])
    slopes = loss.slopes(scores, targets, np.full(2, limit))
    if isinstance(loss, Pinball):
        wanted = [(1 - loss.q) * limit / loss.slope, -loss.q * limit / loss.slope]
        assert np.abs(slopes - wanted).max() <= 4 * np.finfo(np.float64).eps * limit
    else:
        assert slopes.tolist() == [limit, -limit]
    if isinstance(loss, Squared):
        assert loss.slopes(scores, targets).tolist() == [third - 0.25, 0.25 - third]


@every_loss
def test_losses_are_equal_and_hashable_by_value(loss):
    twin = type(loss)(*vars(loss).values())
    assert twin == loss and hash(twin) == hash(loss)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "0.5", None, True, 1e-7, 1e7])
def test_a_kappa_that_ends_nowhere_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^kappa must be a number in \[1e-06, 1e\+06\], got .*half the label"):
        Huber(bad)


@pytest.mark.parametrize("bad", [0.0, 1.0, -1.0, math.nan, "0.5", None, True, 95])
def test_a_quantile_outside_of_zero_and_one_is_refused(bad):
    with pytest.raises(ParameterError, match=r"^quantile must be a number in \[1e-06, 0.999999\], got .*the median"):
        Pinball(bad)


def _constants_hold(module) -> None:
    z = np.linspace(-3, 3, 1201)
    for loss in (module.Huber(0.5), module.Squared(), module.Pinball(0.2)):
        assert (np.diff(loss.derivative(z)) / np.diff(z)).max() <= loss.steepness * (1 + 1e-9)
        assert np.abs(loss.derivative(z, np.full(z.shape, 0.3))).max() <= 0.3
        assert np.abs(loss.derivative(z, np.full(z.shape, 1e-4))).max() <= 1e-4
        assert loss == module.Squared() or np.abs(loss.derivative(z)).max() <= loss.slope
        assert not loss.monotone or (loss.derivative(z) <= 0).all()
        assert loss.value(np.ones(1))[0] <= loss.at_zero
    ends = module.Pinball(0.2).derivative(np.array([-3.0, 3.0]), np.full(2, 0.1))
    assert ends == pytest.approx([-0.025, 0.1], rel=1e-12)  # as 0.2 to 0.8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("curvature: ClassVar[float] = 1.0\n    steepness: ClassVar[float] = 1.0", "curvature = steepness = 0.5"),
        ("return np.asarray(np.clip(z, -ends, ends))", "return np.asarray(z)"),
        ("return self.slope if limits is None else np.minimum(limits, self.slope)", "return self.slope"),
        ("return max(self.q, 1 - self.q)", "return self.q"),
        ("    if limits is None:\n        return -q, 1 - q", "    return -q, 1 - q"),
        ("limits / max(q, 1 - q), 1.0", "limits / min(q, 1 - q), 1.0"),
        ("return -np.minimum(q * factor, limits), np.minimum((1 - q) * factor, limits)", "return -q, (1 - q) * factor"),
        (
            '    name: ClassVar[str] = "huber"\n',
            '    name: ClassVar[str] = "huber"\n    monotone: ClassVar[bool] = True\n',
        ),
    ],
)
def test_unsafe_mutants_of_the_constants_are_killed(assert_killed, old, new):  # T53, T44
    assert_killed(_constants_hold, "dperm.erm.residual_losses", old, new)
