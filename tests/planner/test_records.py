# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many rows: by what is proved, by trials, and as curves."""

import json
import math

import pytest

from dperm.errors import ConversionError, ParameterError
from dperm.planner import Shape, Trials, curves, records_for, records_for_accuracy
from dperm.planner.expectation import ExpectedAccuracy, expected_accuracy
from dperm.privacy import ApproxDP, PureDP
from dperm.theory import best_method

GOAL = ApproxDP(1.0, 1e-6, "replace_one")
FEW = Trials.quick()


@pytest.mark.parametrize("goal", [GOAL, PureDP(0.5, "add_remove")])
def test_the_bound_is_reached_with_the_proved_number_of_rows_and_not_with_one_less(goal: ApproxDP | PureDP) -> None:
    found = records_for(0.05, 10, goal, reference_norm=2.0)
    delta = goal.delta if isinstance(goal, ApproxDP) else 0.0
    public = {"epsilon": goal.epsilon, "delta": delta, "adjacency": goal.adjacency}
    problem = Shape(2, 10).problem(2.0)
    assert best_method(problem, found.n, **public).bound <= 0.05  # type: ignore[arg-type]
    assert best_method(problem, found.n - 1, **public).bound > 0.05  # type: ignore[arg-type]
    assert f"{found.n:,} records suffice" in found.sentence
    assert "one-sided" in found.sentence
    assert (found.fact.code, found.fact.values["n"], str(found.fact)) == ("records.proved", found.n, found.sentence)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["n"] == found.n


@pytest.mark.parametrize(("name", "value"), [("target_excess", 0.0), ("dim", 0), ("reference_norm", -1.0)])
def test_what_makes_no_sense_is_refused_by_name(name: str, value: float) -> None:
    asked: dict[str, object] = {"target_excess": 0.1, "dim": 3, "goal": GOAL, name: value}
    with pytest.raises(ParameterError, match=f"^{name} must"):
        records_for(**asked)  # type: ignore[arg-type]


