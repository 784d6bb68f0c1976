# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Wide tables of numbers: scaling, row norms, bounds and principal components (T72, T74, T76, T78)."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from dperm import ApproxDP, account
from dperm.accounting import MemoryBudget
from dperm.accounting.events import Gaussian
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.data import Numeric, PublicEncoder
from dperm.data.row_scaling import scaled_down
from dperm.errors import ConversionError, DataError, ParameterError
from dperm.mechanisms.releases import Covariance
from dperm.noise import NotPrivateBits
from dperm.preparation import Encoding, NumberPlan, TargetKind
from dperm.preparation.plan import PreparationPlan, PrivateColumns
from dperm.preparation.row_norms import NORM_BINS, noisy_row_norms, norm_counts, norm_edges
from dperm.privacy import Adjacency
from dperm.sensitivity.preparation import norm_histogram_sensitivity, pooled_count_sensitivity
from dperm.sklearn import (
    PrivateBounds,
    PrivateLinearRegression,
    PrivatePCA,
    PrivateScaler,
    PrivateTableClassifier,
    PrivateTableRegressor,
    load_model,
)

BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
ODD = [None, math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, 10**400, True, "x", " 1.0 ", [1], pd.NA, 1j]
CHANGED = {Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE_ONE: 2}


def wide(n=3000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(5.0, 2.0, (n, d)) * np.geomspace(1e-3, 1e3, d)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_record_moves_the_histogram_of_row_norms_by_its_sensitivity(adjacency):
    """T76 from both sides: every norm, at the edges of the grid and beyond its ends, is in exactly one interval."""
    edges = norm_edges(math.sqrt(7))
    assert edges[-1] == math.sqrt(7) and (np.diff(edges) > 0).all() and len(edges) == NORM_BINS + 1
    near = [edges, np.nextafter(edges, 0), np.nextafter(edges, np.inf), [0.0, 5e-324, 1e300, np.inf]]
    norms, base = np.concatenate(near), np.array([1.0, 2.0])
    assert norm_counts(norms, edges).sum() == len(norms)
    other = base if CHANGED[adjacency] == 1 else np.append(base, edges[3])
    moves = [np.linalg.norm(norm_counts(np.append(base, one), edges) - norm_counts(other, edges)) for one in norms]
    most = norm_histogram_sensitivity(adjacency)
    assert max(moves) == pytest.approx(math.sqrt(CHANGED[adjacency]), rel=1e-12)
    assert max(moves) <= most <= max(moves) * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_record_moves_pooled_counts_by_their_sensitivity(adjacency):
    """T72: d cells in one bin, against d cells in another one."""
    base = {name: [1.0, None] for name in "abc"}
    others = {name: [*cells, "x"] for name, cells in base.items()} if CHANGED[adjacency] == 2 else base

    def pooled(table):
        return PrivateColumns.of(table).counts.reshape(3, -1).sum(axis=0)

    rows = ([5.0, 5.0, 5.0], [5.0, "x", 0.0], [None, math.inf, 1e300])
    tables = [{name: [*base[name], cell] for name, cell in zip("abc", row, strict=True)} for row in rows]
    moves = [np.linalg.norm(pooled(table) - pooled(others)) for table in tables]
    most = pooled_count_sensitivity(3, adjacency)
    assert max(moves) == pytest.approx(3 * math.sqrt(CHANGED[adjacency]), rel=1e-12)
    assert max(moves) <= most <= max(moves) * (1 + 1e-12)


@BOTH
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("row_norm", [False, True])
def test_a_plan_of_numbers_spends_its_goal(adjacency, pooled, row_norm):
    goal = ApproxDP(0.7, 1e-6, adjacency)
    plan = NumberPlan.for_goal(["a", "b", "c"], goal, pooled=pooled, row_norm=row_norm)
    assert 0.98 * goal.delta <= account(plan.event, adjacency).delta(goal.epsilon) <= goal.delta
    once = {"add_remove": 1, "replace_one": 2}[adjacency]
    moved = (9 if pooled else 3) * once  # squared sensitivity of each of the first two releases
    spent = moved / plan.profile_noise.scale**2 + moved / plan.value_noise.scale**2
    spent += once / plan.norm_noise.scale**2 if row_norm else 0
    assert math.sqrt(spent) == pytest.approx(plan.mu, rel=1e-5)


@BOTH
def test_the_event_of_a_scaled_table_has_the_row_norms(adjacency):
    """T70, T76: three releases, whose event depends on public numbers alone."""
    columns = tuple(f"c{place}" for place in range(5))
    known = {"columns": columns, "target": "y", "task": TargetKind.CLASSIFICATION}
    known |= {"adjacency": Adjacency.of(adjacency), "mu": 0.2, "threshold_delta": 1e-6}
    plans = {encoding: PreparationPlan(encoding=encoding, **known) for encoding in Encoding}
    scaled, bins = plans[Encoding.SCALED], plans[Encoding.BINS]
    assert bins.norm_noise is None and "row_norm" not in str(bins.public)
    once = {"add_remove": 1, "replace_one": 2}[adjacency]
    sigmas = scaled.profile_noise.scale, scaled.value_noise.scale, scaled.norm_noise.scale
    spent = 6 * once / sigmas[0] ** 2 + 6 * once / sigmas[1] ** 2 + once / sigmas[2] ** 2
    assert math.sqrt(spent) == pytest.approx(0.2, rel=1e-5)
    gaussian = Gaussian(1 / 0.2) if adjacency == "add_remove" else ReplaceOneOnly(Gaussian(2 / 0.2))
    least = account(gaussian, adjacency).delta(0.5)
    assert least <= account(scaled.event, adjacency).delta(0.5) <= least + 1.1e-6
    whole = account(scaled.event, adjacency).delta(0.5)
    assert whole == pytest.approx(account(bins.event, adjacency).delta(0.5), rel=1e-3)


def test_the_median_of_the_row_norms_is_found():
    plan = NumberPlan.for_goal(["a"], ApproxDP(1.0, 1e-6, "add_remove"), row_norm=True)
    norms = np.random.default_rng(0).uniform(1.0, 3.0, 5001)
    found = noisy_row_norms(norms, 10.0, plan.norm_noise, NotPrivateBits(0).stream())
    assert 2.0 * 2**-0.25 <= found.norm <= 2.0 * 2**0.25
    assert noisy_row_norms(np.empty(0), 10.0, plan.norm_noise, NotPrivateBits(3).stream()).norm in (
        10.0,
        *norm_edges(10.0).tolist(),
    )


@pytest.mark.parametrize("cell", ODD, ids=lambda cell: ascii(cell)[:20])
def test_a_row_norm_depends_on_its_own_record(cell):
    """A cell that changes the type of a column changes no other norm, and no entry leaves [-1, 1]."""
    encoder = PublicEncoder({"a": Numeric(1, 3, canonical=True), "b": Numeric(-1e-5, 1e300 / 1e201, canonical=True)})
    base = {"a": [1, 2, 3], "b": [True, False, True]}
    alone = encoder.row_norms(base, unseen="other")
    longer = encoder.row_norms({name: [*cells, cell] for name, cells in base.items()}, unseen="other")
    assert longer[:3].tolist() == alone.tolist()
    assert 0 <= longer[3] <= encoder.norm
    rows = encoder.transform(base, unseen="other")
    assert alone == pytest.approx(np.linalg.norm(rows, axis=1), rel=1e-15)


def test_rows_are_scaled_down_to_the_norm():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [1e308, 1e308], [5e-324, 0.0], [np.nextafter(5, 6), 0.0]])
    found = scaled_down(rows, 5.0)
    assert (np.linalg.norm(found, axis=1) <= 5.0).all()
    assert found[1].tolist() == [0.3, 0.4] and found[3] == pytest.approx([math.sqrt(12.5)] * 2)
    assert found[0] == pytest.approx([3.0, 4.0]) and found[4, 0] == 5e-324


