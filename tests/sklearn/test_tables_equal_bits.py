# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Equal bits of seeded fits for all kinds of tables, cuts, places of the rows and numbers of threads (T203)."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc
from threadpoolctl import threadpool_limits

from dperm.data import bounded, table
from dperm.methods.finite import FiniteClass
from dperm.sklearn import PrivateHuberRegressor, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression

pytestmark = [
    pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore:the noise of method"),
]
ROWS, COLUMNS = 4000, 3
NAMES = [f"x{place}" for place in range(COLUMNS)]
CUTS = {"1": (0, ROWS), "3": (0, 7, 1900, ROWS), "16": (0, 0, *range(100, 1400, 100), 3999, ROWS)}
BOUNDS: dict[str, Any] = {"bounds": [(-1, 1)] * COLUMNS}
NORM: dict[str, Any] = {"feature_norm": 0.8}
GRID = [[1.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.1], [-1.0, 0.0, 1.0, 0.0]]
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "objective": (PrivateLogisticRegression, {"classes": [0, 1], "method": "objective", **BOUNDS}),
    "output, weights": (
        PrivateLogisticRegression,
        {"classes": [0, 1], "method": "output", "class_weight": {1: 2.5}, **NORM},
    ),
    "gradient": (PrivateLogisticRegression, {"classes": [0, 1], "method": "gradient", **BOUNDS}),
    "sgd": (PrivateLogisticRegression, {"classes": [0, 1], "method": "sgd", **NORM}),
    "softmax": (PrivateLogisticRegression, {"classes": [0, 1, 2], "method": "objective", **BOUNDS}),
    "Huber hinge": (PrivateLinearSVC, {"classes": [0, 1], "method": "objective", **NORM}),
    "finite": (PrivateLogisticRegression, {"classes": [0, 1], "method": FiniteClass(GRID), "delta": 0.0, **BOUNDS}),
    "sufficient": (PrivateLinearRegression, {"label_range": (0, 2), "method": "sufficient", **BOUNDS}),
    "squared": (PrivateLinearRegression, {"label_range": (0, 2), "method": "objective", **NORM}),
    "Huber": (PrivateHuberRegressor, {"label_range": (0, 2), "method": "output", **BOUNDS}),
}


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "SAMPLE_CELLS", (2**10, 3000))


@pytest.fixture(scope="module")
def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(203)
    X = rng.uniform(-1, 1, size=(ROWS, COLUMNS)).astype(np.float32)
    return X, np.clip(np.rint(X.sum(axis=1) + rng.normal(size=ROWS) + 1), 0, 2).astype(int)


def model(name: str, adjacency: str) -> Any:
    estimator, options = MODELS[name]
    return estimator(epsilon=2.0, adjacency=adjacency, n=ROWS, random_state=5, **options)


def labels(name: str, y: np.ndarray) -> np.ndarray:
    return np.minimum(y, 1) if MODELS[name][1].get("classes") == [0, 1] else y


def files(folder: Path, kind: str, X: np.ndarray, y: np.ndarray, cut: str) -> Any:
    """Write the rows as files of a kind, cut into row groups, and return their pattern."""
    columns = pa.table({**{name: X[:, place] for place, name in enumerate(NAMES)}, "x3": y})
    parts = [columns.slice(start, stop - start) for start, stop in pairwise(CUTS[cut])]
    for place, part in enumerate(parts):
        if kind == "npy":
            np.save(folder / f"{place:02}.npy", np.column_stack([part.column(name) for name in columns.column_names]))
        elif kind == "arrow":
            with ipc.new_file(folder / f"{place:02}.arrow", part.schema) as writer:
                writer.write_table(part)
        else:
            pq.write_table(part, folder / f"{place:02}.parquet", row_group_size=900)
    return folder / f"*.{kind}"


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_has_the_same_bits_from_every_table(name, adjacency, arrays, tmp_path):
    X, y = arrays[0], labels(name, arrays[1])
    expected = model(name, adjacency).fit(X, y)
    for place, (kind, cut, options) in enumerate(
        [
            ("parquet", "1", {"engine": "serial"}),
            ("parquet", "16", {"memory": "1KB", "scratch": tmp_path}),
            ("npy", "3", {"memory": "1KB", "engine": "serial"}),
            ("arrow", "16", {"memory": "20KB", "scratch": tmp_path, "engine": "serial"}),
        ]
    ):
        folder = tmp_path / str(place)
        folder.mkdir()
        with threadpool_limits(1 + place % 2, "blas"):
            found = model(name, adjacency).fit(table(files(folder, kind, X, y, cut), **options), "x3")
        assert np.array_equal(found.coef_, expected.coef_), (kind, cut, options)
        assert np.array_equal(found.intercept_, expected.intercept_)


def test_dask_arrays_and_frames_have_the_same_bits(arrays):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client

    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        for name in ("objective", "sgd", "softmax", "sufficient"):
            X, y = arrays[0], labels(name, arrays[1])
            expected = model(name, "add_remove").fit(X, y).coef_
            frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(y=y), npartitions=5)
            chunks = CUTS["3"]
            blocks = tuple(stop - start for start, stop in pairwise(chunks))
            pair = da.from_array(X, chunks=(blocks, (1, 2))), da.from_array(y, chunks=(blocks,))
            assert np.array_equal(model(name, "add_remove").fit(frame[NAMES], frame["y"]).coef_, expected)
            assert np.array_equal(model(name, "add_remove").fit(*pair).coef_, expected)
