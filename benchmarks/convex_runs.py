# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fits of benchmarks/convex.py by dperm, scikit-learn and diffprivlib, scored on the test data."""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convex_data import Split
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dperm.errors import AssumptionError
from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression

PEER = Path(__file__).with_name("convex_peer.py")
ESTIMATORS = {"logistic": PrivateLogisticRegression, "svc": PrivateLinearSVC}


@dataclass(frozen=True)
class Guarantee:
    """A guarantee: an adjacency, and whether delta is 0 or n^-1.1."""

    adjacency: str
    pure: bool

    @property
    def name(self) -> str:
        """Description in words."""
        return f"{self.adjacency}, {'pure' if self.pure else '(epsilon, delta)'}"


ADD_REMOVE = Guarantee("add_remove", pure=False)
REPLACE_ONE = Guarantee("replace_one", pure=False)
PURE_REPLACE_ONE = Guarantee("replace_one", pure=True)


@dataclass(frozen=True)
class Score:
    """Test accuracy and AUC of one fit, and its CPU seconds."""

    accuracy: float
    auc: float
    seconds: float
    method: str = ""


@dataclass(frozen=True)
class Cell:
    """All runs of one setting."""

    data: str
    guarantee: str
    what: str
    epsilon: float
    scores: tuple[Score, ...]

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the runs."""
        return statistics.fmean(score.accuracy for score in self.scores)

    @property
    def error(self) -> float:
        """Standard error of the mean accuracy; 0 for a single run."""
        if len(self.scores) < 2:
            return 0.0
        return statistics.stdev(score.accuracy for score in self.scores) / math.sqrt(len(self.scores))

    @property
    def auc(self) -> float:
        """Mean AUC over the runs."""
        return statistics.fmean(score.auc for score in self.scores)

    @property
    def shown(self) -> str:
        """Accuracy, its standard error and AUC as text."""
        if not self.scores:
            return "-"
        return f"{self.accuracy:.4f} ± {self.error:.4f}  {self.auc:.3f}"


def ours(split: Split, guarantee: Guarantee, epsilon: float, *, estimator: str = "logistic", **chosen: Any) -> Any:
    """Private estimator with its defaults and declared public information, not tuned and not seeded.

    Under add_remove no n is declared, so only delta depends on it.
    """
    return ESTIMATORS[estimator](
        epsilon=epsilon,
        delta=0.0 if guarantee.pure else split.delta,
        adjacency=guarantee.adjacency,
        feature_norm=1.0,
        classes=(-1, 1),
        **chosen,
    )


def score(split: Split, model: Any) -> Score:
    """Fit once and score on the test data."""
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    margins = model.decision_function(split.X_test)
    method = model.plan_.method if hasattr(model, "plan_") else ""
    accuracy = float(((margins > 0) == (split.y_test > 0)).mean())
    return Score(accuracy, float(roc_auc_score(split.y_test, margins)), seconds, method)


def repeated(split: Split, model: Any, runs: int) -> tuple[Score, ...]:
    """Fit several times; return an empty tuple if the method cannot provide the guarantee."""
    try:
        return tuple(score(split, model) for _ in range(runs))
    except AssumptionError:
        return ()


def without_privacy(split: Split) -> dict[str, Score]:
    """scikit-learn's logistic regression with its default C, and nearly unregularised."""
    return {
        f"scikit-learn, C = {C:g}, no privacy": score(split, LogisticRegression(C=C, max_iter=1000))
        for C in (1.0, 100.0)
    }


def peer_runs(python: Path, arguments: list[object]) -> list[dict[str, float]]:
    """Output of diffprivlib for each run in its own environment."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    command = [str(part) for part in (python, PEER, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"the peer failed; {python} needs {PEER_NEEDS}.\n{done.stderr.strip()}")
    return json.loads(done.stdout)["runs"]


def peer_scores(python: Path, directory: Path, name: str, *, epsilon: float, runs: int) -> tuple[Score, ...]:
    """Scores of diffprivlib's logistic regression on one of the real data sets."""
    arguments = ["--data", directory, "--set", name, "--epsilon", epsilon, "--runs", runs]
    return tuple(Score(run["accuracy"], run["auc"], run["seconds"]) for run in peer_runs(python, arguments))


PEER_NEEDS = "diffprivlib==0.6.6 and scikit-learn==1.5.2 (its import fails on newer ones)"
