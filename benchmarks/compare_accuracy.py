# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of private models of tables by dperm, diffprivlib and interpret (DP-EBM), with default settings.

    pip install -r benchmarks/peers.txt
    python benchmarks/compare_accuracy.py --data DIR --diffprivlib-python .venv-diffprivlib/bin/python

Three tables:

- pure epsilon, replace one record: logistic regression of dperm (delta = 0) and of diffprivlib, which implements the
  same theorem family [Chaudhuri, Monteleoni & Sarwate 2011]. Both get the same rows of norm 1 and no other setting;
- (epsilon, delta = 1e-5), add or remove one record: logistic regression of dperm and DP-EBM, an additive model, which
  has a larger class of functions. DP-EBM gets the raw columns with public types and bounds, as its documentation
  recommends, dperm the encoded rows;
- linear regression, median R^2 on scikit-learn's diabetes data and on California housing (from ``--data``).
  diffprivlib gives pure epsilon; dperm is run with delta = 0 and with delta = 1e-5. Bounds of columns and labels are
  public constants, the same for both (benchmarks/convex_regression_data.py); rows are clipped to them beforehand, also
  those of the test part.

Data: Adult (its own test part) and credit default (a quarter for testing) from ``--data`` or DPERM_DATA; without them
scikit-learn's breast cancer data. dperm's default rules were fixed with the test part of Adult in view; credit default
was not used for them. Every fit has a guarantee of its own: a benchmark is no release.
"""

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from compare_setup import Diffprivlib, add_diffprivlib, mean_and_error, median_score, print_header, print_table
from convex_regression_data import Regression, california, diabetes
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression

from dperm.errors import DpermWarning
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-5
NAMES = ("model", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "CPU s per fit")
Fit = Callable[[float], float]
"""Score on the test part of one fit at epsilon."""


@dataclass(frozen=True)
class Data:
    """Rows of norm 1 for linear models, and raw columns with public bounds for DP-EBM."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    raw: pd.DataFrame | None = None
    raw_test: pd.DataFrame | None = None
    raw_y: np.ndarray | None = None
    raw_y_test: np.ndarray | None = None
    bounds: dict[str, tuple[float, float]] | None = None

    def save(self, directory: Path) -> str:
        """Write the rows for the process of diffprivlib."""
        path = directory / f"{self.name.split(',')[0].replace(' ', '_')}_{self.X.shape[1]}.npz"
        np.savez(path, X=self.X, y=self.y, X_test=self.X_test, y_test=self.y_test)
        return str(path)


def unit_norm(X: np.ndarray) -> np.ndarray:
    """Rows scaled to norm 1."""
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def adult(directory: Path, file: str, how: str) -> Data:
    """UCI Adult, complete rows; see the notes beside the data for both encodings."""
    with np.load(directory / file) as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(int)
        test = stored["is_test"].astype(bool) if "is_test" in stored else None
    table = pd.read_csv(directory / "adult.csv.gz").dropna()
    if test is None:
        with np.load(directory / "adult_jmlr2011.npz") as stored:
            test = stored["is_test"].astype(bool)
    part = table["split"] == "test"
    columns, high = table.drop(columns=["income", "split"]), (table["income"].str.startswith(">50K")).astype(int)
    bounds = {"age": (17, 90), "fnlwgt": (0, 1_490_400), "education-num": (1, 16)}
    bounds |= {"capital-gain": (0, 99_999), "capital-loss": (0, 4_356), "hours-per-week": (1, 99)}
    raw = (columns[~part], columns[part], high[~part].to_numpy(), high[part].to_numpy(), bounds)
    return Data(f"Adult, {how}", X[~test], y[~test], X[test], y[test], *raw)


