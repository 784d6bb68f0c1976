# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan records`` and ``dperm plan records-by-trial``: numbers of rows that are enough."""

from pathlib import Path

import pytest

from dperm.data.schema import Schema
from dperm.planner import Shape
from dperm.theory import compare_methods, objective_sample_order, output_sample_order, smallest_sample

EXCESS = "plan records --target-excess 0.05 --dim 10 --epsilon 1"
LOSS = "plan records-by-trial --target-loss 0.03 --dim 3 --epsilon 0.5 --method objective --quick"
PROBLEM = Shape(2, 10).problem()


def test_the_number_is_the_least_that_is_proved_to_be_enough(answered):
    found = answered(EXCESS)["records"]
    least = smallest_sample(PROBLEM, 0.05, epsilon=1.0, delta=1e-6, adjacency="replace_one")
    assert (found["n"], found["method"]) == (least.n, least.best.method)
    assert [(one["method"], one["n"]) for one in found["each"]] == list(least.each)
    bounds = [
        compare_methods(PROBLEM, n, epsilon=1.0, delta=1e-6, adjacency="replace_one")[0].bound
        for n in (least.n - 1, least.n)
    ]
    assert bounds[0] > 0.05 >= bounds[1]


def test_the_table_and_the_sentences_say_the_same(answered, ends):
    found, said = answered(EXCESS), ends(0, EXCESS).stdout
    for one in found["records"]["each"]:
        assert any(line.split() == [one["method"], f"{one['n']:,}"] for line in said.splitlines())
    assert found["records"]["sentence"] in said and "one-sided" in said and "no data were read" in said
    assert f"without privacy   {found['without_privacy']:,}" in said
    assert found["without_privacy"] <= found["records"]["n"]


def test_norms_and_privacy_count(answered):
    usual = answered(EXCESS)["records"]["n"]
    for more in ("--feature-norm 2", "--reference-norm 2"):
        assert answered(f"{EXCESS} {more}")["records"]["n"] > usual
    assert answered(f"{EXCESS} --adjacency add_remove")["records"]["n"] < usual
    pure = answered(f"{EXCESS} --delta 0")
    assert "gradient" not in {one["method"] for one in pure["records"]["each"]}


def test_orders_are_set_apart_and_are_those_of_the_theory(answered, ends):
    orders = {one["source"]: one["value"] for one in answered(EXCESS)["order_only"]}
    norm = PROBLEM.lipschitz
    known = {"epsilon": 1.0, "reference_norm": norm}
    assert orders["objective: Monteleoni, Theorem 4"] == objective_sample_order(0.05, 11, **known).value
    assert orders["output: Monteleoni, Theorem 5"] == output_sample_order(0.05, 11, **known).value
    assert any("Bellet" in name for name in orders)
    assert not any("Bellet" in one["source"] for one in answered(f"{EXCESS} --delta 0")["order_only"])
    proved, _, order = ends(0, EXCESS).stdout.partition("Orders of magnitude (T58)")
    assert "Monteleoni" in order and "are not bounds" in order and "Monteleoni" not in proved


def test_whether_a_number_is_enough_is_said(answered, ends):
    least = answered(EXCESS)["records"]["n"]
    assert answered(f"{EXCESS} --n {least}")["enough"] is True
    assert answered(f"{EXCESS} --n {least - 1}")["enough"] is False
    assert "enough" not in answered(EXCESS)
    assert f"{least:,} records suffice" in ends(0, f"{EXCESS} --n {least}").stdout
    said = ends(0, f"{EXCESS} --n {least - 1}").stdout
    assert f"{least - 1:,} records are fewer than the" in said and "does not prove that they are too few" in said


def test_trials_say_from_how_many_records_on_privacy_costs_little(answered, ends):
    found = answered(LOSS)
    records = found["records"]
    assert records["loss"] == 0.03 and records["points"]
    lost = {point["at"]: point["loss"] for point in records["points"]}
    before, after = (max(at for at in lost if at < records["n"]), min(at for at in lost if at >= records["n"]))
    assert lost[after] <= 0.03 < lost[before]
    said = ends(0, f"{LOSS} --n {2 * records['n']}").stdout
    assert "lost to privacy" in said and "synthetic tables" in said and " records suffice in these trials." in said
    assert answered(f"{LOSS} --n 100")["enough"] is False


def test_columns_and_norm_may_be_those_of_a_schema(desk, answered, ends):
    encoder = Schema.load(Path("schema.toml")).encoder
    columns, norm = len(encoder.feature_names), encoder.norm
    excess, loss = (
        "plan records --target-excess 0.05 --epsilon 1",
        "plan records-by-trial --target-loss 0.05 --epsilon 1 --quick --n 1000",
    )
    for line in (excess, loss):
        by_number = answered(f"{line} --dim {columns} --feature-norm {norm!r}")
        assert answered(f"{line} --schema schema.toml") == by_number
    said = ends(0, f"{excess} --schema schema.toml").stdout
    assert f"{columns} columns as the schema encodes them" in said and "bounds do" not in said


def test_letters_of_the_orders_are_explained(ends):
    said, pure = ends(0, EXCESS).stdout, ends(0, f"{EXCESS} --delta 0").stdout
    assert "R0: norm" in said and "g: target excess risk" in said and "q = (sqrt(d)" in said and " p: 0.05" in said
    assert "R0: norm" in pure and "q = " not in pure


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan records --target-excess 0.05 --epsilon 1", ["--dim or --schema is missing"]),
        ("plan records-by-trial --target-loss 0.05 --epsilon 1", ["--dim or --schema is missing"]),
        (
            "plan records --target-excess 0.1 --epsilon 1 --schema pay.toml",
            ["--target-excess needs two classes", "a range", "use dperm plan fit."],
        ),
        (
            "plan records-by-trial --target-loss 0.1 --epsilon 1 --schema schema.toml --feature-norm 2",
            ["--feature-norm belongs"],
        ),
        (
            "plan records --target-excess 0.1 --epsilon 1 --schema schema.toml --ledger a.ledger",
            ["No such option: --ledger"],
        ),
        ("plan records --target-excess 0.05 --dim 10", ["Missing option '--epsilon'"]),
        ("plan records --target-excess 0 --dim 10 --epsilon 1", ["--target-excess must be"]),
        ("plan records --target-excess 1e-9 --dim 10 --epsilon 1", ["--target-excess must be reachable"]),
        ("plan records --target-excess x --dim 10 --epsilon 1", ["--target-excess", "not a number"]),
        (f"{EXCESS} --n 0", ["--n must be"]),
        (f"{EXCESS} --quick", ["No such option: --quick"]),
        (f"{EXCESS} --balance 0.3", ["No such option: --balance"]),
        (f"{EXCESS} --method output", ["No such option: --method"]),
        (f"{EXCESS} --plot a.png", ["No such option: --plot"]),
        (f"{EXCESS} --schema schema.toml", ["--schema and --dim"]),
        (f"{LOSS} --no-trials", ["No such option: --no-trials"]),
        (f"{LOSS} --reference-norm 2", ["No such option: --reference-norm"]),
        (f"{LOSS} --n 0", ["--n must be"]),
        ("plan records-by-trial --target-loss 1.5 --dim 2 --epsilon 1", ["--target-loss must be"]),
        ("plan records-by-trial --target-loss 0.1 --dim 2 --epsilon 1 --method magic", ["--method must be one of"]),
    ],
)
def test_what_is_wrong_is_said(desk, refused, line, words):
    said = refused(line)
    assert all(word in said for word in words), said