def test_privacy_costs_little_with_the_rows_that_trials_ask_for_and_more_with_a_third() -> None:
    found = records_for_accuracy(Shape(500, 3, balance=0.4), GOAL, loss=0.03, trials=Trials(6))
    assert found.n is not None
    enough, few = (
        expected_accuracy(Shape(n, 3, balance=0.4), GOAL, trials=Trials(25, seed=9))
        for n in (2 * found.n, found.n // 3)
    )
    assert enough.loss < 0.03 < few.loss
    assert f"About {found.n:,} records" in found.sentence
    assert [point.at for point in found.points] == sorted(point.at for point in found.points)
    json.dumps(found.as_dict(), allow_nan=False)


def test_the_rows_that_are_needed_do_not_depend_on_where_the_search_begins() -> None:
    first, second = (
        records_for_accuracy(
            Shape(n, 2, balance=0.4), ApproxDP(1.0, 1e-4, "replace_one"), loss=0.05, trials=Trials(4)
        ).n
        for n in (40, 1000)
    )
    assert first is not None
    assert second is not None
    assert 0.5 < first / second < 2


def test_an_easy_demand_needs_no_more_than_ten_rows_for_each_column() -> None:
    found = records_for_accuracy(Shape(200, 3), ApproxDP(50.0, 1e-3, "replace_one"), loss=0.15, trials=FEW)
    assert found.n == 30
    assert "No more than 30 records" in found.sentence


def stated_accuracy(
    shape: Shape, goal: ApproxDP | PureDP, *, method: str, trials: Trials, signal: object
) -> ExpectedAccuracy:
    """Accuracy by a formula in the place of trials: noise costs less with more rows, small tables lose 3e-4 anyway."""
    mean = 0.9 - min(shape.dim / (shape.n * goal.epsilon), 0.3) - 3e-4
    rows = min(shape.n, 30_000)
    return ExpectedAccuracy(
        method, "objective", mean, mean - 1e-5, mean + 1e-5, 0.01, 0.9, 0.5, trials.repeats, rows, trials.seed
    )


@pytest.fixture(params=["stated", pytest.param("simulated", marks=pytest.mark.slow)])
def accuracy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search with stated accuracies, which takes no time, and with simulated tables."""
    if request.param == "stated":
        monkeypatch.setattr("dperm.planner.records.expected_accuracy", stated_accuracy)


@pytest.mark.usefixtures("accuracy")
def test_a_loss_that_small_tables_have_without_noise_cannot_be_told() -> None:
    """Long tables are tried with fewer rows, on which a fit loses a little however small the noise is."""
    found = records_for_accuracy(Shape(10**6, 120), ApproxDP(1.0, 1e-6, "replace_one"), loss=2e-4, trials=FEW)
    assert found.n is None
    assert found.floor is not None
    assert found.floor.loss > found.loss
    assert found.cannot_tell
    assert "Trials cannot tell" in found.sentence
    assert found.fact.code == "records.cannot_tell"
    assert "with --target_excess." in found.fact.describe(lambda name, value: f"--{name}")
    assert "More than" not in found.sentence
    assert found.as_dict()["cannot_tell"] is True


@pytest.mark.usefixtures("accuracy")
def test_noise_that_drowns_any_number_of_rows_is_told() -> None:
    found = records_for_accuracy(Shape(10**7, 3), PureDP(1e-8, "replace_one"), loss=0.02, trials=FEW)
    assert found.n is None
    assert not found.cannot_tell
    assert "More than 1,000,000,000 records" in found.sentence
    assert found.fact.code == "records.by_trial"


def test_an_excess_that_coefficients_of_zero_have_is_refused() -> None:
    least = Shape(2, 3).problem().zero_excess
    for excess in (least, 0.5, 2.0):
        with pytest.raises(ParameterError, match=r"^target_excess must be below 0\.388.*without any data"):
            records_for(excess, 3, GOAL)
    assert records_for(0.99 * least, 3, GOAL).n > 1


@pytest.mark.parametrize(("shape", "loss"), [(Shape(200, 3), 0.17), (Shape(200, 3, balance=0.99), 0.01)])
def test_a_loss_that_guessing_has_is_refused(shape: Shape, loss: float) -> None:
    with pytest.raises(ParameterError, match=r"^loss must be below .*guessing the larger class"):
        records_for_accuracy(shape, GOAL, loss=loss, trials=FEW)


@pytest.mark.parametrize("loss", [0.0, 0.9])
def test_a_loss_that_makes_no_sense_is_refused(loss: float) -> None:
    with pytest.raises(ParameterError, match=r"^loss must"):
        records_for_accuracy(Shape(200, 3), GOAL, loss=loss, trials=FEW)


def test_curves_show_accuracy_with_its_band_between_guessing_and_no_privacy() -> None:
    shape = Shape(1000, 3, balance=0.3, baseline=0.85)
    told: list[float] = []
    found = curves(
        shape, GOAL, trials=Trials(4, progress=told.append), counts=(300, 1000, 5000), epsilons=[0.1, 1.0, 9.0]
    )
    assert found.over_n.curves[0].x == (300, 1000, 5000)
    assert found.over_epsilon.curves[0].x == (0.1, 1.0, 9.0)
    for picture in (found.over_n, found.over_epsilon):
        private, plain, guess = picture.curves
        assert private.y[0] < private.y[-1] < plain.y[-1] + 0.01
        assert all(low < y < high for low, y, high in zip(private.low, private.y, private.high, strict=True))
        assert set(guess.y) == {0.7}
        assert all(map(math.isfinite, (*private.y, *plain.y)))
    assert told == sorted(told)
    assert told[-1] == 1.0
    json.dumps(found.as_dict(), allow_nan=False)


def test_the_classes_of_a_curve_stay_as_easy_as_at_the_declared_number_of_rows() -> None:
    shape = Shape(300, 10, baseline=0.8)
    found = curves(shape, GOAL, trials=FEW, counts=(300, 20_000), epsilons=(1.0,))
    few, many = (point.expected.without_privacy for point in found.points_n)
    assert few == pytest.approx(0.8, abs=0.02)
    assert many > few + 0.005


def test_curves_have_seven_points_around_what_was_asked_for() -> None:
    found = curves(Shape(300, 2), ApproxDP(1.0, 1e-4, "replace_one"), trials=Trials(2))
    assert [point.at for point in found.points_n] == [30, 75, 150, 300, 600, 1200, 3000]
    assert [point.at for point in found.points_epsilon] == [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0]


def test_curves_of_a_method_without_the_guarantee_are_refused() -> None:
    with pytest.raises(ConversionError):
        curves(Shape(300, 2), PureDP(1.0, "replace_one"), method="sgd", trials=FEW)
    with pytest.raises(ParameterError, match=r"^counts must"):
        curves(Shape(300, 2), GOAL, trials=FEW, counts=())


def test_old_names_still_work_with_a_warning() -> None:
    import dperm.planner

    for old, new in {"Point": "AccuracyPoint", "Expected": "ExpectedAccuracy", "made_up": "simulated_table"}.items():
        with pytest.warns(DeprecationWarning, match=f"use dperm.planner.{new}"):
            assert getattr(dperm.planner, old) is getattr(dperm.planner, new)
