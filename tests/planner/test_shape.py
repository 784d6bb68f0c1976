# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public numbers that a plan starts from."""

import json
import math

import pytest

from dperm.errors import ParameterError
from dperm.planner import Shape, Trials


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 1),
        ("n", 10**10),
        ("n", 2.5),
        ("dim", 0),
        ("dim", 10**5),
        ("balance", 0.0),
        ("balance", 1.0),
        ("balance", math.nan),
        ("baseline", 1.5),
        ("baseline", 0.7),
        ("baseline", 1.0),
        ("baseline", "good"),
        ("feature_norm", 0.0),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_by_its_name(name: str, value: object) -> None:
    numbers: dict[str, object] = {"n": 100, "dim": 3, "balance": 0.3, name: value}
    with pytest.raises(ParameterError, match=f"^{name} must"):
        Shape(**numbers)  # type: ignore[arg-type]


def test_the_majority_is_the_larger_class() -> None:
    assert Shape(100, 3, balance=0.3).majority == pytest.approx(0.7)
    assert Shape(100, 3, balance=0.8).majority == pytest.approx(0.8)


def test_the_constants_of_the_bounds_count_the_constant_column() -> None:
    problem = Shape(100, 3, feature_norm=2.0).problem(reference_norm=5.0)
    radius = 2.0 * math.hypot(1.0, 0.25)
    assert problem.dim == 4
    assert problem.lipschitz == pytest.approx(radius)
    assert problem.smoothness == pytest.approx(radius**2 / 4)
    assert problem.reference_norm == 5.0


def test_a_shape_is_plain_data() -> None:
    assert json.loads(json.dumps(Shape(100, 3, baseline=0.8).as_dict()))["baseline"] == 0.8


@pytest.mark.parametrize(("name", "value"), [("repeats", 1), ("repeats", 10**6), ("seed", -1), ("seed", 0.5)])
def test_trials_that_make_no_sense_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must"):
        Trials(**{name: value})  # type: ignore[arg-type]


def test_a_part_of_the_work_tells_its_own_share() -> None:
    told: list[float] = []
    part = Trials(progress=told.append).part(1, 4)
    part.progress(0.5)
    assert told == [0.375]