def credit(directory: Path) -> Data:
    """UCI credit default: numbers clipped to round public bounds, codes one-hot, rows of norm 1."""
    table = pd.read_csv(directory / "credit.csv.gz")
    labels, table = table.pop("default").to_numpy().astype(int), table
    months = range(1, 7)
    bounds: dict[str, tuple[float, float]] = {"LIMIT_BAL": (0, 800_000), "AGE": (20, 80)}
    bounds |= {f"PAY_{month}": (-2, 8) for month in months}
    bounds |= {f"BILL_AMT{month}": (-10_000, 500_000) for month in months}
    bounds |= {f"PAY_AMT{month}": (0, 100_000) for month in months}
    codes = {"SEX": (1, 2), "EDUCATION": range(7), "MARRIAGE": range(4)}
    columns = [2 * (table[name].clip(*b) - b[0]) / (b[1] - b[0]) - 1 for name, b in bounds.items()]
    columns += [(table[name] == code).astype(float) for name, levels in codes.items() for code in levels]
    X, order = unit_norm(np.column_stack(columns)), np.random.default_rng(0).permutation(len(labels))
    test, train = order[: len(order) // 4], order[len(order) // 4 :]
    raw = table.astype(dict.fromkeys(codes, str))
    return Data(
        *("credit default", X[train], labels[train], X[test], labels[test]),
        *(raw.iloc[train], raw.iloc[test], labels[train], labels[test], bounds),
    )


def breast_cancer() -> Data:
    """scikit-learn's: columns divided by their largest value, which is fine for a benchmark only."""
    data = load_breast_cancer()
    X, order = unit_norm(data.data / data.data.max(axis=0)), np.random.default_rng(0).permutation(len(data.target))
    test, train = order[:142], order[142:]
    raw = pd.DataFrame(data.data, columns=data.feature_names)
    bounds = {name: (0.0, float(raw[name].max())) for name in raw}
    raws = (raw.iloc[train], raw.iloc[test], data.target[train], data.target[test], bounds)
    return Data("breast cancer", X[train], data.target[train], X[test], data.target[test], *raws)


def own_logistic(data: Data, **promised: Any) -> Fit:
    """Logistic regression of dperm: bound and classes declared, everything else by default."""

    def fit(epsilon: float) -> float:
        classes = (int(data.y.min()), int(data.y.max()))
        model = PrivateLogisticRegression(epsilon=epsilon, feature_norm=1.0, classes=classes, **promised)
        return float(model.fit(data.X, data.y).score(data.X_test, data.y_test))

    return fit


def additive(data: Data) -> Fit:
    """DP-EBM with its defaults; types and bounds of all columns are declared."""
    from interpret.privacy import DPExplainableBoostingClassifier

    assert data.raw is not None and data.bounds is not None
    types = ["continuous" if name in data.bounds else "nominal" for name in data.raw]

    def fit(epsilon: float) -> float:
        model = DPExplainableBoostingClassifier(
            epsilon=epsilon, delta=DELTA, feature_types=types, privacy_bounds=data.bounds, n_jobs=1
        )
        return float(model.fit(data.raw, data.raw_y).score(data.raw_test, data.raw_y_test))

    return fit


def row(name: str, fit: Fit, runs: int, shown: Callable[[list[float]], str] = mean_and_error) -> list[str]:
    """Scores at every epsilon, and the CPU seconds of a fit in this process."""
    start, cells = time.process_time(), []
    for epsilon in EPSILONS:
        cells.append(shown([fit(epsilon) for _ in range(runs)]))
    seconds = (time.process_time() - start) / (runs * len(EPSILONS))
    return [name, *cells, f"{seconds:.3f}"]


def peer_row(
    peer: Diffprivlib, task: str, path: str, *, runs: int, shown: Callable[[list[float]], str] = mean_and_error
) -> list[str]:
    """The same for diffprivlib, in its own process."""
    cells, seconds = [], []
    for epsilon in EPSILONS:
        answers = [peer.ask(task, path=path, epsilon=epsilon) for _ in range(runs)]
        cells.append(shown([answer["score"] for answer in answers]))
        seconds += [answer["seconds"] for answer in answers]
    name = f"diffprivlib `{'Logistic' if task == 'logistic' else 'Linear'}Regression`"
    return [name, *cells, f"{np.mean(seconds):.3f}"]


def reference(data: Data) -> str:
    """Scores without privacy, and of the larger class."""
    plain = LogisticRegression(max_iter=2000).fit(data.X, data.y).score(data.X_test, data.y_test)
    share = float(np.mean(data.y_test == data.y_test.max()))
    size = f"{len(data.y):,} records, {data.X.shape[1]} encoded columns"
    return f"{data.name} ({size}; without privacy {plain:.3f}, larger class {max(share, 1 - share):.3f})"


def pure_table(data: Data, peer: Diffprivlib | None, directory: Path, *, runs: int) -> None:
    """Logistic regression under pure epsilon by both libraries."""
    rows = [row("dperm `PrivateLogisticRegression`", own_logistic(data, delta=0.0), runs)]
    rows += [peer_row(peer, "logistic", data.save(directory), runs=runs)] if peer is not None else []
    print_table(f"Accuracy, pure ε, replace one; {reference(data)}", NAMES, rows)


def approximate_table(data: Data, binned: Data | None, options: argparse.Namespace) -> None:
    """Logistic regression of dperm and DP-EBM."""
    promised = {"delta": DELTA, "adjacency": "add_remove"}
    rows = [row("dperm `PrivateLogisticRegression`", own_logistic(data, **promised), options.runs)]
    if binned is not None:
        rows.append(row("dperm, numbers in public bins", own_logistic(binned, **promised), options.runs))
    rows.append(row("interpret DP-EBM", additive(data), options.additive_runs))
    print_table(f"Accuracy, (ε, 1e-5), add or remove one; {reference(data)}", NAMES, rows)


def regression_table(data: Regression, peer: Diffprivlib | None, directory: Path, *, runs: int) -> None:
    """R^2 of linear regression by both libraries."""
    low, high = np.array(data.bounds).T
    data = replace(data, X=np.clip(data.X, low, high), X_test=np.clip(data.X_test, low, high))
    path = directory / f"{data.name}.npz"
    split = {"X": data.X, "y": data.y, "X_test": data.X_test, "y_test": data.y_test}
    np.savez(path, **split, bounds=np.array(data.bounds), label_range=data.label_range)

    def own(delta: float) -> Fit:
        def fit(epsilon: float) -> float:
            public = {"bounds": list(data.bounds), "label_range": data.label_range}
            model = PrivateLinearRegression(epsilon=epsilon, delta=delta, **public)
            return float(model.fit(data.X, data.y).score(data.X_test, data.y_test))

        return fit

    rows = [row("dperm, δ = 0", own(0.0), runs, median_score), row("dperm, δ = 1e-5", own(DELTA), runs, median_score)]
    rows += [peer_row(peer, "linear", str(path), runs=runs, shown=median_score)] if peer is not None else []
    plain = LinearRegression().fit(data.X, data.y).score(data.X_test, data.y_test)
    size = f"{data.n:,} records, {data.X.shape[1]} columns"
    title = f"Median R², replace one; {data.name} ({size}; without privacy {plain:.3f})"
    print_table(title, NAMES, rows)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_diffprivlib(parser)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of the data")
    parser.add_argument("--runs", type=int, default=10, help="fits of each linear model at each epsilon")
    parser.add_argument("--only", choices=("classification", "regression"), help="one of the two parts")
    parser.add_argument("--additive-runs", type=int, default=3, help="fits of DP-EBM at each epsilon")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DpermWarning)  # noise that dominates: the tables show it
    warnings.simplefilter("ignore", UserWarning)
    peer = Diffprivlib(options.diffprivlib_python) if options.diffprivlib_python else None
    print_header(("scikit-learn", "interpret"), peer)
    sets, binned = [breast_cancer()], None
    if options.data:
        directory = Path(options.data)
        sets = [adult(directory, "adult_jmlr2011.npz", "scaled numbers and one-hot codes"), credit(directory)]
        binned = adult(directory, "adult_v2.npz", "numbers in public bins")
    regressions = [diabetes()]
    if options.data:
        regressions.append(california(Path(options.data) / "california.csv.gz"))
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "regression":
            for data in sets:
                pure_table(data, peer, Path(folder), runs=options.runs)
            for data in sets:
                approximate_table(data, binned if data is sets[0] else None, options)
        if options.only != "classification":
            for each in regressions:
                regression_table(each, peer, Path(folder), runs=options.runs)
    if peer is not None:
        peer.close()


if __name__ == "__main__":
    main()
