# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What accuracy to expect, by trials of the estimators themselves."""

import json
import math

import numpy as np
import pytest

from dperm.errors import ConversionError, ParameterError
from dperm.planner import ExpectedAccuracy, Shape, Trials, expected_accuracy, simulated_table
from dperm.planner.expectation import _interval, accuracy, estimator, noise_of, plan_of
from dperm.planner.trials import is_rough, repeats_for, require_trials, scaled_goal, simulated_rows
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for

SHAPE = Shape(1500, 6, balance=0.3, baseline=0.85)
FEW = Trials(5)


def goal(epsilon: float) -> ApproxDP:
    return ApproxDP(epsilon, 1e-6, "replace_one")


def test_accuracy_grows_with_epsilon_up_to_that_without_privacy() -> None:
    found = [expected_accuracy(SHAPE, goal(epsilon), trials=FEW) for epsilon in (0.05, 0.5, 5.0, 100.0)]
    means = [each.mean for each in found]
    assert means[0] < means[1] < means[2] < means[3] + 0.003
    assert abs(found[-1].loss) < 0.006
    assert found[0].loss > 0.05
    assert abs(found[0].without_privacy - 0.85) < 0.01


def test_a_declared_baseline_is_what_privacy_is_compared_with() -> None:
    easy = expected_accuracy(Shape(1500, 6, baseline=0.9), goal(2.0), trials=FEW)
    hard = expected_accuracy(Shape(1500, 6, baseline=0.65), goal(2.0), trials=FEW)
    assert easy.without_privacy > 0.88 > 0.67 > hard.without_privacy
    assert easy.mean > hard.mean + 0.1


def test_a_seed_determines_what_is_expected() -> None:
    first, again = (expected_accuracy(SHAPE, goal(1.0), trials=Trials(4, seed=3)) for _ in range(2))
    assert first == again
    assert first.mean != expected_accuracy(SHAPE, goal(1.0), trials=Trials(4, seed=4)).mean


def test_the_interval_surrounds_the_mean_and_holds_for_other_seeds() -> None:
    found = [expected_accuracy(SHAPE, goal(1.0), trials=Trials(6, seed)) for seed in range(10)]
    middle = np.mean([each.mean for each in found])
    assert all(each.low < each.mean < each.high for each in found)
    assert sum(each.low <= middle <= each.high for each in found) >= 7


def test_what_is_expected_is_plain_data() -> None:
    found = expected_accuracy(SHAPE, goal(1.0), trials=FEW)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["loss"] == pytest.approx(found.without_privacy - found.mean)
    assert data["simulated_at"] == 1500
    assert data["used"] == "objective"
    assert isinstance(found, ExpectedAccuracy)


def test_multiplying_the_public_norm_changes_no_expected_accuracy() -> None:
    scaled = Shape(1500, 6, balance=0.3, baseline=0.85, feature_norm=1000.0)
    assert expected_accuracy(scaled, goal(1.0), trials=FEW).mean == pytest.approx(
        expected_accuracy(SHAPE, goal(1.0), trials=FEW).mean, abs=1e-12
    )


@pytest.mark.parametrize("bad", [1.0, "goal", ApproxDP(0.0, 1e-6, "replace_one"), PureDP(1000.0, "replace_one")])
def test_a_goal_that_no_estimator_takes_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match=r"^goal must"):
        expected_accuracy(SHAPE, bad)  # type: ignore[arg-type]


def test_a_method_that_is_not_known_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^method must"):
        expected_accuracy(SHAPE, goal(1.0), method="sufficient")


def test_a_method_without_the_guarantee_says_so() -> None:
    with pytest.raises(ConversionError, match="gradient"):
        expected_accuracy(SHAPE, PureDP(1.0, "replace_one"), method="gradient")


@pytest.mark.parametrize("method", ["auto", "gradient"])
def test_under_add_remove_the_n_of_the_shape_is_declared(method: str) -> None:
    asked, shape = ApproxDP(1.0, 1e-6, "add_remove"), Shape(23_456, 5)
    model = estimator(shape, asked, method)
    assert model.n == 23_456 and plan_of(shape, asked, method) == model.plan(dim=5)


@pytest.mark.parametrize("method", ["objective", "output", "gradient", "sgd", "bolt_on"])
def test_the_noise_of_a_plan_falls_with_epsilon(method: str) -> None:
    less, more = (noise_of(plan_of(Shape(5000, 5), goal(epsilon), method)) for epsilon in (2.0, 0.2))
    assert less is not None
    assert more is not None
    assert 0 < less < more


def test_a_posterior_has_no_noise_that_is_added() -> None:
    assert noise_of(plan_of(Shape(2000, 3), goal(1.0), "posterior")) is None


def test_large_tables_are_tried_with_fewer_rows_and_as_much_noise_beside_them() -> None:
    shape = Shape(10_000_000, 50)
    size = simulated_rows(shape, "objective")
    assert 10_000 < size.n < shape.n
    factor = shape.n / size.n
    scaled = scaled_goal(goal(0.01), factor)
    assert isinstance(scaled, ApproxDP)
    assert mu_for(scaled.epsilon, 1e-6) == pytest.approx(factor * mu_for(0.01, 1e-6), rel=1e-9)
    assert scaled_goal(PureDP(0.01, "add_remove"), factor) == PureDP(0.01 * factor, "add_remove")
    assert scaled_goal(goal(0.01), 1.0) == goal(0.01)
    assert repeats_for(size, "objective", Trials(100)) < 100


def test_tables_with_few_rows_for_each_column_are_said_to_be_rough() -> None:
    wide, narrow = Shape(1_000_000, 2000), Shape(1_000_000, 20)
    assert is_rough(wide, simulated_rows(wide, "objective").n)
    assert not is_rough(narrow, simulated_rows(narrow, "gradient").n)
    assert not is_rough(Shape(50, 20), 50)


@pytest.mark.parametrize("asked", [goal(0.2), PureDP(0.4, "replace_one")])
def test_fewer_rows_with_a_larger_epsilon_stand_for_all_of_them(asked: ApproxDP | PureDP) -> None:
    def mean(shape: Shape, aim: ApproxDP | PureDP) -> float:
        return float(
            np.mean([accuracy(simulated_table(shape, s), shape, aim, method="auto", seed=s) for s in range(8)])
        )

    direct = mean(Shape(20_000, 10, balance=0.3), asked)
    scaled = mean(Shape(5_000, 10, balance=0.3), scaled_goal(asked, 4.0))
    assert abs(direct - scaled) < 0.006
    assert math.isfinite(direct)


def test_shapes_that_no_small_table_stands_for_are_refused() -> None:
    """With fewer than four rows for each column even the sign of what privacy costs would be wrong."""
    with pytest.raises(ParameterError, match=r"^n and dim must.*simulate=False"):
        expected_accuracy(Shape(8000, 8000), goal(1.0), trials=FEW)
    require_trials(Shape(500, 8000))  # is tried as it is
    require_trials(Shape(10**9, 1000))


def test_the_interval_is_that_of_student() -> None:
    """Of 4 scores with mean .5 and deviation .1: .5 -+ 3.18245 * .1 / 2 (t of 3 degrees, 97.5 %)."""
    low, high = _interval([0.5 - 0.1 * math.sqrt(1.5), 0.5, 0.5, 0.5 + 0.1 * math.sqrt(1.5)])
    assert low == pytest.approx(0.5 - 3.18244630528371 * 0.05, rel=1e-9)
    assert high == pytest.approx(0.5 + 3.18244630528371 * 0.05, rel=1e-9)
