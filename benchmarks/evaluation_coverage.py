# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Coverage and width of the intervals of private metrics (T86-T88).

Every row has 2,000 simulated evaluations, with sampling and noise. ``ratio`` is the mean width divided by the width of
an ideal interval: the normal interval with the true variance of the same sampling and the same noise.

    python benchmarks/evaluation_coverage.py          # tables of all metrics: about a minute
    python benchmarks/evaluation_coverage.py --short  # the worst cases of each metric alone, as in the documentation
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from dperm import ApproxDP
from dperm.evaluation.intervals import CellNoise, MetricInterval, auc_interval, cell_mean, loss_interval
from dperm.evaluation.plan import DeclaredGroups, EvaluationPlan
from dperm.evaluation.reconstruction import loss_weights, pair_weights
from dperm.evaluation.regression import error_intervals, r2_interval

RUNS, LEVEL, DELTA, CLIP = 2000, 0.95, 1e-5, 0.01
SIZES, EPSILONS, ADJACENCIES = (500, 2000, 10_000), (0.5, 1.0, 3.0), ("add_remove", "replace_one")
Z = float(norm.isf((1 - LEVEL) / 2))
HARD_SIZES = (500, 2000, 10_000, 100_000)
HARD = {
    "calibrated 1.75 %": (-4.5, 1.0, 1.0),
    "calibrated 0.5 %": (-6.0, 1.2, 1.0),
    "overconfident": (-1.0, 1.5, 8.0),
    "timid": (-0.5, 1.0, 1 / 8),
}
"""Mean and deviation of the true log-odds, and the factor of the scored ones, by population."""
POPULATION = 4_000_000
GROUP_SHARE = 0.3


@dataclass(frozen=True)
class Row:
    """Result of one metric in one setting."""

    metric: str
    population: str
    n: int
    epsilon: float
    adjacency: str
    coverage: float
    ratio: float


def rows() -> Iterator[Row]:
    """Yield the results of all settings of the acceptance table."""
    for population in ("overlapping", "rare"):
        yield from classification(population, SIZES)
    for population in ("normal", "skewed"):
        yield from regression(population)


def hard_rows() -> Iterator[Row]:
    """Yield the results of populations with scores near 0, near 0 and 1, or near 0.5, also for many records."""
    for population in HARD:
        yield from classification(population, HARD_SIZES)


def settings(sizes: tuple[int, ...]) -> Iterator[tuple[int, float, str]]:
    """Return all numbers of records, epsilons and adjacencies."""
    return ((n, epsilon, adjacency) for n in sizes for epsilon in EPSILONS for adjacency in ADJACENCIES)


