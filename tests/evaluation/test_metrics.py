# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Metrics and intervals: exact values without noise, coverage with it, and degenerate tables (T86-T88)."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn import metrics as reference

from dperm import GDP, ApproxDP
from dperm.errors import DataError, EventFormatError, ParameterError
from dperm.evaluation import DeclaredGroups, Estimate, EvaluationPlan, Metrics
from dperm.evaluation.intervals import CellNoise, Quadratic, auc_interval, cell_mean, ratio_interval
from dperm.evaluation.reconstruction import from_stretched, loss_weights, pair_slack, pair_weights, stretched
from dperm.evaluation.records import class_counts, error_sums
from dperm.evaluation.regression import error_intervals, r2_interval
from dperm.noise import NotPrivateBits
from dperm.privacy.digest import digest
from dperm.report.metric_facts import shown_row, utility_facts

Z = float(norm.isf(0.025))
EDGES = tuple(np.linspace(0, 1, 21).tolist())


def scored(n, rng):
    """Labels and scores of a quarter of positive records."""
    y = rng.random(n) < 0.25
    return y, 1 / (1 + np.exp(-1.3 * rng.normal(size=n) - np.where(y, 0.8, -1.6)))


def without_noise(plan, *arrays, **named):
    """Metrics of the exact counts or sums."""
    private = plan.read(*arrays, **named)
    exact = class_counts(plan, private) if plan.task == "classification" else error_sums(plan, private)
    return Metrics(plan, exact)


def plan_of(epsilon=1.0, adjacency="add_remove", **arguments):
    arguments = {"task": "classification", "classes": (0, 1), **arguments}
    return EvaluationPlan(goal=ApproxDP(epsilon, 1e-5, adjacency), **arguments)


# --- values ---


def test_without_noise_the_metrics_of_a_classifier_are_those_of_scikit_learn():
    y, scores = scored(20_000, np.random.default_rng(0))
    found = without_noise(plan_of(bins=60), y.astype(int), scores)
    predicted = scores > 0.5
    clipped = np.clip(scores, 0.01, 0.99)
    np.testing.assert_array_equal(found.confusion, reference.confusion_matrix(y, predicted))
    assert found.accuracy.value == pytest.approx(reference.accuracy_score(y, predicted))
    assert found.balanced_accuracy.value == pytest.approx(reference.balanced_accuracy_score(y, predicted))
    assert found.recall[1].value == pytest.approx(reference.recall_score(y, predicted))
    assert found.precision[1].value == pytest.approx(reference.precision_score(y, predicted))
    assert found.auc.value == pytest.approx(reference.roc_auc_score(y, scores), abs=3e-4)
    assert found.brier.value == pytest.approx(reference.brier_score_loss(y, scores), abs=3e-4)
    assert found.log_loss.value == pytest.approx(reference.log_loss(y, clipped), abs=1e-3)
    assert found.records == 20_000


def test_without_noise_the_metrics_of_more_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    scores = rng.dirichlet([1, 1, 1], 5000)
    y = np.array([rng.choice(3, p=row) for row in scores])
    found = without_noise(plan_of(classes=(0, 1, 2), positive=2, bins=60), y, scores)
    np.testing.assert_array_equal(found.confusion, reference.confusion_matrix(y, scores.argmax(axis=1)))
    assert found.auc.value == pytest.approx(reference.roc_auc_score(y == 2, scores[:, 2]), abs=1e-3)
    assert [one.value for one in found.recall.values()] == pytest.approx(
        reference.recall_score(y, scores.argmax(axis=1), average=None)
    )
    alone = without_noise(plan_of(classes=(0, 1, 2)), y, predictions=scores.argmax(axis=1))
    assert alone.auc is None and alone.roc is None and alone.accuracy.value == found.accuracy.value


