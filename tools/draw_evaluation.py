# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/evaluation.md: the plots of a private evaluation of synthetic records.

    python tools/draw_evaluation.py [FOLDER]

The noise has a seed, so the pictures stay the same.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def main(folder: Path) -> None:
    """Fit and evaluate a model, and write its three plots."""
    import matplotlib as mpl

    from dperm.sklearn import PrivateLogisticRegression, PrivateMetrics

    mpl.use("agg")
    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)  # noqa: TID251  # synthetic records
    X = random.normal(size=(12_000, 3))
    y = (X @ [1.0, 2.0, 0.5] + random.logistic(size=12_000) > 1).astype(int)
    model = PrivateLogisticRegression(epsilon=1.0, classes=(0, 1), feature_norm=4.0, random_state=1)
    model.fit(X[:8000], y[:8000])
    measured = PrivateMetrics(epsilon=1.0, delta=1e-6, random_state=2).evaluate(model, X[8000:], y[8000:])
    measured.plot_roc(path=folder / "evaluation-roc.png")
    measured.plot_calibration(path=folder / "evaluation-calibration.png")
    measured.plot_confusion(path=folder / "evaluation-confusion.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