@BOTH
def test_a_scaler_bounds_every_row_and_states_its_guarantee(adjacency):
    X = wide()
    budget = MemoryBudget(ApproxDP(2.5, 2e-5, adjacency), blocks=1)
    scaler = PrivateScaler(epsilon=2.0, delta=1e-5, adjacency=adjacency, ledger=budget).fit(X)
    assert scaler.guarantee_ == ApproxDP(2.0, 1e-5, adjacency)
    assert scaler.statement_["goal"]["epsilon"] == 2.0 and "T76" in scaler.record_.theorems
    rows = scaler.transform(X)
    assert rows.shape == X.shape and (np.linalg.norm(rows, axis=1) <= scaler.norm_).all()
    assert 0.3 < np.mean(np.linalg.norm(rows, axis=1) > 0.999 * scaler.norm_) < 0.7
    assert np.abs(scaler.center_ / np.median(X, axis=0) - 1).max() < 0.2
    odd = X[: len(ODD)].astype(object)
    odd[:, 3] = ODD
    assert np.isfinite(scaler.transform(odd)).all() and scaler.transform(odd)[0, 3] == 0
    with pytest.raises(Exception, match=r"budget|limit|releases"):  # one charge for the only block
        scaler.fit(X)


def test_scalers_read_arrays_lists_and_tables_alike():
    X = wide(400, 3)
    forms = [
        X,
        X.tolist(),
        [tuple(row) for row in X],
        pd.DataFrame(X),
        pd.DataFrame(X).astype(object),
        X.astype(object),
    ]
    found = []
    for form in forms:
        with pytest.warns(match="NOT PRIVATE"):
            scaler = PrivateScaler(epsilon=3.0, random_state=1).fit(form)
        assert scaler.guarantee_ is None
        found.append(
            (scaler.norm_, *scaler.center_, *np.nan_to_num(scaler.scale_), *scaler.transform(form)[:5].ravel())
        )
    assert all(one == found[0] for one in found)
    for wrong in (X[0], [[1, 2], [3]], [], np.ma.masked_array(X), "text", [1, 2]):
        with pytest.raises(DataError):
            PrivateScaler().fit(wrong)
    with pytest.raises(ConversionError):
        PrivateScaler(delta=0.0).fit(X)
    with pytest.raises(ParameterError, match="pooled"):
        PrivateScaler(pooled="yes").fit(X)


