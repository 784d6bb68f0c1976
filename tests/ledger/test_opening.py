# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Opening accounts, and finding them again."""

import pytest

from dperm import ApproxDP, PureDP
from dperm.errors import DpermWarning, LedgerError, ParameterError
from dperm.ledger import AccountFacts, EntryKind, Ledger, verify
from dperm.privacy import GDP, RDP, ZCDP

LIMIT = PureDP(1.0, "replace_one")


def test_what_is_declared_is_found_again_by_whoever_has_the_location(open_at, location):
    opened = open_at(
        ApproxDP(3.0, 1e-6, "replace_one"), account="census", dataset="census 2026", blocks=10, composition="advanced"
    )
    again = Ledger(location)
    assert again.account_facts == AccountFacts(
        *("census", "census 2026", "one person", ApproxDP(3.0, 1e-6, "replace_one"), 10, "advanced")
    )
    assert (again.limit, again.adjacency.value) == (opened.limit, "replace_one")
    assert again.accounts() == ("census",)
    assert (again.spent, again.bookings()) == ({"epsilon_squared": 0.0, "delta": 0.0}, ())
    assert verify(location).ok


@pytest.mark.parametrize(
    "limit",
    [PureDP(1.0, "add_remove"), ZCDP(0.5, "replace_one"), GDP(1.0, "add_remove"), RDP([(8.0, 0.5)], "add_remove")],
)
def test_every_kind_of_limit_is_kept(open_at, location, limit):
    open_at(limit)
    found = Ledger(location)
    assert (found.limit, found.remaining) == (limit, limit)


def test_an_account_is_opened_once(open_at, location):
    ledger = open_at(LIMIT)
    before = ledger.entries()
    with pytest.raises(LedgerError, match="exists already, and an account is opened once: a second opening would give"):
        open_at(PureDP(2.0, "replace_one"))
    assert Ledger(location).entries() == before


def test_several_accounts_are_told_apart_and_one_has_to_be_named(open_at, location):
    open_at(LIMIT, account="a")
    open_at(PureDP(2.0, "add_remove"), account="b")
    assert Ledger(location, "a").limit == LIMIT
    assert Ledger(location, "b").limit == PureDP(2.0, "add_remove")
    assert Ledger(location).accounts() == ("a", "b")
    with pytest.raises(LedgerError, match="account must be given: the ledger has 'a', 'b'"):
        Ledger(location).limit  # noqa: B018
    with pytest.raises(LedgerError, match="there is no account 'c': the ledger has 'a', 'b'"):
        Ledger(location, "c").limit  # noqa: B018


def test_accounts_have_chains_of_their_own(open_at, location):
    for name in ("a", "b"):
        open_at(LIMIT, account=name)
    lines = [Ledger(location, name).entries() for name in ("a", "b")]
    assert [[(line.account, line.seq, line.kind) for line in found] for found in lines] == [
        [("a", 1, EntryKind.OPEN)],
        [("b", 1, EntryKind.OPEN)],
    ]


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"dataset": ""}, "dataset must be a line of text"),
        ({"unit": "two\nlines"}, "unit must be a line of text"),
        ({"account": "a\0b"}, "account must be a line of text"),
        ({"account": "\ud800"}, "account must be a line of text"),
        ({"account": "x" * 201}, "account must be a line of text of at most 200 characters"),
        ({"parents": "census"}, "parents must be a list of account names"),
        ({"parents": ["main"]}, "parents must be accounts other than"),
        ({"parents": [3]}, "parents must be a list of account names"),
        ({"approval": "yes"}, "approval must be True or False"),
        ({"blocks": 3}, "blocks divides the delta of an ApproxDP limit"),
        ({"composition": "advanced"}, "advanced"),
        ({"files": ["no such file"]}, "files must be existing files, got 'no such file'"),
        ({"files": "data.csv"}, "files must be a list of paths"),
    ],
)
def test_a_bad_declaration_makes_no_ledger(open_file, path, declared, said):
    with pytest.raises(ParameterError, match=said):
        open_file(LIMIT, **declared)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (ApproxDP(1.0, 1e-6, "add_remove"), "blocks"),
        (
            RDP([(2.0, 1.0), (4.0, 1.0)], "add_remove"),
            "one order in Renyi DP, .*, got 2 orders",
        ),
        (PureDP(1e8, "add_remove"), "limit must be at most epsilon=4,194,304"),
        ("three", "limit must be"),
    ],
)
def test_a_limit_that_has_no_rule_makes_no_ledger(open_file, path, limit, said):
    with pytest.raises(ParameterError, match=said):
        open_file(limit)
    assert list(path.parent.iterdir()) == []


def test_a_parent_has_to_be_there(open_at, location):
    open_at(LIMIT, account="a")
    with pytest.raises(LedgerError, match="parents must be existing accounts, got 'elsewhere'"):
        open_at(LIMIT, account="b", parents=["a", "elsewhere"])
    assert Ledger(location).accounts() == ("a",)


@pytest.mark.parametrize("given", [None, 3, "", " ", b"census", "ftp://host/census", "a\0b", "\ud800"])
def test_a_location_is_a_path_or_a_url(given):
    with pytest.raises(ParameterError, match="location must be a path or a URL"):
        Ledger(given)


@pytest.mark.parametrize("name", ["account", "request_id"])
@pytest.mark.parametrize("given", ["", 3, "a\0b", "\ud800", "x" * 201, "two\nlines"])
def test_names_are_lines_of_text(name, given):
    with pytest.raises(ParameterError, match=f"{name} must be a line of text"):
        Ledger("census.ledger", **{name: given})


def test_nothing_is_opened_or_made_by_naming_a_ledger(path):
    ledger = Ledger(path, account="a", request_id="b")
    assert repr(ledger) == f"Ledger({str(path)!r}, account='a', request_id='b')"
    assert not path.exists()
    with pytest.raises(LedgerError, match="there is no ledger at"):
        ledger.spent  # noqa: B018
    assert list(path.parent.iterdir()) == []


def test_a_second_account_of_the_same_data_set_is_warned_about_unless_they_are_tied(open_at):
    open_at(PureDP(1.0, "add_remove"), account="a", dataset="census")
    with pytest.warns(DpermWarning, match=r"account 'a' is about the same data set, 'census'.*sum of their limits"):
        open_at(PureDP(1.0, "add_remove"), account="b", dataset="census")
    open_at(PureDP(1.0, "add_remove"), account="c", dataset="census", parents=["a", "b"])
    open_at(PureDP(1.0, "add_remove"), account="d", dataset="another")


def test_the_old_name_of_entry_kinds_still_works_with_a_warning():
    import dperm.ledger

    with pytest.warns(DeprecationWarning, match=r"dperm\.ledger\.entry\.EntryKind"):
        assert dperm.ledger.Kind is EntryKind