def scores_of(population: str) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores of a large population.

    "overlapping" has a quarter of positive records, "rare" a tenth with sharper scores. The calibrated ones are
    logistic models with base rates of 1.75 % and 0.5 %. The log-odds of an "overconfident" model are 8 times too large,
    and those of a "timid" one 8 times too small.
    """
    rng, size = np.random.default_rng(1), POPULATION
    if population in ("overlapping", "rare"):
        share, spread, ends = (0.25, 1.3, (0.8, -1.6)) if population == "overlapping" else (0.1, 1.5, (0.0, -3.0))
        y = rng.random(size) < share
        return y, expit(spread * rng.normal(size=size) + np.where(y, *ends))
    base, spread, factor = HARD[population]
    log_odds = base + spread * rng.normal(size=size)
    return rng.random(size) < expit(log_odds), expit(factor * log_odds)


def classification(population: str, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Yield the results of all metrics of a binary classifier, from simulated counts of its score bins."""
    y, scores = scores_of(population)
    clipped = np.clip(scores, CLIP, 1 - CLIP)
    order = np.empty(POPULATION)
    order[np.argsort(scores, kind="stable")] = np.arange(1, POPULATION + 1)
    positives = int(y.sum())
    auc = (order[y].sum() - positives * (positives + 1) / 2) / (positives * (POPULATION - positives))
    brier = np.mean((scores - y) ** 2)
    log_loss = -np.mean(np.where(y, np.log(clipped), np.log(1 - clipped)))
    for n, epsilon, adjacency in settings(sizes):
        rng = np.random.default_rng([n, round(10 * epsilon), adjacency == "add_remove"])
        plan = EvaluationPlan(
            goal=ApproxDP(epsilon, DELTA, adjacency),
            task="classification",
            classes=(0, 1),
            n=n if adjacency == "replace_one" else None,
        )
        edges, bins = plan.edges, len(plan.edges) - 1
        places = np.searchsorted(edges[1:-1], scores, side="left")
        shares = np.bincount(y * bins + places, minlength=2 * bins + 1) / POPULATION
        noise = CellNoise(plan.noise_deviation, 2 * bins + 1, plan.n)
        exact = rng.multinomial(n, shares[:-1] / shares[:-1].sum(), size=RUNS)
        counts = noise.fitted(np.c_[exact, np.zeros(RUNS)] + noise.deviation * rng.normal(size=(RUNS, 2 * bins + 1)))
        above = np.r_[np.tile(np.arange(bins) >= edges.index(0.5), 2), False]
        row, valid = np.repeat([0.0, 1.0, 0.0], [bins, bins, 1]), np.repeat([1.0, 0.0], [2 * bins, 1])
        right = np.where(row > 0, above, ~above) * valid
        middle = np.r_[np.tile(np.arange(bins) == int(0.6 * bins), 2), False].astype(float)
        losses = {
            "Brier score": (lambda p: p**2, lambda p: (1 - p) ** 2, 1.0, brier),
            "log loss": (
                lambda p: -np.log(1 - np.clip(p, CLIP, 1 - CLIP)),
                lambda p: -np.log(np.clip(p, CLIP, 1 - CLIP)),
                -np.log(CLIP),
                log_loss,
            ),
        }
        cases = [
            ("accuracy", right, None),
            ("recall", above * row, row),
            ("precision", row * above, above.astype(float)),
            ("calibration bin", row, middle),
        ]
        found, truths, weights_of = {}, {}, {}
        for name, values, among in cases:
            used = np.ones(2 * bins + 1) if among is None else among
            found[name] = cell_mean(counts, values, noise, Z, among=among)
            truths[name] = (shares @ (values * used)) / max(shares @ used, 1 / POPULATION)
            weights_of[name] = values, used
        for name, (negative, positive, largest, truth) in losses.items():
            found[name] = loss_interval(counts, edges, (negative, positive), noise, Z, largest=largest)
            weights_of[name] = np.r_[loss_weights(edges, negative), loss_weights(edges, positive), 0.0], valid
            truths[name] = truth
        for name, (values, used) in weights_of.items():
            weights, true = used * (values - truths[name]), truths[name]
            variance = n * (shares @ weights**2) + noise.variance(weights @ weights, weights.sum())
            deviation = np.sqrt(variance) / (n * max(shares @ used, 1 / POPULATION))
            yield _row(name, population, n, epsilon, adjacency, found[name], true, deviation)
        yield _row("AUC", population, n, epsilon, adjacency, *_auc(counts, shares, n, auc, noise, edges))
        yield _row("group accuracy", population, n, epsilon, adjacency, *_group(plan, shares @ right, n, rng))


def _auc(counts: np.ndarray, shares: np.ndarray, n: int, auc: float, noise: CellNoise, edges: tuple[float, ...]):
    kernel = pair_weights(edges)
    found = auc_interval(counts[:, :-1].reshape(len(counts), 2, -1), edges, noise, Z)
    neg, pos = n * shares[:-1].reshape(2, -1)
    above, below = pos @ kernel.T - auc * pos.sum(), neg @ kernel - auc * neg.sum()
    weights = np.r_[above, below]
    variance = neg @ above**2 + pos @ below**2 + noise.variance(weights @ weights, weights.sum())
    variance += noise.deviation**4 * ((kernel - auc) ** 2).sum()
    return found, auc, np.sqrt(variance) / (neg.sum() * pos.sum())


def _group(plan: EvaluationPlan, accuracy: float, n: int, rng: np.random.Generator):
    """Simulate the accuracy of a group with 30 % of the records, among two declared groups and "other"."""
    grouped = EvaluationPlan(
        goal=plan.goal, task="classification", classes=(0, 1), n=plan.n, groups=DeclaredGroups("group", ("a", "b"))
    )
    noise = CellNoise(grouped.noise_deviation, 15, plan.n)
    sizes = {"right": GROUP_SHARE * accuracy, "wrong": GROUP_SHARE * (1 - accuracy)}
    exact = rng.multinomial(n, [sizes["right"] / 2, sizes["wrong"], sizes["right"] / 2, 1 - GROUP_SHARE], size=RUNS)
    cells = np.zeros((RUNS, 15))
    cells[:, [0, 1, 3, 5]] = exact
    counts = noise.fitted(cells + noise.deviation * rng.normal(size=cells.shape))
    hits, among = np.zeros(15), np.zeros(15)
    hits[[0, 3]], among[:5] = 1.0, 1.0
    found = cell_mean(counts, hits, noise, Z, among=among)
    weights = among * (hits - accuracy)
    sampled = n * GROUP_SHARE * accuracy * (1 - accuracy)
    deviation = np.sqrt(sampled + noise.variance(weights @ weights, weights.sum())) / (n * GROUP_SHARE)
    return found, accuracy, deviation


