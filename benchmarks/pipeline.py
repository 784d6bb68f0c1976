# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private models of raw tables with nothing public, compared with models that are given a public schema.

    python benchmarks/pipeline.py --data DIR --tables TABLES --diffprivlib-python PEER/bin/python

``--only`` selects tables, "cost" for CPU time and memory, or both. benchmarks/pipeline_tables.py has the tables, their
splits and their bars, and exports TABLES. benchmarks/peers.txt has the environment of diffprivlib. Models:

- nothing public: PrivateTableClassifier or PrivateTableRegressor, given the names of the columns; on MNIST also the
  number of records and the largest number of classes; all records train the model;
- nothing public, 10 % held out: the same with ``holdout=0.1``, so that private metrics are part of the release;
- public schema: PrivateLogisticRegression or PrivateLinearRegression with the full epsilon. Its schema stands for
  public knowledge, and is computed from the training table without privacy: bounds at the quantiles .02 and .98, cut
  points at the quantiles k/12, all categories, the range of the labels;
- public schema, rule of the preparation: the same, with the cut points that the private preparation would choose if
  its counts had no noise. It keeps small bins next to large point masses, which quantiles do not;
- not private: LogisticRegression or Ridge of scikit-learn with default settings, on the features of the public schema;
- diffprivlib, on the features of the public schema, divided by their norm, with the bounds that it demands. Its epsilon
  is pure (delta = 0), so its guarantee is stronger than the others'.

All regressions clip predictions to the range of the labels, diffprivlib's too.

All private models except diffprivlib have delta = 1e-5 under add_remove. Each score is the mean of new, unseeded fits
with its standard error; the split is the same in all fits, so that the error contains no sampling error of the test
part. Every fit has a guarantee of its own: a benchmark is not a release.
"""

import argparse
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from compare_setup import Diffprivlib, add_diffprivlib, print_header, print_table
from pipeline_tables import (
    ADJACENCY,
    BARS,
    DELTA,
    EPSILONS,
    HELD_OUT,
    HOLDOUT,
    HOLDOUT_BARS,
    MOST_COST,
    SHAPED,
    WIDE,
    TableSplit,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score

from dperm.data.canonical import canonical_column
from dperm.data.encoder import Categorical, Numeric, PublicEncoder
from dperm.errors import DpermWarning
from dperm.preparation.plan import PreparationPlan
from dperm.preparation.prepared import TargetKind
from dperm.preparation.schema import MOST_BINS, TAILS, merged_bins
from dperm.preparation.values import NumericCells
from dperm.privacy import Adjacency, ApproxDP
from dperm.sklearn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTableClassifier,
    PrivateTableRegressor,
)
from dperm.sklearn.files import prefers_sparse

COST = "cost"
HELD_OUT_METRICS = "nothing public, 10 % held out"
NOTHING, PUBLIC, SAME_RULE = "nothing public", "public schema", "public schema, rule of the preparation"
NOT_PRIVATE, PEER = "not private", "diffprivlib (pure epsilon)"
BAR_EPSILON = 1.0
"""Epsilon of the bar on held-out tables."""
SIZES = ((45_000, 15), (1_000_000, 30))
"""Rows and columns of the synthetic tables, the target included."""
MOST_MEMORY = 1.5
"""Largest peak memory while a table is prepared, divided by the size of the table."""
CutPoints = Callable[[np.ndarray], tuple[float, ...]]


@dataclass(frozen=True)
class Scores:
    """Scores of several fits."""

    scores: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean score."""
        return statistics.fmean(self.scores)

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return statistics.stdev(self.scores) / math.sqrt(len(self.scores)) if len(self.scores) > 1 else 0.0

    def __str__(self) -> str:
        """Return mean and error, with four digits."""
        return f"{self.mean:.4f} ± {self.error:.4f}" if len(self.scores) > 1 else f"{self.mean:.4f}"


