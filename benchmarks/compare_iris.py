# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""diffprivlib's README example and its migrated version: accuracy on iris, over random splits.

    python benchmarks/compare_iris.py --diffprivlib-python .venv-diffprivlib/bin/python

120 records are for training and 30 for testing. diffprivlib fits `GaussianNB`, dperm `PrivateLogisticRegression`, with
the same public bounds. Both repeat over the same splits. Each fit has a guarantee of its own.
"""

import argparse
import os
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from compare_setup import Diffprivlib, add_diffprivlib, mean_and_error, print_header, print_table
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from dperm.errors import DpermWarning
from dperm.sklearn import PrivateLogisticRegression

EPSILONS = (0.1, 1.0, 3.0, 10.0, 100.0)
BOUNDS = ((4.3, 7.9), (2.0, 4.4), (1.1, 6.9), (0.1, 2.5))


def own_score(split: list[np.ndarray], epsilon: float, delta: float) -> float:
    """Accuracy of one private fit."""
    X, X_test, y, y_test = split
    model = PrivateLogisticRegression(epsilon=epsilon, delta=delta, bounds=list(BOUNDS), classes=(0, 1, 2))
    return float(model.fit(X, y).score(X_test, y_test))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_diffprivlib(parser)
    parser.add_argument("--splits", type=int, default=40, help="random splits")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DpermWarning)
    peer = Diffprivlib(options.diffprivlib_python) if options.diffprivlib_python else None
    print_header(("scikit-learn",), peer)
    X, y = load_iris(return_X_y=True)
    splits = [train_test_split(X, y, test_size=0.2, random_state=seed) for seed in range(options.splits)]
    rows = []
    for name, delta in (("dperm, δ = 0", 0.0), ("dperm, δ = 1e-5", 1e-5)):
        cells = [mean_and_error([own_score(split, epsilon, delta) for split in splits]) for epsilon in EPSILONS]
        rows.append([name, *cells])
    if peer is not None:
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / f"{index}.npz") for index in range(len(splits))]
            for path, (X_train, X_test, y_train, y_test) in zip(paths, splits, strict=True):
                np.savez(path, X=X_train, y=y_train, X_test=X_test, y_test=y_test, bounds=np.array(BOUNDS))
            cells = []
            for epsilon in EPSILONS:
                scores = [peer.ask("naive_bayes", path=path, epsilon=epsilon)["score"] for path in paths]
                cells.append(mean_and_error(scores))
            rows.append(["diffprivlib `GaussianNB`", *cells])
        peer.close()
    title = f"Accuracy on iris, 120 records for training, {options.splits} splits"
    print_table(title, ("model", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)), rows)


if __name__ == "__main__":
    main()
