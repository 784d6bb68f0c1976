# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lines below losses, the gaps above them, and smooth losses above kinked ones (T44, T52, T53)."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from plain_objective import Plain

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.minimize import minimize
from dperm.erm.objective import Objective
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.smoothing import RISE, SmoothPinball, smooth_loss
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.erm.tangents import tangents, value_error
from dperm.errors import AssumptionError, ParameterError

SPACE = FeatureSpace(3, norm=1.0)
LOSSES = {
    "logistic": (Logistic(), None),
    "clipped logistic": (Logistic(), 0.4),
    "Huber hinge": (HuberHinge(0.2), 0.7),
    "smoothed hinge": (SmoothedHinge(0.2), 0.3),
    "hinge": (Hinge(), None),
    "clipped hinge": (Hinge(), 0.3),
    "pinball": (Pinball(0.9), None),
    "clipped pinball": (Pinball(0.2), 0.3),
    "Huber": (Huber(0.5), None),
    "clipped squared": (Squared(), 0.4),
    "softmax": (Softmax(3), None),
}
KINKED = [Hinge(), Pinball(0.5), Pinball(0.85)]


def problem(name, rows=700):
    loss, clip = LOSSES[name]
    rng = np.random.default_rng(11)
    target = {
        LabelKind.SIGN: Classes((0, 1), (0.5, 2.0)),
        LabelKind.PLACE: Classes((0, 1, 2)),
        LabelKind.NUMBER: Interval(0.0, 1.0),
    }
    labels = {
        LabelKind.SIGN: rng.integers(0, 2, rows),
        LabelKind.PLACE: rng.integers(0, 3, rows),
        LabelKind.NUMBER: rng.random(rows),
    }
    X = 2 * rng.normal(size=(rows, SPACE.dim)) * rng.random((rows, 1))
    data = enforce(X, labels[loss.labels], SPACE, target[loss.labels])
    weight = 2.0 if loss.labels is LabelKind.SIGN else 1.0
    spec = ProblemSpec(loss, SPACE.radius, SPACE.size * loss.outputs, regularization=3.0, clip=clip, weight=weight)
    return data, spec, spec if math.isfinite(loss.curvature) else replace(spec, loss=smooth_loss(loss, 0.05))


def points(spec, count=9):
    return 2 * np.random.default_rng(12).normal(size=(count, spec.dim))


@pytest.mark.parametrize("name", LOSSES)
def test_gaps_are_the_losses_without_their_lines(name):
    """J(theta) - c'theta - (Lambda/2)||theta||^2 for the gradient c of the lines, up to one constant."""
    data, spec, soft = problem(name)
    theta = minimize(data, soft, 0.1)
    slope = Objective(data, soft, np.zeros(spec.dim)).loss_gradient(theta)
    plain = Objective(data, spec, np.zeros(spec.dim))
    thetas = points(spec)
    gaps = tangents(data, spec, soft, theta).gaps(thetas)
    differences = [
        plain.value(one) - 1.5 * one @ one - slope @ one - gap for one, gap in zip(thetas, gaps, strict=True)
    ]
    assert np.ptp(differences) <= 1e-10
    assert (gaps >= 0).all()
    assert gaps.max() > 1


@pytest.mark.parametrize("name", [name for name in LOSSES if math.isfinite(LOSSES[name][0].curvature)])
def test_lines_of_smooth_losses_touch_them_and_gaps_are_below_a_parabola(name):
    """A <= (theta - theta_0)' S (theta - theta_0)/2 with S = sum w M (x) x x'."""
    data, spec, _ = problem(name)
    start = 0.3 * points(spec, 1)[0]
    lines = tangents(data, spec, spec, start)
    assert lines.gaps(start[np.newaxis])[0] <= 1e-12
    moved = points(spec, 40) - start
    scores = Objective(data, replace(spec, clip=None), np.zeros(spec.dim)).gram()
    tables = moved.reshape(len(moved), spec.outputs, -1)
    if spec.outputs > 1:
        tables = tables - tables.mean(axis=1, keepdims=True)
    parabolas = spec.loss.curvature / 2 * np.einsum("nki,ij,nkj->n", tables, scores, tables)
    for scale in (1.0, 1e-3):
        gaps = lines.gaps(start + scale * moved)
        assert (gaps <= scale**2 * parabolas * (1 + 1e-9) + 1e-11).all()


@pytest.mark.parametrize("name", ["hinge", "clipped hinge", "pinball", "clipped pinball"])
def test_gaps_of_kinked_losses_exceed_those_of_smooth_ones_by_a_quarter_of_h(name):
    data, spec, soft = problem(name)
    theta = minimize(data, soft, 0.1)
    weight = sum(float(block.weights.sum()) for block in data.blocks())
    gaps = tangents(data, spec, soft, theta).gaps(points(spec, 60))
    softer = tangents(data, soft, soft, theta).gaps(points(spec, 60))
    assert (gaps <= softer + weight * RISE * soft.loss.width + 1e-9).all()
    near = theta + 1e-4 * points(spec, 60)
    assert (tangents(data, spec, soft, theta).gaps(near) > 0).all()