def test_nothing_in_the_cells_raises_an_error():
    """Tables in which nothing is found, or that hold odd cells only, have a scaler with bounded rows (T70)."""
    n = 300
    tables = [np.full((n, 2), np.nan), np.full((n, 2), 1e308), np.full((n, 1), 7.0), [["x", None]] * n, [ODD] * n]
    for table in tables:
        for pooled in (False, True):
            scaler = PrivateScaler(epsilon=5.0, delta=1e-4, pooled=pooled).fit(table)
            assert (np.linalg.norm(scaler.transform(table), axis=1) <= scaler.norm_).all()
        bounds = PrivateBounds(epsilon=5.0, delta=1e-4).fit(table)
        assert all(low < high for low, high in bounds.bounds_)
        assert np.isfinite(bounds.transform(table)).all()


def test_pooled_columns_share_one_scale_with_less_noise():
    pixels = np.random.default_rng(0).choice([0.0, 255.0, 128.0], (3000, 40), p=[0.7, 0.2, 0.1])
    scaler = PrivateScaler(epsilon=1.0, delta=1e-5, adjacency="add_remove", pooled=True).fit(pixels)
    assert set(scaler.center_.tolist()) == {0.0} and len(set(scaler.scale_.tolist())) == 1
    assert scaler.scale_[0] == pytest.approx(255, rel=0.1)
    one, each = (NumberPlan.for_goal(list("abcd"), scaler.guarantee_, pooled=pooled) for pooled in (True, False))
    assert one.profile_noise.scale / 4 == pytest.approx(each.profile_noise.scale / 2, rel=1e-6)