def quantile_cuts(numbers: np.ndarray) -> tuple[float, ...]:
    """Return the cut points of 12 bins with equal shares of the numbers; fewer if values repeat."""
    cuts = np.unique(np.quantile(numbers, np.arange(1, MOST_BINS) / MOST_BINS))
    return tuple(cuts[cuts > numbers.min()].tolist())


def rule_cuts(numbers: np.ndarray) -> tuple[float, ...]:
    """Return the cut points that the preparation chooses from exact counts of all distinct values."""
    edges, counts = np.unique(numbers, return_counts=True)
    return merged_bins(NumericCells(edges, np.concatenate([[0.0], counts.astype(float)])), deviation=0.0)


def public_encoder(split: TableSplit, cuts: CutPoints) -> PublicEncoder:
    """Return the encoder that stands for public knowledge. It is NOT PRIVATE: it reads the training table."""
    columns: dict[str, Numeric | Categorical] = {}
    for name in split.features:
        cells = canonical_column(split.train[name])
        numbers = cells.numbers[~np.isnan(cells.numbers)]
        if len(numbers) <= cells.is_text.sum():
            texts = sorted(text for text in cells.values()[1])
            columns[name] = Categorical(texts, other=True, missing=True, canonical=True)
            continue
        low, high = np.quantile(numbers, TAILS).tolist()
        low, high = (low, high) if low < high else (float(numbers.min()), float(numbers.max()))
        if low < high:  # a constant column has no feature
            middle = min(max(float(np.median(numbers)), low), high)
            columns[name] = Numeric(low, high, middle, bins=cuts(numbers), missing=True, canonical=True)
    return PublicEncoder(columns)


@dataclass(frozen=True)
class Encoded:
    """Training and test part as features of a public schema."""

    split: TableSplit
    encoder: PublicEncoder
    X: Any
    X_test: Any

    @classmethod
    def of(cls, split: TableSplit, cuts: CutPoints) -> "Encoded":
        """Encode a table by the schema that has these cut points."""
        encoder = public_encoder(split, cuts)
        sparse = prefers_sparse(encoder)
        X, X_test = (encoder.transform(part, sparse=sparse, unseen="other") for part in (split.train, split.test))
        return cls(split, encoder, X, X_test)

    @property
    def y(self) -> np.ndarray:
        """Labels of the training part."""
        return self.split.train[self.split.target].to_numpy()

    @property
    def y_test(self) -> np.ndarray:
        """Labels of the test part."""
        return self.split.test[self.split.target].to_numpy()

    def private_score(self, epsilon: float) -> float:
        """Return the test score of one private fit with the public schema."""
        known: dict[str, Any] = {"feature_norm": self.encoder.norm, "fit_intercept": False, "adjacency": ADJACENCY}
        if self.split.classification:
            classes = tuple(np.unique(self.y).tolist())
            model = PrivateLogisticRegression(epsilon=epsilon, delta=DELTA, classes=classes, **known)
        else:
            ends = float(self.y.min()), float(self.y.max())
            model = PrivateLinearRegression(
                epsilon=epsilon, delta=DELTA, label_range=ends, clip_predictions=True, **known
            )
        return float(model.fit(self.X, self.y).score(self.X_test, self.y_test))

    def plain_score(self) -> float:
        """Return the test score of scikit-learn's model, which is NOT PRIVATE."""
        if self.split.classification:
            return float(LogisticRegression(max_iter=2000).fit(self.X, self.y).score(self.X_test, self.y_test))
        found = Ridge().fit(self.X, self.y).predict(self.X_test)
        return float(r2_score(self.y_test, np.clip(found, self.y.min(), self.y.max())))

    def save(self, path: Path) -> None:
        """Write features of norm at most 1, codes of classes and public bounds for diffprivlib."""
        X, X_test = (_dense(part) / self.encoder.norm for part in (self.X, self.X_test))
        y, y_test = self.y, self.y_test
        if self.split.classification:
            y, y_test = (np.unique(self.y, return_inverse=True)[1], np.searchsorted(np.unique(self.y), y_test))
        bounds = np.array([[-1.0, 1.0]] * X.shape[1]) / self.encoder.norm
        ends = (0.0, 1.0) if self.split.classification else (float(y.min()), float(y.max()))
        np.savez(path, X=X, y=y, X_test=X_test, y_test=y_test, bounds=bounds, label_range=ends)


