# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simultaneous training of LiRA's shadow models, compared with scikit-learn; and LiRA compared with a loss threshold.

CPU time on one thread, medians of alternating repetitions: 256 logistic regressions on random halves of 10,000 x 100
synthetic records. Targets: float32 within 0.6 s and ten times as fast as LogisticRegression (lbfgs, default
tolerance), coefficients within 1e-3 of scikit-learn's at a tolerance of 1e-8. Run: ``python benchmarks/audit_lira.py``.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from dperm.audit.membership import lira_logistic, paired_coins, shadow_logistic

SECONDS, RATIO, DISTANCE = 0.6, 10.0, 1e-3
COMPARED = 16
"""Models whose coefficients are compared."""


def records(n: int, dim: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian records with labels from a logistic model."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, dim)), rng.normal(size=dim)
    return X, np.where(rng.random(n) < expit(2 * X @ w / np.linalg.norm(w)), 1.0, -1.0)


def one_by_one(X: np.ndarray, signs: np.ndarray, mask: np.ndarray, tolerance: float = 1e-4) -> np.ndarray:
    """The same models, fitted one by one by scikit-learn."""
    model = LogisticRegression(fit_intercept=False, tol=tolerance, max_iter=1000)
    return np.column_stack([model.fit(X[half], signs[half]).coef_[0] for half in mask.T])


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def contest(console: Console, options: argparse.Namespace) -> bool:
    """Time all contenders and print the table; return whether the targets are met."""
    X, signs = records(options.records, options.columns)
    mask = paired_coins(options.records, options.models, seed=1)
    contenders = {
        "scikit-learn, one by one": lambda: one_by_one(X, signs, mask),
        "at once, float32": lambda: shadow_logistic(X, signs, mask),
        "at once, float64": lambda: shadow_logistic(X, signs, mask, dtype="float64"),
    }
    shadow_logistic(X[:500], signs[:500], mask[:500])  # loads all code
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in track(range(options.repeats), console=Console(stderr=True), transient=True):
        for name, work in contenders.items():
            times[name].append(seconds(work))
    exact = one_by_one(X, signs, mask[:, :COMPARED], tolerance=1e-8)
    distance = float(np.abs(exact - shadow_logistic(X, signs, mask)[:, :COMPARED]).max())
    plain, quick = median(times["scikit-learn, one by one"]), median(times["at once, float32"])
    title = f"{options.models} logistic regressions on halves of {options.records:,} x {options.columns}"
    table = Table("models", "CPU s, median (least .. most)", "quicker by", title=title)
    for name, found in times.items():
        spread = f"{median(found):.3f} ({min(found):.3f} .. {max(found):.3f})"
        table.add_row(name, spread, f"{plain / median(found):.1f}")
    console.print(table)
    met = quick <= SECONDS and plain / quick >= RATIO and distance <= DISTANCE
    console.print(f"largest difference of a coefficient: {distance:.1e}; bars {'met' if met else '[red]MISSED[/red]'}")
    return met


def attack(console: Console) -> bool:
    """Compare LiRA with a loss threshold on 300 records of 100 columns; return whether it is clearly better."""
    X, signs = records(300, 100)
    taken = time.process_time()
    found = lira_logistic(X, signs, models=256, seed=1)
    table = Table("attack", "AUC", "TPR at FPR 1 %", "at 0.1 %", title="256 models on halves of 300 x 100, lambda = 1")
    for name, roc in (("LiRA", found.roc), ("one threshold on the loss", found.baseline)):
        table.add_row(name, f"{roc.auc:.3f}", f"{roc.tpr_at(0.01):.3f}", f"{roc.tpr_at(0.001):.4f}")
    console.print(table)
    console.print(f"training, attack and curves: {time.process_time() - taken:.2f} s CPU")
    return found.roc.auc > found.baseline.auc + 0.05 and found.roc.tpr_at(0.01) > 3 * found.baseline.tpr_at(0.01)


def main() -> None:
    """Print both tables; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--models", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    console = Console(width=120)
    passed = [contest(console, options), attack(console)]
    raise SystemExit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
