# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Equal bits of minimisers (T203): for every cut of the rows, order of answers, sample size and number of threads."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from engine_stand_ins import InProcess
from plain_objective import size_at
from scipy import sparse
from threadpoolctl import threadpool_limits

from dperm.data.bounded import BoundedData, enforce
from dperm.data.grid_rows import GridRows
from dperm.data.passes import TablePasses, checksum_of
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.losses import HuberHinge, Logistic, SmoothedHinge
from dperm.erm.minimize import minimize
from dperm.erm.residual_losses import Huber, Squared
from dperm.erm.rounding import attainable_tolerance
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec

LOSSES = {
    "logistic": (Logistic(), None),
    "clipped logistic": (Logistic(), 0.3),
    "Huber hinge": (HuberHinge(0.1), None),
    "smoothed hinge": (SmoothedHinge(0.5), 0.4),
    "clipped squared": (Squared(), 0.4),
    "Huber": (Huber(0.5), None),
    "softmax": (Softmax(3), None),
}


@dataclass(frozen=True)
class Held:
    """Row group in the memory of an engine, in chunks."""

    id: str
    held: GridRows
    height: int = 1500
    problems: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        return self.held.count

    @property
    def checksum(self) -> int:
        return checksum_of(self.held)

    def chunks(self) -> Iterator[tuple[int, GridRows]]:
        for start in range(0, self.rows, self.height):
            yield start, self.held.part(start, start + self.height)


class Shuffled:
    """Answers in another order in each pass, some of them twice."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, answers: list[Any], number: int) -> list[Any]:
        return [answers[place] for place in self.rng.permutation(len(answers) * 2) % len(answers)]


def as_table(data: BoundedData, cuts: list[int], height: int = 1500) -> BoundedData:
    """The same rows in row groups of a local engine."""
    rows = data.in_memory()
    bounds = pairwise([0, *cuts, rows.count])
    groups = [Held(f"group {place}", rows.part(*ends), height) for place, ends in enumerate(bounds)]
    passes = TablePasses(
        InProcess(Shuffled(len(cuts))).hold(lambda group: group, groups), tuple(one.id for one in groups)
    )
    passes.read_manifest()
    return BoundedData(data.space, data.target, passes)


def problem(name: str, matrix: Any, rows: int) -> tuple[BoundedData, ProblemSpec, np.ndarray]:
    (loss, clip), rng = LOSSES[name], np.random.default_rng(17)
    space = FeatureSpace(5, norm=1.1)
    X = np.where(rng.random((rows, 5)) < 0.5, rng.normal(size=(rows, 5)), 0.0)
    scores = X @ rng.normal(size=(5, loss.outputs)) + 0.5 * rng.normal(size=(rows, loss.outputs))
    if loss.labels is LabelKind.NUMBER:
        data = enforce(matrix(X), scores[:, 0], space, Interval(-2.0, 2.0))
    else:
        labels = scores.argmax(axis=1) if loss.outputs > 1 else (scores[:, 0] > 0).astype(int)
        data = enforce(matrix(X), labels, space, Classes(tuple(range(max(loss.outputs, 2)))))
    spec = ProblemSpec(loss, space.radius, loss.outputs * space.size, regularization=0.5, clip=clip)
    return data, spec, rng.normal(size=spec.dim)


@pytest.mark.parametrize("matrix", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cells", [(2**21, 2**24), (2**11, 2**12)], ids=["all rows in the sample", "a small sample"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_minimiser_is_a_function_of_the_rows_to_the_last_bit(name, cells, matrix, monkeypatch):
    """In memory and in row groups of 0 to all rows, answered in any order, on one and two threads."""
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", cells)
    data, spec, linear = problem(name, matrix, 7001)
    assert (data.sample(spec.width).rows < 3000) == (cells[0] < 2**21)
    tolerance = max(1e-9 * data.rows * spec.lipschitz, attainable_tolerance(spec, data.rows, 10.0))
    wanted = minimize(data, spec, tolerance, linear)
    assert size_at(data, spec, wanted, linear) <= tolerance
    for cuts, height in (([], 7001), ([0, 0, 1, 2000, 2048, 6999, 7001], 999), (list(range(50, 7000, 431)), 100)):
        table = as_table(data, cuts, height)
        for threads in (1, 2) if not cuts else (2,):
            with threadpool_limits(threads, "blas"):
                assert minimize(table, spec, tolerance, linear).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_the_least_attainable_tolerance_is_met_with_equal_bits(name, monkeypatch):
    """The last digits count: coefficients are long, and Newton's method ends on numbers longer than doubles."""
    monkeypatch.setattr("dperm.data.bounded.SAMPLE_CELLS", (2**11, 2**12))
    data, spec, linear = problem(name, np.array, 4000)
    linear = 1e6 * linear
    tolerance = attainable_tolerance(spec, data.rows, float(np.linalg.norm(linear)) * (1 + 1e-12))
    wanted = minimize(data, spec, tolerance, linear)
    assert minimize(as_table(data, [1, 777, 778, 3000]), spec, tolerance, linear).tobytes() == wanted.tobytes()


def test_one_other_row_changes_the_bits():
    """So equal bits are not those of a result that forgets rows."""
    data, spec, linear = problem("logistic", np.array, 3000)
    rows = data.in_memory()
    others = data.at(np.append(np.arange(1, 3000), 1))
    assert rows.codes[0] >= 0
    assert minimize(data, spec, 1e-6, linear).tobytes() != minimize(others, spec, 1e-6, linear).tobytes()