def test_bounds_serve_an_estimator():
    X = np.random.default_rng(0).uniform(10.0, 20.0, (4000, 3))
    bounds = PrivateBounds(epsilon=2.0, delta=1e-5).fit(X)
    assert all(9 < low < 12 and 18 < high < 21 for low, high in bounds.bounds_)
    model = PrivateLinearRegression(epsilon=2.0, delta=1e-5, bounds=bounds.bounds_, label_range=(30, 60))
    clipped = bounds.transform(np.where(np.random.default_rng(1).random(X.shape) < 0.01, np.nan, X))
    assert model.fit(clipped, X.sum(axis=1)).score(X, X.sum(axis=1)) > 0.8
    with pytest.raises(ParameterError, match="quantiles"):
        PrivateBounds(quantiles=(0.9, 0.1)).fit(X)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_record_moves_a_second_moment_by_its_sensitivity(adjacency):
    """T78: R^2 under add/remove without a count, sqrt(2) R^2 under replace-one, both attained."""
    replaces = adjacency is Adjacency.REPLACE_ONE
    base = [[0.5, 0.5, 0.0], [1.0, -1.0, 1.0]]
    known = {"norm": 2.0, "dim": 3, "average": False, "n": 3 if replaces else None}
    moment = Covariance(ApproxDP(1.0, 1e-6, adjacency), **known)

    def statistic(rows):
        return moment.fixed_point.doubles(moment.totals(np.array(rows)).values)

    rows = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [30.0, 40.0, 0.0], [1.0, 1.0, -1.0], [1e200, -1e200, 1e200], [0.0] * 3]
    pairs = [(one, other) for one in rows for other in rows] if replaces else [(one, None) for one in rows]
    moves = [
        np.linalg.norm(statistic([*base, one]) - statistic(base + [other] * (other is not None)))
        for one, other in pairs
    ]
    assert max(moves) == pytest.approx(4 * math.sqrt(CHANGED[adjacency]), rel=1e-4)
    assert max(moves) <= moment.mechanism.sensitivity


def test_the_noise_off_the_diagonal_is_smaller():
    """T78: sigma / sqrt(2) off the diagonal, for a release with sigma on it."""
    dim = 90
    moment = Covariance(ApproxDP(1.0, 1e-6, "add_remove"), norm=1.0, dim=dim, average=False)
    with pytest.warns(match="NOT PRIVATE"):
        noisy = moment.release(np.zeros((1, dim)), bits=NotPrivateBits(1)).value / moment.mechanism.scale
    off, on = noisy[np.triu_indices(dim, 1)], np.diag(noisy)
    assert off.std() == pytest.approx(math.sqrt(0.5), rel=0.05)
    assert on.std() == pytest.approx(1.0, rel=0.3)
    errors = moment.standard_error
    assert errors[0, 0] / errors[0, 1] == pytest.approx(math.sqrt(2), rel=2e-4)


@BOTH
@pytest.mark.parametrize("n", [None, 6000])
def test_principal_components_never_lengthen_a_row(adjacency, n):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = rng.normal(size=(6000, 5)) * [1.0, 0.5, 0.1, 0.05, 0.01] @ axes.T
    pca = PrivatePCA(2, epsilon=2.0, delta=1e-5, feature_norm=2.0, adjacency=adjacency, n=n).fit(X)
    assert np.abs(pca.components_ @ pca.components_.T - np.eye(2)).max() < 1e-12
    assert abs(pca.components_[0] @ axes[:, 0]) > 0.98
    assert pca.explained_variance_[0] == pytest.approx(1.0, rel=0.2)
    rows = pca.transform(np.vstack([X, 1e6 * X]))
    assert (np.linalg.norm(rows, axis=1) <= pca.norm_).all()
    assert pca.guarantee_ == ApproxDP(2.0, 1e-5, adjacency) and pca.get_feature_names_out()[1] == "privatepca1"
    with pytest.raises(ParameterError, match="n_components"):
        PrivatePCA(9).fit(X)
    with pytest.raises(DataError):
        pca.transform(np.full((1, 5), np.nan))