def _dense(features: Any) -> np.ndarray:
    return np.asarray(features.toarray() if hasattr(features, "toarray") else features)


def table_score(split: TableSplit, epsilon: float, holdout: float = 0.0) -> float:
    """Return the test score of one fit to the raw table, with nothing public but the names of the columns."""
    kind = PrivateTableClassifier if split.classification else PrivateTableRegressor
    model = kind(epsilon=epsilon, delta=DELTA, adjacency=ADJACENCY, holdout=holdout, **split.options)
    model.fit(split.train, target=split.target)
    return float(model.score(split.test.drop(columns=split.target), split.test[split.target]))


def measured(split: TableSplit, options: argparse.Namespace, peer: Diffprivlib | None) -> dict[str, list[Scores]]:
    """Return the scores of all models of one table, one entry for each epsilon."""
    if split.name in WIDE:
        return {NOTHING: repeated(options.runs, lambda epsilon: table_score(split, epsilon))}
    quantiles, rule = Encoded.of(split, quantile_cuts), Encoded.of(split, rule_cuts)
    found = {
        NOTHING: repeated(options.runs, lambda epsilon: table_score(split, epsilon)),
        PUBLIC: repeated(options.runs, quantiles.private_score),
        SAME_RULE: repeated(options.runs, rule.private_score),
        NOT_PRIVATE: [Scores([quantiles.plain_score()])] * len(EPSILONS),
    }
    if split.name in SHAPED:
        found[HELD_OUT_METRICS] = repeated(options.runs, lambda epsilon: table_score(split, epsilon, HOLDOUT))
    if peer is not None and split.name in SHAPED:
        found[PEER] = peer_scores(quantiles, options.runs, peer)
    return found


def repeated(runs: int, score: Callable[[float], float]) -> list[Scores]:
    """Return the scores of several fits at each epsilon."""
    return [Scores([score(epsilon) for _ in range(runs)]) for epsilon in EPSILONS]


def peer_scores(encoded: Encoded, runs: int, peer: Diffprivlib) -> list[Scores]:
    """Return the scores of diffprivlib."""
    task = "logistic" if encoded.split.classification else "linear"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "features.npz"
        encoded.save(path)
        score = "score" if encoded.split.classification else "clipped_score"
        return repeated(runs, lambda epsilon: peer.ask(task, path=str(path), epsilon=epsilon)[score])


def print_scores(split: TableSplit, found: dict[str, list[Scores]]) -> None:
    """Print one table of scores."""
    score = "accuracy" if split.classification else "R²"
    title = f"### {split.name}: {score}; {len(split.train):,} training rows, {len(split.features)} columns, "
    rows = [(name, *map(str, scores)) for name, scores in found.items()]
    print_table(f"{title}{len(split.test):,} test rows", ("model", *(f"ε = {each:g}" for each in EPSILONS)), rows)


