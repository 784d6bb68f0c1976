# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit`` as a user types it: what is learnt, what is said, and what is refused; the ledger has its own file."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.cli.fit_request import FitRequest
from dperm.sklearn.files import load_stored

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml"
PAY = "fit data.csv --target pay --epsilon 1 --schema pay.toml"


def left_behind(folder):
    """Files that nobody asked for."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_a_model_is_learnt_written_and_described(desk, ends):
    said = ends(0, FIT).stdout
    model = load_stored("model.dperm").estimator
    assert model.guarantee_ == ApproxDP(1.0, 1e-6, "replace_one")
    for words in (
        "model.dperm",
        "PrivateLogisticRegression",
        "objective",
        "epsilon = 1",
        "replace_one",
        "no --ledger",
    ):
        assert words in said
    assert left_behind(desk) == []


def test_the_model_is_the_one_of_the_python_api(desk, ends):
    from dperm.data.files import read_table
    from dperm.data.schema import Schema
    from dperm.sklearn import PrivateLogisticRegression

    ends(0, f"{FIT} --seed 7 --not-private --out seeded.dperm")
    schema = Schema.load(Path("schema.toml"))
    table = read_table(Path("data.csv"), {**schema.encoder.columns, "income": schema.target})
    labels = table.pop("income")
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        model = PrivateLogisticRegression(
            epsilon=1.0, feature_norm=schema.encoder.norm, classes=("<=50K", ">50K"), random_state=7
        ).fit(schema.encoder.transform(table), labels)
    assert (load_stored("seeded.dperm").estimator.coef_ == model.coef_).all()


def test_json_says_what_was_done(desk, answered):
    found = answered(FIT)
    assert found["guarantee"] == {"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace_one"}
    assert found["file"] == "model.dperm" and found["private"] and found["ledger"] == {} and found["charged"] == {}
    assert found["method"] == "objective" and found["why"] and "T37" in found["theorems"]


def test_the_file_names_the_features_and_keeps_the_schema(desk, ends):
    ends(0, FIT)
    stored = load_stored("model.dperm")
    assert stored.schema.target.name == "income"
    assert stored.estimator.statement_["public_quantities"]["columns"] == list(stored.schema.encoder.feature_names)
    assert not hasattr(stored.estimator, "feature_names_in_")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (FIT, "PrivateLogisticRegression"),
        (f"{FIT} --estimator svc", "PrivateLinearSVC"),
        (PAY, "PrivateLinearRegression"),
        (f"{PAY} --estimator huber", "PrivateHuberRegressor"),
        (f"{PAY} --estimator quantile --quantile 0.9", "PrivateQuantileRegressor"),
        (f"{PAY} --method sufficient", "PrivateLinearRegression"),
        ("fit data.csv --epsilon 1 --schema schema.toml", "PrivateLogisticRegression"),
    ],
)
def test_the_estimator_follows_from_the_target_unless_it_is_named(desk, answered, line, name):
    assert answered(line)["estimator"] == name
    model = load_stored("model.dperm").estimator
    assert type(model).__name__ == name
    if "quantile" in line:
        assert model.quantile == 0.9


def test_options_reach_the_plan(desk, answered):
    found = answered(f"{FIT} --delta 0 --adjacency add_remove --n 1000 --C 0.5 --clip 1 --method output")
    model = load_stored("model.dperm").estimator
    assert model.guarantee_ == PureDP(1.0, "add_remove")
    assert (found["method"], model.C, model.clip, model.n) == ("output", 0.5, 1.0, 1000)


def test_nothing_about_the_number_of_records_is_said_under_add_remove(desk, dperm):
    for more in ("", "--json"):
        said = dperm(f"{FIT} --adjacency add_remove --force {more}").output
        assert "1500" not in said and "1,500" not in said
    assert "1500" not in json.dumps(load_stored("model.dperm").estimator.statement_.to_dict())


def test_no_training_score_is_worked_out(desk, ends, monkeypatch):
    from dperm.sklearn import PrivateLogisticRegression

    for name in ("score", "predict", "decision_function"):
        monkeypatch.setattr(PrivateLogisticRegression, name, lambda *given: pytest.fail("the model was tried out"))
    ends(0, FIT)


def test_a_fit_without_noise_says_that_nothing_is_promised(desk, ends, answered):
    result = ends(0, "fit data.csv --epsilon inf --not-private --schema schema.toml")
    assert "NOT PRIVATE" in result.stdout and "Warning: this fit is NOT PRIVATE" in result.stderr
    assert load_stored("model.dperm").estimator.epsilon == math.inf
    assert answered("fit data.csv --epsilon inf --not-private --schema schema.toml --force")["guarantee"] is None


def test_a_seed_makes_the_model_reproducible_and_not_private(desk, ends):
    for name in ("a", "b"):
        result = ends(0, f"{FIT} --seed 3 --not-private --out {name}.dperm")
        assert "NOT PRIVATE" in result.stdout and "NOT PRIVATE" in result.stderr
    one, other = load_stored("a.dperm").estimator, load_stored("b.dperm").estimator
    assert (one.coef_ == other.coef_).all() and one.guarantee_ is None


def test_many_indicators_make_sparse_features_and_the_same_model(desk, ends):
    from dperm.sklearn import files

    names = ", ".join(f'"w{place}"' for place in range(40))
    wide = (
        Path("schema.toml")
        .read_text()
        .replace('"private", "public", "self",', f'"private", "public", "self", {names},')
    )
    Path("wide.toml").write_text(wide)
    ends(0, "fit data.csv --epsilon 1 --schema wide.toml --seed 1 --not-private --out sparse.dperm")
    files._CROWDED, kept = 100, files._CROWDED
    try:
        ends(0, "fit data.csv --epsilon 1 --schema wide.toml --seed 1 --not-private --out dense.dperm")
    finally:
        files._CROWDED = kept
    one, other = load_stored("sparse.dperm").estimator.coef_, load_stored("dense.dperm").estimator.coef_
    np.testing.assert_allclose(one, other, atol=1e-6)


WOULD_LEAK = [
    (
        "fit data.csv --target income --epsilon 1",
        ["--schema", "taken from the data", "dperm schema draft data.csv --target income"],
    ),
    ("fit data.csv --epsilon 1 --schema nothing.toml", ["no column", "from the data", "dperm schema draft data.csv"]),
    ("fit data.csv --epsilon 1 --schema draft.toml", ["columns.age", "from the data", "dperm schema draft data.csv"]),
    ("fit data.csv --epsilon 1 --schema half.toml", ["columns.age.low", "FILL IN", "draft is not filled in"]),
    ("fit data.csv --target income --epsilon 1 --schema open.toml", ["target", "classes", "from the data", "draft"]),
    ("fit data.csv --epsilon inf --schema schema.toml", ["--epsilon inf", "--not-private"]),
    (f"{FIT} --seed 1", ["--seed", "--not-private"]),
]


@pytest.mark.parametrize(("line", "words"), WOULD_LEAK, ids=range(len(WOULD_LEAK)))
def test_what_would_leak_is_refused_with_code_four(desk, ends, line, words):
    Path("nothing.toml").write_text("")
    Path("draft.toml").write_text("[columns.age]\n# low = 0\n")
    Path("half.toml").write_text('[columns.age]\nlow = "FILL IN"\nhigh = 9\n')
    Path("open.toml").write_text("[columns.age]\nlow = 0\nhigh = 9\n")
    said = ends(4, line).stderr
    assert all(word in said for word in words), said
    assert not Path("model.dperm").exists()


BAD = [
    ("fit missing.csv --epsilon 1 --schema schema.toml", ["missing.csv", "No such file"]),
    ("fit data.csv --epsilon 1 --schema missing.toml", ["missing.toml", "No such file"]),
    ("fit data.csv --epsilon 1 --schema broken.toml", ["broken.toml", "not TOML", "line 1"]),
    ("fit data.csv --epsilon 1 --schema latin.toml", ["latin.toml", "UTF-8"]),
    ("fit data.csv --target wages --epsilon 1 --schema schema.toml", ["--target", "'wages'", "'income'"]),
    ("fit data.csv --schema schema.toml", ["--epsilon is missing"]),
    ("fit data.csv --epsilon 0 --schema schema.toml", ["epsilon", "0"]),
    ("fit data.csv --epsilon nan --schema schema.toml", ["epsilon", "nan"]),
    ("fit data.csv --epsilon 501 --schema schema.toml", ["epsilon", "501"]),
    ("fit data.csv --epsilon one --schema schema.toml", ["--epsilon", "'one'"]),
    (f"{FIT} --delta 2", ["delta", "2"]),
    (f"{FIT} --adjacency replace", ["adjacency must be", "'replace'"]),
    (f"{FIT} --method magic", ["method must be one of", "'magic'"]),
    (f"{FIT} --estimator forest", ["--estimator", "'forest'"]),
    (f"{FIT} --estimator linear", ["--estimator linear", "a range", "classes"]),
    (f"{PAY} --estimator svc", ["--estimator svc", "classes", "a range"]),
    (f"{FIT} --quantile 0.5", ["--quantile", "--estimator quantile"]),
    (f"{PAY} --estimator quantile --quantile 2", ["quantile", "2"]),
    (f"{FIT} --C 0", ["C must be"]),
    (f"{FIT} --clip 2", ["clip must be"]),
    (f"{FIT} --n 0", ["n must be"]),
    (f"{FIT} --n 7", ["--n must be the number of records", "got 7. Leave --n out", "replace_one"]),
    (f"{FIT} --account census", ["--account", "--ledger"]),
    (f"{FIT} --request-id a", ["--request-id", "--ledger"]),
    (f"{FIT} --out data.csv --force", ["--out", "data.csv", "input files"]),
    (f"{FIT} --out schema.toml --force", ["--out", "schema.toml", "input files"]),
    (f"{FIT} --out nowhere/model.dperm", ["--out", "no directory nowhere"]),
    (f"{FIT} --out .", ["--out", "directory"]),
    (f"{FIT} --out taken.dperm", ["taken.dperm exists", "--force"]),
    ("fit data.txt --epsilon 1 --schema schema.toml", ["data.txt", ".csv"]),
]


@pytest.mark.parametrize(("line", "words"), BAD, ids=range(len(BAD)))
def test_a_bad_request_is_refused_with_code_two_and_nothing_is_written(desk, ends, line, words):
    Path("broken.toml").write_text("[columns.age\nlow = 1")
    Path("latin.toml").write_bytes(b"# \xe4\n")
    Path("taken.dperm").write_text("precious")
    Path("data.txt").write_text("age\n1\n")
    before = sorted(path.name for path in desk.iterdir())
    said = ends(2, line).stderr
    assert all(word in said for word in words), said
    assert sorted(path.name for path in desk.iterdir()) == before
    assert Path("taken.dperm").read_text() == "precious"


def test_an_existing_model_is_replaced_by_force_only(desk, ends):
    Path("model.dperm").write_text("old")
    ends(2, FIT)
    assert Path("model.dperm").read_text() == "old"
    ends(0, f"{FIT} --force")
    assert load_stored("model.dperm").estimator.guarantee_ is not None


def test_wrong_options_are_found_before_the_data_are_read(desk, ends, monkeypatch):
    from dperm.data import large_tables

    monkeypatch.setattr(large_tables, "table", lambda *given, **more: pytest.fail("the data were read"))
    for more in ("--method magic", "--C -1", "--clip 7", "--out nowhere/m", "--estimator linear"):
        ends(2, f"{FIT} {more}")


def test_a_plan_is_not_needed_to_know_that_nothing_is_planned_without_noise(desk):
    from dperm.data.schema import Schema

    request = FitRequest(
        schema=Schema.load(Path("schema.toml")),
        epsilon=math.inf,
        delta=1e-6,
        adjacency="add_remove",
        method="auto",
        estimator=None,
        C=None,
        clip=None,
        n=10,
        quantile=None,
    )
    assert not request.is_planned and request.plan() is None


@pytest.mark.parametrize(("line", "plans"), [(f"{FIT} --n 1500", 1), (f"{FIT} --adjacency add_remove", 1), (FIT, 2)])
@pytest.mark.parametrize("charged", [False, True])
def test_a_fit_plans_once(opened, ends, monkeypatch, line, plans, charged):
    """Without a public n, the options are checked before the data are read, on a plan for a stand-in number."""
    import dperm.methods.choose  # noqa: F401  # the package has a function of the same name

    choose = sys.modules["dperm.methods.choose"]
    numbers, chosen = [], choose.choose

    def counted(spec, goal, method):
        numbers.append(spec.n)
        return chosen(spec, goal, method)

    monkeypatch.setattr(choose, "choose", counted)
    opened(adjacency="add_remove" if "add_remove" in line else "replace_one")
    ends(0, f"{line} {'--ledger census.ledger' if charged else ''}")
    assert len(numbers) == plans and numbers[-1] == (None if "add_remove" in line else 1500)


def test_a_plan_that_was_made_ahead_is_run_only_for_the_same_public_constants():
    import numpy as np

    from dperm.sklearn import PrivateLogisticRegression

    model = PrivateLogisticRegression(epsilon=1.0, feature_norm=1.0, classes=(0, 1))
    ahead = model._plan_ahead(200, 2)
    X, y = np.zeros((200, 2)), np.arange(200) % 2
    assert model.fit(X, y).plan_ is ahead
    assert model.fit(X[:100], y[:100]).plan_.spec.n == 100
    assert model.set_params(epsilon=2.0).fit(X, y).plan_.goal.epsilon == 2.0
    assert model.set_params(epsilon=1.0, method="output").fit(X, y).plan_.method == "output"


def test_weak_protection_is_printed_by_the_fit_and_by_its_plan(desk, ends):
    weak = (
        "WEAK: an attacker who must choose between two equally likely possibilities for one record can be right more "
        "than 99.9999 % of the time"
    )
    assert weak in ends(0, FIT.replace("--epsilon 1", "--epsilon 20")).stdout
    plan = "plan fit --schema schema.toml --n 100"
    assert weak in ends(0, f"{plan} --epsilon 20").stdout and "WEAK" not in ends(0, f"{plan} --epsilon 1").stdout
    for line in (f"{FIT} --out other.dperm --json", f"{plan} --epsilon 1 --json"):
        found = json.loads(ends(0, line).stdout)["protection"]
        assert found["level"] == "strong" and 0.73 < found["success"] < 0.74 and 0 < found["detection"] < 0.02