def errors_of(population: str, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return clipped errors and labels in units of half the label range."""
    if population == "normal":
        t, e = 0.35 * rng.normal(size=shape), 0.15 * rng.normal(size=shape)
        return np.clip(e, -1, 1), np.clip(t + e, -1, 1)
    f = np.clip(0.2 * rng.standard_gamma(1.5, size=shape) - 0.7, -1, 1)
    e = (0.05 + 0.08 * (f + 1)) * rng.laplace(size=shape)
    return np.clip(e, -1, 1), np.clip(f + e, -1, 1)


def sums_of(e: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the exact sums of a regression over the last axis."""
    a, e2, t2 = np.abs(e), e * e, t * t
    parts = (np.ones_like(e), a, e2, t, t2, 3 * e2 * (1 - e2), 3 * t2 * (1 - t2), t * (1 - t2))
    return np.stack([part.sum(axis=-1) for part in parts], axis=-1)


def regression(population: str) -> Iterator[Row]:
    """Yield the results of all metrics of a regression, from simulated records."""
    e, t = errors_of(population, np.random.default_rng(2), (POPULATION,))
    mae, mse, mean = np.abs(e).mean(), (e**2).mean(), t.mean()
    share = mse / t.var()
    spread = {"MAE": np.abs(e).var(), "RMSE": (e**2).var(), "R^2": (e**2 - share * (t - mean) ** 2).var()}
    for n in SIZES:
        rng = np.random.default_rng(n)
        exact = np.concatenate([sums_of(*errors_of(population, rng, (100, n))) for _ in range(RUNS // 100)])
        for epsilon in EPSILONS:
            for adjacency in ADJACENCIES:
                known = n if adjacency == "replace_one" else None
                goal = ApproxDP(epsilon, DELTA, adjacency)
                plan = EvaluationPlan(goal=goal, task="regression", label_range=(-1, 1), n=known)
                deviation = plan.noise_deviation
                sums = exact + deviation * rng.normal(size=exact.shape)
                private = known is None
                absolute, root = error_intervals(sums[:, [0, 1, 2, 5]], deviation, Z, n=known)
                r2 = r2_interval(sums, deviation, Z, known)
                of_mae = np.sqrt(n * spread["MAE"] + deviation**2 * (1 + private * mae**2)) / n
                of_mse = np.sqrt(n * spread["RMSE"] + deviation**2 * (1 + private * mse**2)) / n
                noisy = deviation**2 * (1 + share**2 * (1 + 4 * mean**2 + private * mean**4))
                of_r2 = np.sqrt(n * spread["R^2"] + noisy) / (n * t.var())
                common = (population, n, epsilon, adjacency)
                yield _row("MAE", *common, absolute, mae, of_mae)
                yield _row("RMSE", *common, root, np.sqrt(mse), of_mse / (2 * np.sqrt(mse)))
                yield _row("R^2", *common, r2, 1 - share, of_r2)


def _row(
    metric: str,
    population: str,
    n: int,
    epsilon: float,
    adjacency: str,
    found: MetricInterval,
    true: float,
    deviation: float,
) -> Row:
    coverage = float(((found.low <= true) & (true <= found.high)).mean())
    ratio = float((found.high - found.low).mean() / (2 * Z * deviation))
    return Row(metric, population, n, epsilon, adjacency, coverage, ratio)


def main() -> None:
    """Print the tables, and the worst cases of each metric."""
    found = list(rows())
    hard = [row for row in hard_rows() if row.metric in ("accuracy", "Brier score", "log loss", "AUC")]
    if "--short" not in sys.argv:
        print("| metric | population | n | epsilon | adjacency | coverage | ratio |\n|---|---|---|---|---|---|---|")
        for row in [*found, *hard]:
            mark = " <" if row.coverage < 0.93 else " >" if row.coverage > 0.99 else ""
            print(
                f"| {row.metric} | {row.population} | {row.n} | {row.epsilon:g} | {row.adjacency} | "
                f"{row.coverage:.3f}{mark} | {row.ratio:.2f} |"
            )
        print()
    _print_worst("metric", {row.metric: row.metric for row in found}, found, lambda row: row.metric)
    labels = {(row.population, row.metric): f"{row.population}, {row.metric}" for row in hard}
    _print_worst("population, metric", labels, hard, lambda row: (row.population, row.metric))


def _print_worst(title: str, labels: dict[Any, str], found: list[Row], key: Callable[[Row], Any]) -> None:
    print(f"| {title} | coverage, smallest | largest | ratio, smallest | largest |\n|---|---|---|---|---|")
    for group, label in labels.items():
        own = [row for row in found if key(row) == group]
        coverages, ratios = [row.coverage for row in own], [row.ratio for row in own]
        numbers = (min(coverages), max(coverages), min(ratios), max(ratios))
        print(f"| {label} | " + " | ".join(f"{number:.3f}" for number in numbers) + " |")
    print()


if __name__ == "__main__":
    main()
