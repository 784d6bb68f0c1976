# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The harness itself finds what it looks for: books and journals that do not agree, and writers that are careless."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_campaigns import run_campaign
from ledger_copies import original
from ledger_reader import Books, Released, audited, digest_of

LIMITS = {"main": Fraction(4)}


@pytest.fixture
def books(tmp_path: Path) -> Books:
    """Four releases, whose nonce is such that its digest is in the books."""
    found = original(tmp_path, settled=2, logged=2).books
    lines = tuple(
        replace(line, body={**line.body, "digest": digest_of("n")}) if line.kind == "commit" else line
        for line in found.lines
    )
    return replace(found, lines=lines)


def released(number: int, nonce: str = "n") -> Released:
    return Released("main", f"r{number}", 2.0**-10, nonce)


def audit(books: Books, *journal: Released, anchors: list[dict[str, object]] | None = None):
    found = audited(books, LIMITS, list(journal), anchors or [])
    found.broken = [what for what in found.broken if "breaks" not in what]  # the lines were doctored above
    return found


def test_books_that_agree_with_the_journal_are_in_order(books):
    found = audit(books, *map(released, range(4)))
    assert found.bad == []
    assert (found.spends, found.releases, found.burnt) == (4, 4, 0)
    assert audit(books, released(0)).burnt == 3


def test_a_release_without_a_reservation_is_found(books):
    assert audit(books, released(9)).without_reservation == 1
    assert audit(books, replace(released(0), epsilon=2.0**-9)).without_reservation == 1


def test_a_second_draw_is_found(books):
    assert audit(books, released(1), released(1, "other")).duplicate_draws == 1


def test_an_overspent_account_is_found(books):
    ((account, name, capacity, _),) = books.meters
    assert audit(replace(books, meters=((account, name, capacity, capacity + 1),))).overspend == 1
    assert audit(books, replace(released(0), epsilon=4.5)).overspend == 1


def test_a_meter_that_is_not_the_sum_of_the_lines_is_found(books):
    ((account, name, capacity, spent),) = books.meters
    assert audit(replace(books, meters=((account, name, capacity, spent - 1),))).broken != []


def test_a_capacity_beyond_the_limit_is_found_by_its_charges(books):
    """Each unit is then worth less than what it is taken for."""
    ((account, name, capacity, spent),) = books.meters
    assert audit(replace(books, meters=((account, name, capacity + 1, spent),)), released(0)).without_reservation == 1


def test_lines_that_are_missing_are_found(books):
    last = books.lines[-1]
    kept = replace(books, lines=books.lines[:-1])
    assert audit(kept, anchors=[{"account": "main", "seq": last.seq, "hash": last.hash}]).broken != []
    assert audited(replace(books, lines=books.lines[:2] + books.lines[3:]), LIMITS, [], []).broken != []


@pytest.mark.parametrize("careless", ["draws again", "draws first"])
def test_a_careless_writer_is_found(careless: str, tmp_path: Path):
    location = str(tmp_path / "x.ledger")
    found = run_campaign("kills", location=location, folder=str(tmp_path), kills=24, seed=6, careless=careless)
    assert found["bad"] != [], json.dumps(found)