def print_bars(name: str, found: dict[str, list[Scores]]) -> bool:
    """Print measured values against the bars of one table; return whether all are met."""
    rows, met = [], True
    for bar, epsilon, scores in zip(BARS.get(name, ()), EPSILONS, found[NOTHING], strict=False):
        passed = scores.mean >= bar
        met &= passed
        rows.append((f"score at ε = {epsilon:g}", f">= {bar:.3f}", str(scores), verdict(passed)))
    evaluated = found.get(HELD_OUT_METRICS, ())
    for bar, epsilon, scores in zip(HOLDOUT_BARS.get(name, ()), EPSILONS, evaluated, strict=False):
        passed = scores.mean >= bar
        met &= passed
        rows.append((f"score at ε = {epsilon:g}, 10 % held out", f">= {bar:.3f}", str(scores), verdict(passed)))
    place = EPSILONS.index(BAR_EPSILON)
    for against in (PUBLIC, SAME_RULE):
        if against not in found:
            continue
        ours, theirs = found[NOTHING][place], found[against][place]
        cost, error = theirs.mean - ours.mean, math.hypot(ours.error, theirs.error)
        judged = name in HELD_OUT and against == PUBLIC
        passed = cost <= MOST_COST
        met &= passed or not judged
        bar_text = f"<= {MOST_COST:.3f}" if judged else "no bar"
        what = f"cost against {against} at ε = {BAR_EPSILON:g}"
        rows.append((what, bar_text, f"{cost:+.4f} ± {error:.4f}", verdict(passed) if judged else ""))
    print_table("Bars", ("quantity", "bar", "measured", ""), rows)
    return met


def verdict(passed: bool) -> str:
    """Return the verdict of a bar."""
    return "pass" if passed else "**FAIL**"


def synthetic(rows: int, columns: int) -> pd.DataFrame:
    """Return a mixed table: whole numbers, long-tailed numbers with gaps, texts, and a target with two classes."""
    rng = np.random.default_rng(0)
    data: dict[str, Any] = {}
    score = np.zeros(rows)
    for place in range(columns - 1):
        match place % 3:
            case 0:
                values = rng.integers(0, 100, rows)
                score += (values - 50) / 50
                data[f"whole{place}"] = values
            case 1:
                amounts = np.exp(rng.normal(8, 1.5, rows))
                amounts[rng.random(rows) < 0.05] = math.nan
                data[f"amount{place}"] = amounts
            case _:
                codes = np.minimum(rng.geometric(0.2, rows), 30)
                score += np.where(codes % 2 == 0, 0.7, -0.7)
                data[f"text{place}"] = np.array([f"category {code}" for code in range(31)], dtype=object)[codes]
    data["target"] = np.where(score + rng.logistic(size=rows) > 0, "yes", "no")
    return pd.DataFrame(data)


class Stopwatch:
    """CPU seconds of selected methods, nested calls included."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, owner: type, *names: str) -> Iterator[None]:
        """Add up the CPU time of these methods inside the ``with`` block."""
        plain = {name: getattr(owner, name) for name in names}
        for name, method in plain.items():
            setattr(owner, name, self._timed(f"{owner.__name__}.{name}", method))
        try:
            yield
        finally:
            for name, method in plain.items():
                setattr(owner, name, method)

    def _timed(self, key: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            try:
                return method(*arguments, **options)
            finally:
                self.seconds[key] = self.seconds.get(key, 0.0) + time.process_time() - start

        return timed


def stage_seconds(table: pd.DataFrame) -> tuple[float, float]:
    """Return the CPU seconds of preparation (read and draw) and of training (encode and learn) of one fit."""
    watch = Stopwatch()
    model = PrivateTableClassifier(epsilon=1.0, delta=DELTA, adjacency=ADJACENCY, holdout=0.0)
    with watch.timing(PreparationPlan, "read", "draw"), watch.timing(PrivateTableClassifier, "_draw"):
        model.fit(table, target="target")
    found = watch.seconds
    draw = found["PreparationPlan.draw"]
    return found["PreparationPlan.read"] + draw, found["PrivateTableClassifier._draw"] - draw


def measure_memory(rows: int, columns: int, how: str) -> None:
    """Print bytes of the table and of the peak beyond it while it is prepared; runs in a process of its own.

    ``how`` is "rss" for resident memory of the process, or "tracemalloc" for what Python and numpy allocate.
    """
    table = synthetic(rows, columns)
    size = int(table.memory_usage(deep=True).sum())
    features = [name for name in table.columns if name != "target"]
    goal = ApproxDP(1.0, DELTA, Adjacency.of(ADJACENCY))
    plan = PreparationPlan.for_goal(features, goal, target="target", task=TargetKind.CLASSIFICATION, most_classes=2)
    small = synthetic(2_000, columns)
    plan.run(small)  # imports and caches first
    del small
    if how == "tracemalloc":
        tracemalloc.start()
        plan.run(table)
        peak = tracemalloc.get_traced_memory()[1]
    else:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak of the resident memory
        before = _resident("VmRSS")
        plan.run(table)
        peak = _resident("VmHWM") - before
    print(f"{size} {peak}")


def _resident(name: str) -> int:
    """Return a memory figure of this process in bytes; the peak since the start where there is no /proc."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def peak_memory(rows: int, columns: int, how: str) -> tuple[int, int]:
    """Return bytes of the table and of the peak beyond it, measured in a new process."""
    command = [sys.executable, __file__, "--memory", str(rows), str(columns), how]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    size, peak = map(int, answer.split())
    return size, peak