def test_without_noise_the_metrics_of_a_regression_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    y = np.clip(rng.normal(50, 15, 20_000), 0, 100)
    predictions = y + rng.normal(0, 7, 20_000)
    plan = plan_of(task="regression", classes=None, label_range=(0, 100))
    found = without_noise(plan, y, predictions=predictions)
    assert found.r_squared.value == pytest.approx(reference.r2_score(y, predictions), abs=1e-3)
    assert found.mae.value == pytest.approx(reference.mean_absolute_error(y, predictions), abs=1e-3)
    assert found.rmse.value == pytest.approx(reference.root_mean_squared_error(y, predictions), abs=1e-3)
    assert found.accuracy is None and found.roc is None


def test_undeclared_labels_and_invalid_scores_count_as_errors():
    y, scores = [0, 1, "?", None, 1], [0.2, 0.9, 0.9, 0.1, math.nan]
    found = without_noise(plan_of(groups=DeclaredGroups("g", ("a",))), y, scores, groups=["a", "a", "b", "b", "a"])
    assert found.accuracy.value == pytest.approx(2 / 5)
    assert found.recall[1].value == 1.0  # of the valid records
    assert found.groups["a"]["accuracy"].value == pytest.approx(2 / 3)
    regression = without_noise(
        plan_of(task="regression", classes=None, label_range=(0, 10)), [5.0, None], predictions=[5.0, 5.0]
    )
    assert regression.mae.value == pytest.approx(2.5)  # 0 and half the range


def test_the_roc_curve_does_not_decrease_and_lies_in_its_band():
    y, scores = scored(2000, np.random.default_rng(3))
    plan = plan_of(0.5)
    roc = plan.draw(plan.read(y.astype(int), scores), NotPrivateBits(5).stream()).roc
    for rates in (roc.false_positive_rates, roc.true_positive_rates, roc.low, roc.high):
        assert np.all(np.diff(rates) >= 0) and 0 <= rates[0] and rates[-1] <= 1
    assert np.all(np.array(roc.low) <= roc.true_positive_rates) and np.all(
        np.array(roc.high) >= roc.true_positive_rates
    )


def test_densities_that_are_parabolas_are_reconstructed_exactly():
    """Parabolas of u, the stretched log-odds, scaled to [0, 1]; 3 u^2 and 1 have the area 3/4."""
    for bins in (20, 2):
        edges = plan_of(bins=bins).edges
        ends = stretched(np.array([0.0, 1.0]), faintest=min(1e-5, edges[1] / 2))
        u = np.r_[0.0, (stretched(np.array(edges[1:-1])) - ends[0]) / (ends[1] - ends[0]), 1.0]
        np.testing.assert_allclose(from_stretched(stretched(np.array(edges[1:-1]))), edges[1:-1], rtol=1e-12)
        power = 3 if bins == 20 else 2  # two counts determine a line
        positive, negative = np.diff(u**power), np.diff(u)
        assert negative @ pair_weights(edges) @ positive == pytest.approx(power / (power + 1), abs=1e-12)

        def square(p, ends=ends):
            return ((stretched(p) - ends[0]) / (ends[1] - ends[0])) ** 2

        assert loss_weights(edges, square) @ positive == pytest.approx(power / (power + 2), abs=1e-9)


