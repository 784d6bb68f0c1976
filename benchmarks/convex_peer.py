# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic and linear regression of diffprivlib, run by benchmarks/convex.py in a separate environment.

It needs Python with ``diffprivlib==0.6.6 scikit-learn==1.5.2`` (newer releases of scikit-learn break its import) and
does not import dperm. It prints one JSON object: accuracy and AUC for each run, or R^2 with ``--regression``, and CPU
seconds.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import diffprivlib
import sklearn
from convex_data import Split, real
from convex_regression_data import Regression, regression
from sklearn.metrics import roc_auc_score


def classified(split: Split, epsilon: float) -> dict[str, float]:
    """Fit once with diffprivlib's defaults and a data norm of 1."""
    # Rows of float32 have norms up to 1 + 1e-7: the peer would warn and scale them down, which changes nothing.
    start = time.process_time()
    model = diffprivlib.models.LogisticRegression(epsilon=epsilon, data_norm=1.0).fit(split.X, split.y)
    seconds = time.process_time() - start
    auc = roc_auc_score(split.y_test, model.decision_function(split.X_test))
    return {"accuracy": float(model.score(split.X_test, split.y_test)), "auc": float(auc), "seconds": seconds}


def regressed(data: Regression, epsilon: float) -> dict[str, float]:
    """Fit once with diffprivlib's defaults and the same public bounds as dperm."""
    low, high = (list(side) for side in zip(*data.bounds, strict=True))
    start = time.process_time()
    model = diffprivlib.models.LinearRegression(epsilon=epsilon, bounds_X=(low, high), bounds_y=data.label_range)
    model.fit(data.X, data.y)
    seconds = time.process_time() - start
    return {"r2": float(model.score(data.X_test, data.y_test)), "seconds": seconds}


def main() -> None:
    """Fit the requested number of times and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--set", help="one of the real sets of --data")
    parser.add_argument("--regression", help="a regression instead")
    parser.add_argument("--california", type=Path)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.regression:
        data = regression(options.regression, options.california)
        runs = [regressed(data, options.epsilon) for _ in range(options.runs)]
    else:
        split = real(options.data, options.set)
        runs = [classified(split, options.epsilon) for _ in range(options.runs)]
    print(json.dumps({"diffprivlib": diffprivlib.__version__, "scikit-learn": sklearn.__version__, "runs": runs}))


if __name__ == "__main__":
    main()
