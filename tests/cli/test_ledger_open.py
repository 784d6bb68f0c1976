# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger open``."""

import json
from fractions import Fraction

import pytest

from dperm import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.ledger import Anchor, Ledger
from dperm.privacy.guarantee import guarantee_as_dict

OPEN = "ledger open census.ledger --dataset 'census 2026' --adjacency replace_one"
LIMITS = {
    "--epsilon 3": PureDP(3.0, "replace_one"),
    "--epsilon 3 --delta 0": PureDP(3.0, "replace_one"),
    "--epsilon 3 --delta 1e-6 --blocks 10": ApproxDP(3.0, 1e-6, "replace_one"),
    "--epsilon 3 --delta 1e-6 --blocks 10 --composition advanced": ApproxDP(3.0, 1e-6, "replace_one"),
    "--rho 0.5": ZCDP(0.5, "replace_one"),
    "--mu 1": GDP(1.0, "replace_one"),
    "--order 8 --tau 0.5": RDP([(8.0, 0.5)], "replace_one"),
}


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", LIMITS)
def test_the_account_has_the_limit_of_the_options(answered, line):
    found = answered(f"{OPEN} {line}")
    facts = Ledger("census.ledger").account_facts
    assert facts.limit == LIMITS[line]
    assert found["limit"] == json.loads(json.dumps(guarantee_as_dict(facts.limit)))
    assert (facts.name, facts.dataset, facts.unit) == ("main", "census 2026", "one record")
    assert facts.blocks == (10 if "--blocks" in line else None)
    assert facts.composition == ("advanced" if "advanced" in line else "basic")
    assert found["share"] == facts.share
    assert found["spent"] == dict.fromkeys(facts.rule.names, 0.0)


def test_everything_declared_is_in_the_books(answered, tmp_path):
    (tmp_path / "data.csv").write_text("age\n41\n")
    answered(f"{OPEN} --epsilon 3 --unit 'one person'")
    more = "--account research --parent main --approval --data data.csv"  # the unit is that of the parent
    found = answered(f"{OPEN} --rho 0.5 {more}")
    ledger = Ledger("census.ledger", "research")
    facts = ledger.account_facts
    assert (facts.parents, facts.approval, facts.unit) == (("main",), True, "one person")
    assert facts.fingerprints == (ledger.fingerprint("data.csv"),)
    assert found["fingerprints"] == list(facts.fingerprints)
    assert Ledger("census.ledger").accounts() == ("main", "research")


def test_a_pattern_registers_its_files_in_the_order_of_names(answered, tmp_path):
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).write_text(f"age\n{name}\n")
    found = answered(f"{OPEN} --epsilon 3 --data '*.csv' --data c.txt")
    ledger = Ledger("census.ledger")
    assert found["fingerprints"] == [ledger.fingerprint(name) for name in ("a.csv", "b.csv", "c.txt")]


def test_the_anchor_that_is_printed_is_the_ledgers_own(dperm):
    out = dperm(f"{OPEN} --epsilon 3").stdout
    anchor = Anchor.from_json(out.splitlines()[-1])
    assert anchor.is_signed
    assert anchor == Ledger("census.ledger").anchor()
    assert anchor.ledger in out


def test_the_anchor_is_written_where_it_was_asked_for(dperm, tmp_path):
    out = dperm(f"{OPEN} --epsilon 3 --write-anchor anchor.json").stdout
    assert Anchor.from_json((tmp_path / "anchor.json").read_text()) == Ledger("census.ledger").anchor()
    assert "anchor.json" in out
    assert "signature" not in out


def test_an_anchor_that_is_there_is_kept_and_nothing_is_opened(refused, dperm, tmp_path):
    (tmp_path / "anchor.json").write_text("kept")
    assert "--write-anchor" in refused(f"{OPEN} --epsilon 3 --write-anchor anchor.json")
    assert (tmp_path / "anchor.json").read_text() == "kept"
    assert not (tmp_path / "census.ledger").exists()
    assert dperm(f"{OPEN} --epsilon 3 --write-anchor anchor.json --force").exit_code == 0
    assert Anchor.from_json((tmp_path / "anchor.json").read_text()).is_signed


def test_a_child_without_files_of_a_parent_with_files_is_warned_of(dperm, tmp_path):
    (tmp_path / "data.csv").write_text("age\n30\n")
    assert "Warning" not in dperm(f"{OPEN} --epsilon 3 --data data.csv").stderr
    child = f"{OPEN} --epsilon 1 --parent main --account"
    assert "'main' has registered files, and 'free' has none" in dperm(f"{child} free").stderr
    assert "Warning" not in dperm(f"{child} bound --parent free --data data.csv").stderr


def test_the_share_of_delta_and_what_equal_releases_may_have_are_said(dperm):
    basic = dperm(f"{OPEN} --epsilon 3 --delta 1e-6 --blocks 10").stdout
    assert "its epsilon at delta 1e-7" in basic
    assert "At most 10 releases, of epsilon 0.3 each" in basic
    more = "--account many --epsilon 3 --delta 1e-6 --blocks 1000 --composition advanced"
    assert "the square of its epsilon at delta 5e-10" in dperm(f"{OPEN} {more}").stdout


