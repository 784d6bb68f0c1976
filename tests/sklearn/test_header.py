# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The reservation of every estimator holds the digest of the header that its model file has."""

import numpy as np
import pandas as pd
import pytest
from families import FAMILIES

from dperm import ApproxDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.ledger import Ledger
from dperm.sklearn.files import stored_header_digest
from dperm.sklearn.header import HEADER


def booked_and_stored(path, family, X, **parameters):
    adjacency = parameters.setdefault("adjacency", "replace_one")
    ledger = Ledger.open(path / "a.ledger", ApproxDP(9.0, 1e-5, adjacency), dataset="d", blocks=1)
    family.make(epsilon=2.0, delta=1e-6, ledger=ledger, **parameters).fit(X, family.y).save(path / "model.dperm")
    return ledger.bookings()[0].facts[HEADER], stored_header_digest(path / "model.dperm")


@pytest.mark.parametrize("name", FAMILIES)
def test_the_header_of_the_file_is_the_booked_one(tmp_path, name):
    booked, stored = booked_and_stored(tmp_path, FAMILIES[name], FAMILIES[name].X)
    assert booked == stored


@pytest.mark.parametrize(
    "parameters",
    [
        {"bounds": np.array([[-1, 1]] * 3), "C": np.float64(0.5), "clip": 1},
        {"class_weight": {0: 1, 1: np.float32(0.5)}, "fit_intercept": False, "classes": np.array([0, 1])},
        {"adjacency": "add_remove", "n": np.int64(2000), "method": "gradient"},
        {"random_state": np.int64(3)},
    ],
    ids=["bounds", "weights", "n", "seed"],
)
@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_parameters_of_every_type_have_one_digest(tmp_path, parameters):
    family = FAMILIES["logistic"]
    frame = pd.DataFrame(family.X, columns=["a", "b", "c"])
    booked, stored = booked_and_stored(tmp_path, family, frame, **parameters)
    assert booked == stored


def test_a_budget_in_memory_takes_it_too():
    family = FAMILIES["logistic"]
    budget = MemoryBudget(ApproxDP(9.0, 1e-5, "replace_one"), blocks=1)
    family.make(epsilon=2.0, delta=1e-6, ledger=budget).fit(*family.data)
    assert budget.spent["epsilon"] > 0