def images(n=4000, d=30, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    pixels = rng.poisson(5.0 + 40 * (np.arange(d)[None, :] % 2 == labels[:, None]))
    return pd.DataFrame(pixels, columns=[f"p{place}" for place in range(d)]), pd.Series(labels, name="digit")


def test_a_scaled_table_is_one_release_and_survives_its_file(tmp_path):
    X, y = images()
    known = {"epsilon": 3.0, "delta": 1e-5, "adjacency": "add_remove", "n": len(X)}
    model = PrivateTableClassifier(encoding="scaled", **known).fit(X, y)
    assert model.guarantee_ == ApproxDP(3.0, 1e-5, "add_remove") and model.score(X, y) > 0.9
    assert model.prepared_.rows is not None and model.model_.feature_norm == model.prepared_.norm
    assert model.prepared_.norm < model.schema_.encoder.norm
    assert all(isinstance(column, Numeric) and not column.bins for column in model.schema_.encoder.columns.values())
    assert {"T70", "T76"} <= set(model.record_.theorems)
    model.save(tmp_path / "model.dperm")
    loaded = load_model(tmp_path / "model.dperm")
    assert (loaded.predict(X) == model.predict(X)).all()
    with pytest.warns(match="records by a noisy count"):
        other = PrivateTableClassifier(encoding="scaled", **known).fit(*images(400, seed=1))
    assert other.plan_.event == model.plan_.event


def test_a_regression_of_a_scaled_table_learns():
    X, _ = images()
    pay = X.sum(axis=1).to_numpy() + np.random.default_rng(1).normal(size=len(X))
    model = PrivateTableRegressor(encoding="scaled", epsilon=4.0, delta=1e-5).fit(X, pay)
    assert model.score(X, pay) > 0.7 and model.prepared_.rows is not None
    assert model.guarantee_ == ApproxDP(4.0, 1e-5, "replace_one")


def test_the_number_of_columns_chooses_the_encoding():
    names = [f"c{place}" for place in range(201)]
    wide_one, narrow = (
        PrivateTableClassifier(delta=1e-5).plan([*some, "y"], "y", n=100) for some in (names, names[:200])
    )
    assert wide_one.preparation.encoding is Encoding.SCALED and narrow.preparation.encoding is Encoding.BINS
    assert any("T76" in str(reason) for reason in wide_one.why)
    with pytest.raises(ParameterError, match="encoding"):
        PrivateTableClassifier(encoding="other").plan(names, "y", n=100)


@pytest.mark.filterwarnings("ignore:the preparation found")
@pytest.mark.filterwarnings("ignore:The metrics come from")
def test_scaled_tables_with_odd_cells_and_text_have_models():
    n = 500
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, "yes", "no")
    odd = pd.Series(["x"] * n, dtype=object)
    odd[: len(ODD)] = ODD
    tables = [
        {"a": odd, "b": np.arange(n), "c": rng.choice(["u", "v"], n)},
        {"a": [None] * n},
        {"a": np.full(n, 1e308), "b": np.full(n, 5e-324)},
    ]
    for table in tables:
        with warnings.catch_warnings(record=True, action="always") as caught:
            model = PrivateTableClassifier(encoding="scaled", epsilon=4.0, delta=1e-4).fit(table, y)
        said = [str(one.message) for one in caught if "The metrics come from" not in str(one.message)]
        assert ["every prepared column" in one for one in said] == [True] * model.prepared_.nothing_found
        assert set(model.predict(table)) <= {"no", "yes"}
        assert 0 < model.prepared_.norm <= model.schema_.encoder.norm
    declared = PrivateTableClassifier(encoding="scaled", epsilon=4.0, delta=1e-4, columns={"b": Numeric(0, 500)})
    assert declared.fit(tables[0], y).prepared_.rows is not None