def measure_cost() -> bool:
    """Print CPU time and memory of the preparation; return whether the bars are met."""
    rows, met = [], True
    for size in SIZES:
        table = synthetic(*size)
        prepare, train = stage_seconds(table)
        passed = prepare <= train
        met &= passed
        where = f"{size[0]:,} x {size[1]}"
        what = f"{where}: CPU seconds of preparation"
        rows.append((what, f"<= {train:.2f} (training)", f"{prepare:.2f}", verdict(passed)))
        del table
        for how in ("tracemalloc", "rss"):
            held, peak = peak_memory(*size, how)
            ratio = (held + peak) / held
            passed = ratio <= MOST_MEMORY
            met &= passed
            what = f"{where}: table and peak beyond it ({how}), divided by the table of {held / 1e6:.0f} MB"
            rows.append((what, f"<= {MOST_MEMORY}", f"{ratio:.2f}", verdict(passed)))
    print_table("### CPU time and memory", ("quantity", "bar", "measured", ""), rows)
    return met


def parsed() -> argparse.Namespace:
    """Parse the command-line options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*SHAPED, *WIDE, *HELD_OUT, COST)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of adult.csv.gz and mnist.npz"
    )
    parser.add_argument("--tables", type=Path, help="directory of the exported tables; that of --data by default")
    parser.add_argument("--only", nargs="*", choices=names, default=names, help="parts to run")
    parser.add_argument("--runs", type=int, default=8, help="fits of each private model at each epsilon")
    parser.add_argument("--memory", nargs=3, help=argparse.SUPPRESS)
    add_diffprivlib(parser)
    options = parser.parse_args()
    if not options.memory and not options.data and set(options.only) != {COST}:
        parser.error("--data or DPERM_DATA must name the directory of adult.csv.gz and mnist.npz.")
    options.tables = options.tables or options.data
    return options


def main() -> None:
    """Run the parts and print their tables."""
    warnings.simplefilter("ignore", DpermWarning)
    options = parsed()
    if options.memory:
        rows, columns, how = options.memory
        measure_memory(int(rows), int(columns), how)
        return
    peer = Diffprivlib(options.diffprivlib_python) if options.diffprivlib_python else None
    print_header(("scikit-learn", "pandas", "scipy"), peer)
    print(f"{options.runs} runs, δ = {DELTA:g}, {ADJACENCY}, {platform.machine()}, one thread\n")
    if peer is None:
        print("No --diffprivlib-python: diffprivlib is left out.\n")
    met = True
    for name in options.only:
        if name == COST:
            met &= measure_cost()
            continue
        split = (SHAPED | WIDE | HELD_OUT)[name](Path(options.data), Path(options.tables))
        found = measured(split, options, peer)
        print_scores(split, found)
        met &= print_bars(name, found)
    if peer is not None:
        peer.close()
    print("All bars are met." if met else "Some bars are NOT met.")


if __name__ == "__main__":
    main()
