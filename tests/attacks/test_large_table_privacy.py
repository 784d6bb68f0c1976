# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Black-box audits of fits on row groups, and of two mistakes that they find (T203, T206, T207).

The record under attack has a gradient of the largest norm, and the other records have none, so a single record decides
the released coefficient up to the noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dperm import ApproxDP
from dperm.audit.black_box import audit, repeated
from dperm.data import table
from dperm.data.bounded import CHUNK
from dperm.data.grid_rows import GridRows, RowGrid
from dperm.data.large_tables import Table
from dperm.data.local_engines import SerialEngine
from dperm.data.passes import Place, Sums, TablePasses
from dperm.data.row_encoder import ColumnReader, EncodedGroup, RowEncoder
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.engines import DaskEngine
from dperm.methods.sampled_gradient import SampledGradient
from dperm.sklearn import PrivateLogisticRegression

CONFIDENCE = 0.999
SIZES = (5, 1, 3)
"""Rows of three row groups; the record under attack is alone in the second one."""
BOTH = pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])


def grouped(rows: np.ndarray, engine: Any = "serial") -> Table:
    """Return a table of three row groups; the last ones may be empty."""
    whole = table(rows, engine=engine)
    cuts = np.cumsum([0, *SIZES])
    group = whole.groups[0]
    parts = tuple(
        type(group)(f"block {place}", rows[start:stop], group.names)
        for place, (start, stop) in enumerate(pairwise(cuts))
    )
    return Table(parts, whole.columns, whole.engine, whole.memory)


def neighbours(adjacency: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels: rows of zeros, and one row of norm 1 that is replaced or left out."""
    rows = np.zeros((sum(SIZES), 2))
    rows[:, 1] = np.arange(len(rows)) % 2
    rows[SIZES[0]] = 1.0, 1.0
    other = rows.copy()
    other[SIZES[0]] = -1.0, 1.0
    return rows, other if adjacency == "replace_one" else np.delete(rows, SIZES[0], axis=0)


def objective(epsilon: float, adjacency: str, engine: Any = "serial") -> Any:
    def train(rows: np.ndarray) -> float:
        model = PrivateLogisticRegression(
            epsilon=epsilon,
            delta=1e-5,
            adjacency=adjacency,
            method="objective",
            feature_norm=1.0,
            classes=[0, 1],
            fit_intercept=False,
            n=sum(SIZES),
        )
        return float(model.fit(grouped(rows, engine), "x1").coef_[0, 0])

    return train


def finding(train: Any, adjacency: str, *, claimed: Any, runs: int) -> Any:
    subject = repeated(train, *neighbours(adjacency), claimed=claimed)
    return audit(subject, runs=runs, confidence=CONFIDENCE, seed=14)


@pytest.mark.slow
@BOTH
def test_objective_perturbation_on_three_row_groups_keeps_its_claim(adjacency):
    found = finding(objective(4.0, adjacency), adjacency, claimed=ApproxDP(4.0, 1e-5, adjacency), runs=3000)
    assert not found.violation
    assert found.bound.epsilon > 0.5


@dataclass
class CountedTwice:
    """Engine with a mistake: the second row group counts twice, under another id of its own."""

    name = "counted twice"

    def hold(self, encode: Any, groups: Any) -> Any:
        return SerialEngine().hold(Doubled(encode), groups)


@dataclass
class Doubled:
    """Encoder that returns the rows of a group of one row as if it had eight copies of them."""

    encode: Any

    def __call__(self, group: Any) -> EncodedGroup:
        found = self.encode(group)
        if found.rows != 1:
            return found
        rows = found.encoded.at(np.zeros(8, dtype=np.int64))
        return EncodedGroup(found.id, rows, found.problems, found.checksum)


@pytest.mark.slow
def test_a_row_group_that_counts_several_times_is_caught():
    found = finding(
        objective(1.0, "add_remove", CountedTwice()), "add_remove", claimed=ApproxDP(1.0, 1e-5, "add_remove"), runs=3000
    )
    assert found.violation


@dataclass(frozen=True)
class NoiseInTheTask:
    """Kernel with a mistake: each task adds the noise to its own sum, and a row group without rows has no task."""

    sigma: float

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        value = rows.cells.astype(np.float64).sum() * rows.grid.unit + np.random.default_rng().normal() * self.sigma
        return Sums(sum=np.array([round(value * 2.0**20)], dtype=np.int64))


def with_noise_in_tasks(rows: np.ndarray) -> float:
    own = rows[np.abs(rows[:, 0]) > 0]  # one row group holds the record, and there is no other one
    space = FeatureSpace(1, norm=1.0, intercept=False)
    encoder = RowEncoder(space, Classes((0.0, 1.0)), ColumnReader(("x0",), "x1"), ("x0",))
    held = SerialEngine().hold(encoder, table(own, engine="serial").groups)
    passes = TablePasses(held, ("block 0",))
    passes.read_manifest()
    sums = passes.run(NoiseInTheTask(4.0))  # enough for the claim, were it drawn in every run
    passes.close()
    return 0.0 if sums is None else float(sums["sum"][0] / 2.0**20)


def test_noise_inside_a_task_is_caught():
    found = finding(with_noise_in_tasks, "add_remove", claimed=ApproxDP(1.0, 1e-5, "add_remove"), runs=400)
    assert found.violation


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as found:
        yield found


@pytest.mark.slow
def test_sampled_gradient_descent_on_two_workers_keeps_its_claim(client):
    """Two steps at rate 1/2; every run encodes the table on the workers and draws a new key."""

    def train(rows: np.ndarray) -> float:
        model = PrivateLogisticRegression(
            epsilon=4.0,
            delta=1e-3,
            adjacency="add_remove",
            method=SampledGradient(rate=0.5, steps=2),
            feature_norm=1.0,
            classes=[0, 1],
            fit_intercept=False,
            n=sum(SIZES),
        )
        return float(model.fit(grouped(rows, DaskEngine(client)), "x1").coef_[0, 0])

    found = finding(train, "add_remove", claimed=ApproxDP(4.0, 1e-3, "add_remove"), runs=600)
    assert not found.violation
    assert found.bound.epsilon > 0.1


def test_the_row_groups_are_those_of_the_table():
    rows, _ = neighbours("replace_one")
    assert [len(group.array) for group in grouped(rows).groups] == list(SIZES)
    assert CHUNK > max(SIZES)
    assert RowGrid(FeatureSpace(1, norm=1.0)).rows(rows[:, :1], np.zeros(len(rows)))[0].count == len(rows)
