# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attribute inference (Fredrikson et al. 2014): right more often than the marginals, and intervals that say so."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from dperm import PureDP
from dperm.audit.attributes import (
    Attribute,
    AttributeInference,
    GaussianTarget,
    LogisticTarget,
    attribute_inference,
    infer_attribute,
)
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Interval
from dperm.erm.minimize import minimize
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods import OutputPerturbation

SMOKER = Attribute(0, (0.0, 1.0), (0.7, 0.3))
COLUMNS, ROWS = 60, 80


def records(count, seed, effect=0.0, noise=1.0):
    """A smoker or not, other columns, and a target on which smoking has an effect."""
    coins = np.random.default_rng(seed)
    x = coins.choice([-1.0, 1.0], (count, COLUMNS))
    x[:, 0] = coins.random(count) < 0.3
    weights = np.concatenate([[effect], np.full(COLUMNS - 1, 0.1)])
    return x, x @ weights + noise * coins.normal(size=count), weights


# What the attack does


def test_the_posterior_is_as_by_hand():
    w, x, y = np.array([2.0, -1.0]), np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.5]]), np.array([1.0, -1.0, 0.4])
    found = infer_attribute(w, x, y, attribute=SMOKER, law=GaussianTarget(0.8), intercept=0.2)
    for row in range(3):
        posterior = [
            share * norm.pdf(y[row], 2.0 * value - x[row, 1] + 0.2, 0.8)
            for value, share in zip(SMOKER.values, SMOKER.marginals, strict=True)
        ]
        assert found[row] == SMOKER.values[int(np.argmax(posterior))]
    assert set(found) == {0.0, 1.0}


def test_of_classes_too():
    w, x = np.array([4.0, 0.0]), np.zeros((2, 2))
    even = Attribute(0, (-1.0, 1.0), (0.5, 0.5))
    assert infer_attribute(w, x, [-1.0, 1.0], attribute=even, law=LogisticTarget()).tolist() == [-1.0, 1.0]
    rare = Attribute(0, (-1.0, 1.0), (0.999, 0.001))
    assert infer_attribute(w, x, [-1.0, 1.0], attribute=rare, law=LogisticTarget()).tolist() == [-1.0, -1.0]


def test_the_attribute_itself_is_not_looked_at():
    x, y, w = records(200, 1, effect=1.0)
    hidden = x.copy()
    hidden[:, 0] = 1 - hidden[:, 0]
    first, second = (infer_attribute(w, rows, y, attribute=SMOKER, law=GaussianTarget(1.0)) for rows in (x, hidden))
    assert np.array_equal(first, second)


MUTANTS = [
    ("np.log(share) + law", "law"),
    ("== attribute.column, 0.0, w)", "== attribute.column, w, w)"),
    ("targets - scores", "scores"),
]


@pytest.mark.parametrize(("old", "new"), MUTANTS, ids=[new for _, new in MUTANTS])
def test_a_wrong_posterior_is_noticed(assert_killed, old, new):
    def check(module):
        x, y, w = records(4000, 2, effect=1.0)
        attribute = module.Attribute(0, (0.0, 1.0), (0.7, 0.3))
        found = module.infer_attribute(w, x, y, attribute=attribute, law=module.GaussianTarget(1.0))
        rest = y - x[:, 1:] @ w[1:]
        assert np.array_equal(found == 1, rest > 0.5 + np.log(7 / 3))

    assert_killed(check, "dperm.audit.attributes", old, new)


# What it gains


def test_a_model_with_an_effect_betrays_the_attribute_of_everybody():
    x, y, w = records(2000, 3, effect=3.0)
    found = attribute_inference(w, x, y, attribute=SMOKER, law=GaussianTarget(1.0))
    assert found.advantage == (found.correct - found.baseline) / found.records > 0.15
    assert 0.1 < found.interval[0] < found.advantage < found.interval[1]


def test_a_model_without_effect_gains_nothing():
    x, y, w = records(2000, 4)
    found = attribute_inference(w, x, y, attribute=SMOKER, law=GaussianTarget(1.0))
    assert found.correct == found.baseline
    assert found.interval[0] <= 0 <= found.interval[1]


@pytest.mark.parametrize("effect", [0.5, 2.0], ids=str)
def test_intervals_miss_as_rarely_as_they_say(effect):
    big = attribute_inference(*weights_first(records(200_000, 5, effect)), attribute=SMOKER, law=GaussianTarget(1.0))
    missed = 0
    for seed in range(200):
        some = weights_first(records(100, 100 + seed, effect))
        low, high = attribute_inference(*some, attribute=SMOKER, law=GaussianTarget(1.0), confidence=0.9).interval
        missed += not low <= big.advantage <= high
    assert missed <= 37  # 10 % of 200, and four deviations