@pytest.mark.parametrize("loss", KINKED, ids=str)
@pytest.mark.parametrize("limits", [None, 0.05, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("width", [0.01, 0.5, 3.0])
def test_smooth_losses_are_just_above_kinked_ones(loss, limits, width):
    """f <= f_h <= f + h/4, and the slopes of f_h are those of f at its kink; the quarter is needed."""
    soft, z = smooth_loss(loss, width), np.linspace(-5, 5, 40_001)
    limited = None if limits is None else np.full(len(z), limits)
    rise = soft.value(z, limited) - loss.value(z, limited)
    assert rise.min() >= -1e-12
    assert rise.max() <= RISE * width * (1 + 1e-12)
    if limits in (None, 1.0):
        assert rise.max() >= 0.99 * RISE * width
    ends = loss.derivative(np.array([-5.0, 5.0]), None if limits is None else np.full(2, limits))
    slopes = soft.derivative(z, limited)
    assert slopes.min() >= ends[0] - 1e-15
    assert slopes.max() <= ends[1] + 1e-15
    assert np.abs(np.diff(slopes) / np.diff(z)).max() <= soft.curvature * (1 + 1e-6)


def test_the_smooth_pinball_loss_has_its_derivatives():
    loss, z = SmoothPinball(0.8, 0.3), np.array([-2.0, -0.31, -0.1, 0.05, 0.29, 1.0])
    for limits in (None, np.full(len(z), 0.4)):
        for value, first in ((loss.value, loss.derivative), (loss.derivative, loss.second)):
            numerical = (value(z + 1e-6, limits) - value(z - 1e-6, limits)) / 2e-6
            assert numerical == pytest.approx(first(z, limits), abs=1e-7)
    assert loss.at_zero >= loss.value(np.array([-1.0, 1.0])).max()
    assert [one.width for one in SmoothPinball(0.8, 0.01).softer] == [one.width for one in HuberHinge(0.01).softer]


def test_other_losses_are_not_smoothed():
    with pytest.raises(AssumptionError, match="no smooth loss above 'logistic'"):
        smooth_loss(Logistic(), 0.1)
    with pytest.raises(ParameterError, match="width must be"):
        SmoothPinball(0.5, 0.0)


@pytest.mark.parametrize(
    "name", ["logistic", "clipped logistic", "hinge", "pinball", "clipped pinball", "clipped squared"]
)
def test_gaps_are_as_exact_as_is_said(name):
    """Against 60 digits, from the same lines; the bound is no more than a million times the error."""
    data, spec, soft = problem(name, rows=60)
    theta = minimize(data, soft, 0.1)
    lines, thetas = tangents(data, spec, soft, theta), 20 * points(spec, 3)
    length = float(max(np.linalg.norm(thetas, axis=1).max(), np.linalg.norm(theta)))
    errors = [
        abs(float(exact_gap(data, spec, lines, one) - mp.mpf(gap)))
        for one, gap in zip(thetas, lines.gaps(thetas), strict=True)
    ]
    bound = value_error(spec, 60, length)
    assert max(errors) <= bound
    assert max(errors) >= bound / 1e6


def exact_gap(data, spec, lines, theta):
    with mp.workdps(60):
        plain, total = Plain(data, spec, np.zeros(spec.dim), mp.mpf), mp.mpf(0)
        for i in range(data.rows):
            score = sum(a * mp.mpf(float(b)) for a, b in zip(plain.rows[i], theta, strict=True))
            limit = plain.limits[i]
            slope, touched = (mp.mpf(float(part[i])) for part in lines.lines[0][:2])
            y = mp.mpf(float(plain.targets[i]))
            gap = exact_loss(spec.loss, score, y, limit) - exact_loss(spec.loss, touched, y, limit)
            total += mp.mpf(float(plain.weights[i])) * (gap - slope * (score - touched))
        return total


def exact_loss(loss, score, y, limit):
    match loss:
        case Logistic():
            turn = -mp.inf if limit >= 1 else mp.log((1 - limit) / limit)
            inner = max(y * score, turn) if limit < 1 else y * score
            return mp.log1p(mp.exp(-inner)) + min(limit, mp.mpf(1)) * (inner - y * score)
        case Hinge():
            return min(limit, mp.mpf(1)) * max(1 - y * score, 0)
        case Pinball():
            z, q = score - y, mp.mpf(loss.q)
            return min(limit / max(q, 1 - q), 1) * max(-q * z, (1 - q) * z)
    inner = min(abs(score - y), limit)
    return inner * (abs(score - y) - inner / 2)