@pytest.mark.parametrize("composition", ["basic", "advanced"])
def test_as_many_equal_releases_as_were_said_fit_indeed(dperm, composition):
    from dperm import Pure

    out = dperm(f"{OPEN} --epsilon 3 --delta 1e-6 --blocks 10 --composition {composition}").stdout
    said = float(out.split(" each if they are equal")[0].rpartition(" ")[2])
    ledger = Ledger("census.ledger")
    for _ in range(10):
        ledger.reserve(Pure(said, "replace_one")).burn("a test")
    left = {name: Fraction(ledger.capacity[name]) - Fraction(ledger.spent[name]) for name in ledger.capacity}
    assert all(amount >= 0 for amount in left.values())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ["give one limit", "--rho", "none was given"]),
        ("--epsilon 3 --rho 0.5", ["give one limit", "got --epsilon and --rho"]),
        ("--mu 1 --tau 0.5 --order 8", ["got --mu and --tau"]),
        ("--epsilon 3 --delta 1e-6", ["--blocks is missing", "divided"]),
        ("--epsilon 3 --blocks 10", ["--blocks divides a --delta"]),
        ("--rho 0.5 --blocks 10", ["--blocks divides a --delta"]),
        ("--rho 0.5 --delta 1e-6", ["--delta belongs to --epsilon", "--rho"]),
        ("--delta 1e-6 --blocks 3", ["give one limit", "none was given"]),
        ("--tau 0.5", ["--order and --tau belong together"]),
        ("--rho 0.5 --order 8", ["--order and --tau belong together"]),
        ("--tau 0.5 --order 1", ["--order", "> 1"]),
        ("--epsilon 0", ["--epsilon", "> 0"]),
        ("--epsilon -1", ["--epsilon", "-1.0"]),
        ("--epsilon nan", ["--epsilon", "nan"]),
        ("--epsilon inf", ["--epsilon", "inf"]),
        ("--epsilon many", ["--epsilon", "'many'"]),
        ("--epsilon 3 --delta 2 --blocks 3", ["--delta", "2.0"]),
        ("--epsilon 3 --delta 1e-6 --blocks 0", ["--blocks", "got 0"]),
        ("--epsilon 3 --delta 1e-6 --blocks 1.5", ["--blocks", "integer"]),
        ("--epsilon 3 --delta 1e-6 --blocks 3 --composition best", ["composition", "'best'"]),
        ("--rho 1 --composition advanced", ["composition", "ApproxDP"]),
        ("--epsilon 1e30", ["must be at most"]),
        ("--epsilon 3 --unit ''", ["unit must be a line of text"]),
        ("--epsilon 3 --account ''", ["account"]),
        ("--epsilon 3 --data no-such.csv", ["--data", "no-such.csv"]),
        ("--epsilon 3 --data 'no-such-*.csv'", ["--data", "no-such-*.csv"]),
        ("--epsilon 3 --data .", ["--data must name files", "folder"]),
        ("--epsilon 3 --write-anchor no/such/anchor.json", ["--write-anchor", "no directory"]),
    ],
)
def test_a_wrong_request_is_refused_and_leaves_nothing(refused, tmp_path, line, words):
    said = refused(f"{OPEN} {line}")
    for word in words:
        assert word in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ledger open census.ledger --adjacency replace_one --epsilon 3", ["--dataset"]),
        ("ledger open census.ledger --dataset x --epsilon 3", ["--adjacency is missing"]),
        ("ledger open census.ledger --dataset x --adjacency both --epsilon 3", ["adjacency must be"]),
        ("ledger open --dataset x --adjacency replace_one --epsilon 3", ["LEDGER"]),
        ("ledger open mysql://joe:hunter2@db/x --dataset x --adjacency replace_one --rho 1", ["postgresql://"]),
    ],
)
def test_an_incomplete_request_is_refused(refused, tmp_path, line, words):
    said = refused(line)
    for word in words:
        assert word in said
    assert "hunter2" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def turned_away(dperm):
    """A function that runs one command line, asserts that the ledger refuses, and returns what stderr says."""

    def run(line):
        result = dperm(line)
        assert result.exit_code == 3, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        return result.stderr

    return run


def test_an_account_is_opened_once(dperm, turned_away):
    dperm(f"{OPEN} --epsilon 3")
    before = Ledger("census.ledger").anchor()
    assert "'main' exists already" in turned_away(f"{OPEN} --epsilon 300")
    assert Ledger("census.ledger").anchor() == before


def test_a_parent_that_is_not_there_is_refused(dperm, turned_away, tmp_path):
    assert "there is no ledger" in turned_away(f"{OPEN} --epsilon 3 --parent whole")
    assert list(tmp_path.iterdir()) == []
    dperm(f"{OPEN} --epsilon 3")
    said = turned_away(f"{OPEN} --epsilon 3 --account part --parent whole")
    assert "--parent: there is no account 'whole'" in said
    assert "'main'" in said


def test_a_file_of_something_else_is_left_as_it_is(turned_away, tmp_path):
    (tmp_path / "census.ledger").write_text("a diary, and no ledger at all. " * 100)
    assert "holds no ledger" in turned_away(f"{OPEN} --epsilon 3")
    assert (tmp_path / "census.ledger").read_text().startswith("a diary")


def test_a_directory_that_is_not_there_is_named(turned_away):
    line = "ledger open no/such/census.ledger --dataset x --adjacency replace_one --epsilon 3"
    assert "No such file or directory" in turned_away(line)


def test_another_account_of_the_same_data_is_warned_about_in_one_line(dperm):
    dperm(f"{OPEN} --epsilon 3")
    result = dperm(f"{OPEN} --epsilon 3 --account second")
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("Warning: account 'main' is about the same data set") and "--parent main" in line


def test_beside_a_file_of_something_else_nothing_is_left(dperm, tmp_path):
    (tmp_path / "census.ledger").write_text("a diary. " * 200)
    result = dperm(f"{OPEN} --epsilon 3")
    assert result.exit_code == 3 and "holds no ledger" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["census.ledger"]


def test_how_an_account_that_exists_is_used_is_said_in_options(dperm):
    dperm(f"{OPEN} --epsilon 3")
    said = dperm(f"{OPEN} --epsilon 3").stderr
    assert "--account main" in said and "Ledger(" not in said