def weights_first(made):
    x, y, w = made
    return w, x, y


# What it tells of those it learned from


def learned(x, y, goal=None):
    """Ridge regression with hardly any regularisation, exact or by output perturbation."""
    space = FeatureSpace(COLUMNS, norm=COLUMNS**0.5, intercept=False)
    spec = ProblemSpec(Squared(), space.radius, space.size, len(y), 1.0, clip=100 * space.radius)
    data = enforce(x, y, space, Interval(-1.0, 1.0))
    if goal is None:
        return minimize(data, spec, 1e-6)
    return OutputPerturbation().plan(spec, goal).run(lambda: data).value


def told_beyond(goal):
    """Accuracy on training records less that on others, over ten trainings."""
    counts = np.zeros((2, 5), dtype=int)
    for seed in range(10):
        x, y, _ = records(2 * ROWS, seed, effect=1.0)
        y = np.clip(y / 8, -1, 1)
        w = learned(x[:ROWS], y[:ROWS], goal)
        deviation = GaussianTarget(max(float(np.std(y[:ROWS] - x[:ROWS] @ w)), 1e-3))
        for group, rows in enumerate((slice(0, ROWS), slice(ROWS, None))):
            one = attribute_inference(w, x[rows], y[rows], attribute=SMOKER, law=deviation)
            counts[group] += (one.records, one.correct, one.baseline, one.gained, one.lost)
    members, others = (AttributeInference(*map(int, group), 0.999) for group in counts)
    return members.correct / members.records - others.correct / others.records, members.beyond(others)


def test_an_overfitted_model_tells_more_of_its_own_records():
    difference, interval = told_beyond(None)
    assert difference > 0.1
    assert interval[0] > 0


def test_a_private_model_does_not():
    difference, interval = told_beyond(PureDP(0.5, "replace_one"))
    assert abs(difference) < 0.15
    assert interval[0] <= 0 <= interval[1]


# Small things


def test_inferences_are_plain_data():
    found = AttributeInference(100, 80, 70, 15, 5, 0.95)
    assert json.loads(json.dumps(found.as_dict()))["advantage"] == 0.1


X, Y = np.zeros((3, 2)), np.zeros(3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Attribute(0, (0.0, 1.0), (0.5, 0.4)), "add up to 1"),
        (lambda: Attribute(0, (0.0, 0.0), (0.5, 0.5)), "different numbers"),
        (lambda: Attribute(0, (0.0, 1.0), (1.0, 0.0)), "marginals must be"),
        (lambda: Attribute(-1, (0.0, 1.0), (0.5, 0.5)), "column must be"),
        (lambda: Attribute(0, ("a", "b"), (0.5, 0.5)), "values must be a list of finite numbers, got an array of text"),
        (lambda: Attribute(0, (0.0, np.nan), (0.5, 0.5)), "values must be a list of finite numbers, got NaN"),
        (lambda: Attribute(0, (0.0, 1.0), 0.5), "marginals must be a list of finite numbers"),
        (lambda: infer_attribute([1, 1], X, Y, attribute=None, law=LogisticTarget()), "attribute must be an Attribute"),
        (lambda: infer_attribute([1, 1], X, Y, attribute=SMOKER, law=None), "law must be GaussianTarget"),
        (lambda: infer_attribute([1, 1], X, Y, attribute=SMOKER, law=LogisticTarget()), "targets must be -1 or"),
        (
            lambda: attribute_inference([1, 1], X + 7, Y, attribute=SMOKER, law=GaussianTarget(1.0)),
            "rows must have one of attribute.values in column 0",
        ),
        (lambda: GaussianTarget(0.0), "deviation must be"),
        (lambda: infer_attribute([1.0], X, Y, attribute=SMOKER, law=LogisticTarget()), "rows must have a column"),
        (lambda: infer_attribute([1, np.nan], X, Y, attribute=SMOKER, law=LogisticTarget()), "coefficients must be"),
        (
            lambda: infer_attribute([1, 1], X, Y, attribute=Attribute(2, (0, 1), (0.5, 0.5)), law=LogisticTarget()),
            "attribute.column must be one of the 2 columns",
        ),
        (
            lambda: attribute_inference([1, 1], X, Y, attribute=SMOKER, law=LogisticTarget(), confidence=95),
            "confidence must be",
        ),
    ],
    ids=[
        "sum",
        "equal",
        "zero",
        "column",
        "text",
        "NaN value",
        "one share",
        "no attribute",
        "no law",
        "classes",
        "truth",
        "deviation",
        "shape",
        "NaN",
        "beyond",
        "confidence",
    ],
)
def test_bad_attributes_are_refused(call, words):
    with pytest.raises(ParameterError, match=words):
        call()
