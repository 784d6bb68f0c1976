# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every private linear model with data that it can learn from, and everything about them declared."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dperm.sklearn import (
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
)

ROWS = 2000
SMOOTH = ("auto", "objective", "output", "gradient", "sgd", "bolt_on", "posterior")
KINKED = ("auto", "gradient", "sgd")


@dataclass(frozen=True)
class Family:
    """An estimator, what is declared about its labels, labels for the rows of ``X``, and the score it should reach.

    ``options`` are other parameters: softmax fits are quicker by objective perturbation than by what "auto" chooses.
    """

    estimator: type
    declared: dict[str, Any]
    y: np.ndarray
    good: float
    methods: tuple[str, ...] = SMOOTH
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def X(self) -> np.ndarray:
        """The rows that all have in common."""
        return FEATURES

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """What fit takes."""
        return self.X, self.y

    @property
    def smooth(self) -> bool:
        """Whether every method can learn it."""
        return "objective" in self.methods

    @property
    def is_classifier(self) -> bool:
        """Whether labels are classes."""
        return "classes" in self.declared

    def make(self, **parameters: Any) -> Any:
        """The estimator, with norm 1 where no bounds are given."""
        norm = {} if "bounds" in parameters else {"feature_norm": 1.0}
        return self.estimator(**{**self.options, **self.declared, **norm, **parameters})

    def without_n(self, **parameters: Any) -> Any:
        """Under add_remove, with a declared n where there has to be one."""
        return self.make(adjacency="add_remove", **({} if self.smooth else {"n": ROWS}), **parameters)

    def labels(self, count: int) -> np.ndarray:
        """So many labels, of every kind."""
        return np.resize(self.y, count)


def _features() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(ROWS, 3)) / 2


def _scores(X: np.ndarray) -> np.ndarray:
    """Scores that a plane tells, and noise."""
    return X @ [2.0, -1.0, 0.5] + 0.3 + 0.3 * np.random.default_rng(2).normal(size=len(X))


FEATURES = _features()
TWO = (_scores(FEATURES) > 0).astype(int)
THREE = np.digitize(FEATURES @ [1.0, 2.0, 0.0], [-0.6, 0.6])
NUMBERS = 20 + 10 * _scores(FEATURES)
for _array in (FEATURES, TWO, THREE, NUMBERS):
    _array.flags.writeable = False
RANGE = (-20.0, 60.0)

FAMILIES = {
    "logistic": Family(PrivateLogisticRegression, {"classes": (0, 1)}, TWO, 0.8),
    "svc": Family(PrivateLinearSVC, {"classes": (0, 1)}, TWO, 0.8),
    "softmax": Family(PrivateLogisticRegression, {"classes": (0, 1, 2)}, THREE, 0.6, options={"method": "objective"}),
    "linear": Family(PrivateLinearRegression, {"label_range": RANGE}, NUMBERS, 0.2, (*SMOOTH, "sufficient")),
    "huber": Family(PrivateHuberRegressor, {"label_range": RANGE}, NUMBERS, 0.2),
    "quantile": Family(PrivateQuantileRegressor, {"label_range": RANGE}, NUMBERS, 0.2, KINKED),
}
CLASSIFIERS = ("logistic", "svc")
REGRESSORS = ("linear", "huber", "quantile")
SMOOTH_FAMILIES = tuple(name for name, family in FAMILIES.items() if family.smooth)
