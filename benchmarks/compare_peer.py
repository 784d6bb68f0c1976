# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""diffprivlib in an environment of its own, for benchmarks/compare_*.py.

Reads one JSON request per line on stdin and writes one JSON answer per line on stdout. It needs
``diffprivlib==0.6.6 scikit-learn==1.5.2`` and nothing of dperm; see benchmarks/peers.txt.
"""

import json
import os
import sys
import time
import warnings
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import diffprivlib
import numpy as np
import sklearn
from diffprivlib import mechanisms, models


def versions() -> dict[str, str]:
    """Versions of the peer and of the libraries that it uses."""
    found = {"diffprivlib": diffprivlib.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    return {**found, "python": sys.version.split()[0]}


def logistic(path: str, epsilon: float) -> dict[str, float]:
    """One fit of LogisticRegression with its defaults; rows have norm 1, which it is told."""
    with np.load(path) as stored:
        X, y, X_test, y_test = (stored[name] for name in ("X", "y", "X_test", "y_test"))
    start = time.process_time()
    model = models.LogisticRegression(epsilon=epsilon, data_norm=1.0).fit(X, y)
    seconds = time.process_time() - start
    return {"score": float(model.score(X_test, y_test)), "seconds": seconds}


def naive_bayes(path: str, epsilon: float) -> dict[str, float]:
    """One fit of GaussianNB with the public bounds of the columns."""
    with np.load(path) as stored:
        X, y, X_test, y_test, bounds = (stored[name] for name in ("X", "y", "X_test", "y_test", "bounds"))
    start = time.process_time()
    model = models.GaussianNB(epsilon=epsilon, bounds=(bounds[:, 0], bounds[:, 1])).fit(X, y)
    seconds = time.process_time() - start
    return {"score": float(model.score(X_test, y_test)), "seconds": seconds}


def linear(path: str, epsilon: float) -> dict[str, float]:
    """One fit of LinearRegression with its defaults and the public bounds of columns and labels.

    The second score is that of predictions clipped to the range of the labels.
    """
    with np.load(path) as stored:
        X, y, X_test, y_test, bounds = (stored[name] for name in ("X", "y", "X_test", "y_test", "bounds"))
        label_range = tuple(float(value) for value in stored["label_range"])
    start = time.process_time()
    model = models.LinearRegression(epsilon=epsilon, bounds_X=(bounds[:, 0], bounds[:, 1]), bounds_y=label_range)
    model.fit(X, y)
    seconds = time.process_time() - start
    clipped = np.clip(model.predict(X_test), *label_range)
    rest, whole = ((y_test - clipped) ** 2).sum(), ((y_test - y_test.mean()) ** 2).sum()
    score = float(model.score(X_test, y_test))
    return {"score": score, "clipped_score": float(1 - rest / whole), "seconds": seconds}


def draws(mechanism: str, value: float, count: int) -> dict[str, Any]:
    """Releases of ``value`` at sensitivity 1, as hexadecimal floats, and their CPU seconds."""
    maker = {
        "Laplace": lambda: mechanisms.Laplace(epsilon=1.0, sensitivity=1.0),
        "Snapping": lambda: mechanisms.Snapping(epsilon=1.0, sensitivity=1.0, lower=-100.0, upper=100.0),
        "GaussianAnalytic": lambda: mechanisms.GaussianAnalytic(epsilon=1.0, delta=1e-6, sensitivity=1.0),
    }[mechanism]()
    start = time.process_time()
    values = [maker.randomise(value) for _ in range(count)]
    seconds = time.process_time() - start
    return {"values": [float(each).hex() for each in values], "seconds": seconds}


TASKS = {"versions": versions, "logistic": logistic, "naive_bayes": naive_bayes, "linear": linear, "draws": draws}


def main() -> None:
    """Answer requests until stdin ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(TASKS[request.pop("task")](**request)), flush=True)


if __name__ == "__main__":
    main()