def test_default_edges_resolve_scores_near_0_and_1():
    for bins in (2, 4, 10, 20, 40, 1000):
        edges = np.array(plan_of(bins=bins).edges)
        assert len(edges) == bins + 1 and edges[bins // 2] == 0.5 and (edges[0], edges[-1]) == (0.0, 1.0)
        np.testing.assert_allclose(edges, 1 - edges[::-1], atol=1e-15)
        assert np.diff(edges).min() > 1e-7
    assert plan_of(bins="auto").edges[1] < 2e-4 and max(np.diff(plan_of().edges)) < 0.13


# --- intervals ---


def test_the_interval_of_a_proportion_is_the_set_of_t86():
    """The closed form equals a search over all shares, for ratios inside and at the border of [0, 1]."""
    shares = np.linspace(0, 1, 100_001)
    for hits, misses, deviation in [(420.0, 80.0, 4.0), (30.0, 2.0, 5.0), (3.0, -2.0, 5.0), (200.0, 0.5, 1.0)]:
        noise = CellNoise(deviation, 10)
        counts = np.array([hits / 4] * 4 + [misses / 6] * 6)
        marks = np.array([1.0] * 4 + [0.0] * 6)
        found = cell_mean(counts, marks, noise, Z)
        total = hits + misses
        n = max(total + Z * deviation * math.sqrt(10), 0)
        variance = n * shares * (1 - shares) + deviation**2 * ((1 - shares) ** 2 * 4 + shares**2 * 6)
        inside = shares[(hits - shares * total) ** 2 <= Z**2 * variance]
        if total**2 > Z**2 * (10 * deviation**2 - n):
            assert (found.low, found.high) == pytest.approx((inside.min(), inside.max()), abs=2e-5)
        else:
            assert (found.low, found.high) == (0.0, 1.0)


def test_the_width_is_that_of_the_prototype():
    """golden/pipeline.json, evaluation, "5000_0.268": mean width .022786 of the accuracy at n = 5000, mu = .268."""
    rng = np.random.default_rng(4)
    y, scores = scored(400_000, rng)
    shares = np.bincount(y * 20 + np.searchsorted(EDGES[1:-1], scores), minlength=41) / len(y)
    noise = CellNoise(1 / 0.268, 41)
    counts = rng.multinomial(5000, shares, size=600) + noise.deviation * rng.normal(size=(600, 41))
    right = np.r_[np.repeat([1.0, 0.0, 0.0, 1.0], 10), 0.0]
    found = cell_mean(counts, right, noise, Z)
    assert (found.high - found.low).mean() == pytest.approx(0.022786, rel=0.02)


def coverage(found, true):
    return float(((found.low <= true) & (true <= found.high)).mean())


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_intervals_cover_sampling_and_noise(adjacency):
    """Noise dominates at n = 500, epsilon = .5; 2,000 runs have a standard error of .005 (T86, T87)."""
    n, runs, rng = 500, 2000, np.random.default_rng(6)
    plan = plan_of(0.5, adjacency, n=n if adjacency == "replace_one" else None)
    y, scores = scored(400_000, rng)
    bins = len(plan.edges) - 1
    places = y * bins + np.searchsorted(plan.edges[1:-1], scores)
    shares = np.bincount(places, minlength=2 * bins + 1) / len(y)
    noise = CellNoise(plan.noise_deviation, 2 * bins + 1, plan.n)
    counts = rng.multinomial(n, shares, size=runs) + noise.deviation * rng.normal(size=(runs, 2 * bins + 1))
    counts = noise.fitted(counts)
    right = np.r_[np.repeat([1.0, 0.0, 0.0, 1.0], bins // 2), 0.0]
    assert 0.93 <= coverage(cell_mean(counts, right, noise, Z), shares @ right) <= 0.985
    auc = reference.roc_auc_score(y, scores)
    area = auc_interval(counts[:, :-1].reshape(runs, 2, bins), plan.edges, noise, Z)
    assert 0.93 <= coverage(area, auc) <= 0.985


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_intervals_of_errors_cover_sampling_and_noise(adjacency):
    """T88: MAE, RMSE and R^2 at n = 1000, epsilon = 1."""
    n, runs, rng = 1000, 2000, np.random.default_rng(7)
    known = n if adjacency == "replace_one" else None
    plan = plan_of(1.0, adjacency, task="regression", classes=None, label_range=(-1, 1), n=known)
    t, e = 0.35 * rng.normal(size=(runs, n)), 0.15 * rng.normal(size=(runs, n))
    t = np.clip(t + e, -1, 1)
    a, e2, t2 = np.abs(e), e * e, t * t
    parts = (np.ones_like(e), a, e2, t, t2, 3 * e2 * (1 - e2), 3 * t2 * (1 - t2), t * (1 - t2))
    sums = np.stack([part.sum(axis=1) for part in parts], axis=1) + plan.noise_deviation * rng.normal(size=(runs, 8))
    mae, rmse = error_intervals(sums[:, [0, 1, 2, 5]], plan.noise_deviation, Z, n=known)
    assert 0.93 <= coverage(mae, a.mean()) <= 0.985
    assert 0.93 <= coverage(rmse, math.sqrt(e2.mean())) <= 0.985
    assert 0.93 <= coverage(r2_interval(sums, plan.noise_deviation, Z, known), 1 - e2.mean() / t.var()) <= 0.985


def test_the_metrics_use_these_intervals():
    """Metrics of one release equal the vectorised functions that the benchmark measures."""
    y, scores = scored(1000, np.random.default_rng(8))
    plan = plan_of(1.0, "replace_one", n=1000)
    found = plan.draw(plan.read(y.astype(int), scores), NotPrivateBits(9).stream())
    noise = CellNoise(plan.noise_deviation, len(found.noisy), 1000)
    counts = noise.fitted(found.noisy)
    area = auc_interval(counts[:-1].reshape(2, -1), plan.edges, noise, Z)
    assert (found.auc.low, found.auc.high) == pytest.approx((float(area.low), float(area.high)))
    assert counts.sum() == pytest.approx(1000)


def truths(y, scores, weights=None):
    clipped = np.clip(scores, 0.01, 0.99)
    return {
        "auc": reference.roc_auc_score(y, scores, sample_weight=weights),
        "brier": reference.brier_score_loss(y, scores, sample_weight=weights),
        "log_loss": reference.log_loss(y, clipped, sample_weight=weights),
    }


LOG_ODDS = {
    "calibrated, 1.75 %": (-4.5, 1.0, 1.0, "auto"),
    "calibrated, 0.5 %": (-6.0, 1.2, 1.0, "auto"),
    "overconfident": (-1.0, 1.5, 8.0, "auto"),
    "timid": (-0.5, 1.0, 0.02, "auto"),
    "rare class in equal bins": (-4.5, 1.0, 1.0, EDGES),
    "rare class in two bins": (-4.5, 1.0, 1.0, 2),
}


@pytest.mark.parametrize("population", LOG_ODDS)
def test_intervals_of_a_million_records_contain_the_metrics_of_the_population(population):
    """Exact expected counts, without sampling and noise: only the reconstruction errs, and the intervals contain it."""
    mean, spread, factor, bins = LOG_ODDS[population]
    log_odds = mean + spread * norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    positive = 1 / (1 + np.exp(-log_odds))
    y, weights = np.repeat([0, 1], len(log_odds)), np.r_[1 - positive, positive]
    scores = np.tile(1 / (1 + np.exp(-factor * log_odds)), 2)
    plan = plan_of(bins=bins)
    places = y * (len(plan.edges) - 1) + np.searchsorted(plan.edges[1:-1], scores)
    found = Metrics(plan, 1e6 / weights.sum() * np.bincount(places, weights, minlength=plan.cells))
    for name, true in truths(y, scores, weights).items():
        one = getattr(found, name)
        assert one.low <= true <= one.high, name
        if population.startswith("calibrated"):
            assert one.high - one.low < {"auc": 0.1, "brier": 0.002, "log_loss": 0.01}[name]


@pytest.mark.parametrize("scale", [0.2, 0.3, 0.5, 1.0, 2.5])
def test_the_slack_exceeds_the_error_of_the_reconstructed_area(scale):
    """Normal and logistic densities, some of them inside one or two bins; "at most 0.001" as in T85."""
    edges = plan_of().edges
    bounds = np.log(np.array(edges[1:-1]) / (1 - np.array(edges[1:-1])))
    grid, excess = np.linspace(-25, 25, 20_001), []
    for cdf in (ndtr, lambda z: expit(1.81 * z)):
        for place in (-6.0, -4.5, -3.0, -1.2, 0.0, 0.2):
            for shift in (0.0, 1.0, 2.0):
                negative = lambda x, cdf=cdf, place=place: cdf((x - place) / scale)  # noqa: E731
                positive = lambda x, cdf=cdf, place=place, shift=shift: cdf((x - place) / scale - shift)  # noqa: E731
                area = negative((grid[1:] + grid[:-1]) / 2) @ np.diff(positive(grid))
                counts = np.stack([np.diff(np.r_[0.0, one(bounds), 1.0]) for one in (negative, positive)])
                error, slack = area - counts[0] @ pair_weights(edges) @ counts[1], pair_slack(counts, edges)
                excess.append(abs(error) - (slack.above if error > 0 else slack.below))
    assert max(excess) < 0.001


@pytest.mark.parametrize("bins", ["auto", 2])
@pytest.mark.parametrize("score", [0.0, 0.3, 0.5, 0.501, 1.0])
def test_records_with_one_score_have_intervals_that_admit_every_order(score, bins):
    """All records in one bin: nothing is known about the order, or about the scores inside the bin."""
    y = np.repeat([0, 1], [6000, 4000])
    found = without_noise(plan_of(bins=bins), y, np.full(10_000, score))
    assert (found.auc.low, found.auc.high) == (0.0, 1.0)
    for name, true in truths(y, np.full(10_000, score)).items():
        one = getattr(found, name)
        assert one.low <= true <= one.high, name


@pytest.mark.slow
def test_every_interval_of_the_benchmark_covers_at_least_93_percent():
    """Acceptance: the tables in docs/theory/evaluation.md, also for rare classes, and scores near 0, 1 and 0.5."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import evaluation_coverage
    finally:
        sys.path.pop(0)
    found = list(evaluation_coverage.rows())
    assert len(found) == 2 * 18 * 8 + 2 * 18 * 3
    assert [row for row in found if row.coverage < 0.93] == []
    assert [row for row in found if row.metric in ("AUC", "Brier score", "log loss") and row.ratio > 1.5] == []
    assert [row for row in found if row.coverage > 0.99 and row.ratio > 1.5] == []
    hard = [row for row in evaluation_coverage.hard_rows() if row.metric in METRICS_OF_SCORES]
    assert len(hard) == 4 * 24 * len(METRICS_OF_SCORES)
    assert [row for row in hard if row.coverage < 0.93] == []
    assert [row for row in hard if row.population.startswith("calibrated") and row.ratio > 2.2] == []


METRICS_OF_SCORES = ("accuracy", "Brier score", "log loss", "AUC")


def test_a_denominator_hidden_by_noise_gives_the_whole_range():
    hidden = Quadratic(np.array(100.0), np.array(0.0), np.array(100.0))
    found = ratio_interval(np.array(3.0), np.array(-1.0), hidden, Z, limits=(0.0, 1.0))
    assert (found.low, found.high, found.value) == (0.0, 1.0, 0.5)


def test_an_interval_beyond_the_range_is_moved_to_its_border():
    precise = Quadratic(np.array(1.0), np.array(0.0), np.array(0.0))
    found = ratio_interval(np.array(-10.0), np.array(100.0), precise, Z, limits=(0.0, 1.0))
    assert found.low == 0.0 and found.high == pytest.approx(Z / 100)


# --- degenerate tables ---

TABLES = {
    "no records": ([], []),
    "one record": ([1], [0.3]),
    "one class": ([0] * 50, [0.1] * 50),
    "undeclared labels": (["?"] * 20, [0.5] * 20),
    "invalid scores": ([0, 1] * 10, [math.nan] * 20),
}


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("table", TABLES)
def test_no_table_makes_a_classification_fail(table, epsilon):
    labels, scores = TABLES[table]
    plan = plan_of(epsilon, groups=DeclaredGroups("g", ("a", "b")))
    private, bits = plan.read(labels, scores, groups=["a"] * len(labels)), NotPrivateBits(0)
    for _ in range(5):
        assert_within_range(plan.draw(private, bits.stream()))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("labels", [[], [5.0], [None] * 9, [5.0] * 50, [math.inf, -1e300, "x"]])
def test_no_table_makes_a_regression_fail(labels, epsilon):
    plan = plan_of(
        epsilon, task="regression", classes=None, label_range=(0, 10), groups=DeclaredGroups("g", ("a", "b"))
    )
    private, bits = plan.read(labels, predictions=[5.0] * len(labels), groups=["a"] * len(labels)), NotPrivateBits(0)
    for _ in range(5):
        assert_within_range(plan.draw(private, bits.stream()))


def assert_within_range(found):
    data = found.to_dict()
    json.loads(json.dumps(data, allow_nan=False))
    assert str(found) and found._repr_html_() and len(found.table().rows) >= 3
    estimates = [*found.estimates.items(), *((name, one) for own in found.groups.values() for name, one in own.items())]
    for name, one in estimates:
        largest = {"log_loss": math.log(100), "mae": 5.0, "rmse": 5.0}.get(name, 1.0)
        smallest = -1.0 if name == "r_squared" else 0.0
        assert smallest - 1e-12 <= one.low <= one.value <= one.high <= largest + 1e-12


# --- the release ---


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_only_noisy_numbers_leave_a_release():
    y, scores = scored(300, np.random.default_rng(1))
    plan = plan_of(groups=DeclaredGroups("g", ("a",)))
    release = plan.run(y.astype(int), scores, groups=["a"] * 300, bits=NotPrivateBits(1))
    assert set(vars(release.value)) == {"plan", "noisy"}
    exact = class_counts(plan, plan.read(y.astype(int), scores, groups=["a"] * 300))
    assert not np.isin(release.value.noisy, exact).any()
    assert "300" not in str(release.record.public)
    assert release.record.public["release"] == "evaluation" and {"T85", "T6", "T10"} <= set(release.record.theorems)
    assert not release.record.is_private


def test_the_digest_of_a_release_covers_its_numbers_with_labels_of_numpy():
    arguments = {
        "classes": np.array([0, 1, 2]),
        "positive": np.int64(1),
        "groups": DeclaredGroups("g", np.array([1, 2])),
    }
    plan = plan_of(**arguments)
    private, bits = plan.read([0, 1, 2], np.eye(3), groups=[1, 2, 3]), NotPrivateBits(2)
    first, second = plan.draw(private, bits.stream()), plan.draw(private, bits.stream())
    assert str(float(first.noisy[-1])) in repr(first)
    assert digest(first) != digest(second)


def test_bad_shapes_are_refused_before_the_charge_without_a_value():
    plan = plan_of(1.0, "replace_one", n=3, groups=DeclaredGroups("g", ("a",)))
    groups = ["a"] * 3
    for labels, scores, own in [
        ([0, 1], [0.1, 0.2], ["a"] * 2),
        ([0, 1, 1], [0.777], groups),
        ([0, 1, 1], ["secret", 0.1, 0.2], groups),
        ([0, 1, 1], [0.1, 0.2, 0.777], ["secret"]),
    ]:
        with pytest.raises(DataError) as refusal:
            plan.read(labels, scores, groups=own)
        assert "secret" not in str(refusal.value) and "0.777" not in str(refusal.value)
    with pytest.raises(ParameterError, match="groups must be given"):
        plan.read([0, 1, 1], [0.1, 0.2, 0.3])
    with pytest.raises(ParameterError, match="classes must be given before"):
        EvaluationPlan(goal=GDP(1.0, "add_remove"), task="classification").read([1], [0.5])


def test_a_plan_explains_its_noise():
    texts = [str(fact) for fact in plan_of().why]
    assert "standard deviation 3.73 records" in texts[0]
    assert "noise would have standard deviation 17.6 (T89;" in texts[2]
    assert str(Estimate(0.5, 0.25, 0.75, 0.95)) == "0.500 [0.250, 0.750]"


def test_class_shares_and_the_largest_one_cover_the_population():
    """T86: three classes, two of which are equally frequent, so that noise chooses the largest share."""
    shares, runs, n = np.array([0.4, 0.4, 0.2]), 300, 4000
    plan = EvaluationPlan(goal=ApproxDP(1.0, 1e-5, "add_remove"), task="classification", classes=("a", "b", "c"))
    rng = np.random.default_rng(7)
    covered = np.zeros(4)
    for _ in range(runs):
        truth = rng.multinomial(n, shares)
        cells = np.append(np.repeat(truth / 3, 3), 0.0) + plan.noise_deviation * rng.normal(size=10)
        found = Metrics(plan, cells)
        every = [*found.class_shares.values(), found.baseline]
        covered += [one.low <= share <= one.high for one, share in zip(every, (*shares, 0.4), strict=True)]
        assert found.baseline.value == max(one.value for one in every[:3])
    assert (covered / runs >= 0.91).all()  # 0.95 less three standard errors
    assert (covered[:3] / runs < 0.995).all()
    data = found.to_dict()
    assert set(data["class_shares"]) == {"a", "b", "c"} and data["baseline"]["value"] == found.baseline.value


def test_metrics_hidden_by_the_noise_have_no_number_in_any_table():
    plan = plan_of(groups=DeclaredGroups("g", ("a",)))
    y, scores = scored(4000, np.random.default_rng(1))
    found = plan.run(y.astype(int), scores, groups=["a"] * 4000).value
    listed = {row[0]: row[1:] for row in found.table().rows}
    assert listed["accuracy, group other"] == ("hidden by the noise", "0 to 1")
    assert listed["accuracy, group a"][0] != "hidden by the noise"
    rows = utility_facts(found.to_dict())["metrics"]
    shown = {row["metric"]: row["estimate"] for row in map(shown_row, rows)}
    assert shown["accuracy, group other"] == "hidden by the noise" and isinstance(shown["accuracy"], float)
    errors = EvaluationPlan(goal=ApproxDP(1.0, 1e-5, "add_remove"), task="regression", label_range=(0, 50))
    assert all(row[1] == "hidden by the noise" for row in Metrics(errors, np.zeros(8)).table().rows)


def test_a_model_that_guesses_is_noted():
    y = np.arange(4000) % 5 == 0
    plan = plan_of()
    guess = plan.run(y.astype(int), np.full(4000, 0.2)).value
    assert guess.accuracy.value == pytest.approx(0.8, abs=0.05) and "no better than this guess" in str(guess)
    assert "no better than this guess" not in str(plan.run(y.astype(int), np.where(y, 0.9, 0.1)).value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"groups": DeclaredGroups("g", ("a", 2)), "bins": 1000},
        {"classes": ("x", "y", "z"), "positive": "y", "adjacency": "replace_one", "n": 4, "clip": 0.1, "level": 0.9},
        {"task": "regression", "classes": None, "label_range": (-1, 7)},
    ],
)
def test_metrics_are_rebuilt_from_their_plain_data(arguments):
    plan = plan_of(**arguments)
    labels = (plan.classes or (1.0, 2.0))[:2] * 2
    given = {"predictions": [1.0] * 4} if plan.classes is None else {"scores": np.eye(len(plan.classes))[[0, 1, 1, 0]]}
    found = plan.draw(plan.read(labels, groups=["a"] * 4, **given), NotPrivateBits(3).stream())
    data = json.loads(json.dumps(found.to_dict()))
    again = Metrics.from_dict(data)
    assert digest(again) == digest(found)
    assert json.loads(json.dumps(again.to_dict())) == data
    for damaged in (
        {**data, "noisy": data["noisy"][:-1]},
        {**data, "plan": {**data["plan"], "noise_standard_deviation": 1.0}},
        {key: value for key, value in data.items() if key != "plan"},
    ):
        with pytest.raises(EventFormatError):
            Metrics.from_dict(damaged)


@pytest.mark.parametrize(
    "scores", [[0.5, 0.5 + 0j], np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"), ["0.5", "0.1"], [None, 1j]]
)
def test_scores_that_are_not_real_numbers_are_refused(scores):
    with pytest.raises(DataError, match="must be an array of real numbers"):
        plan_of().read([0, 1], scores)


def test_infinite_scores_count_as_errors():
    found = without_noise(plan_of(), [1, 0, 1, 0], [math.inf, -math.inf, 0.9, 0.1])
    assert found.accuracy.value == pytest.approx(0.5)
