# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a process, threads, and second names: no reservation that was granted is lost."""

import os
from pathlib import Path

import pytest
from ledger_campaigns import run_campaign

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import Ledger


def test_what_is_granted_to_forks_and_threads_is_in_the_books(tmp_path: Path):
    for name, (granted, seen) in run_campaign("forks", location=str(tmp_path / "x.ledger")).items():
        assert granted == seen, name


def test_a_file_with_a_second_name_is_refused(tmp_path: Path):
    """Each name would have a log of its own."""
    ledger = Ledger.open(tmp_path / "x.ledger", PureDP(1.0, "replace_one"), dataset="names")
    os.link(tmp_path / "x.ledger", tmp_path / "y.ledger")
    for name in ("x.ledger", "y.ledger"):
        with pytest.raises(LedgerError):
            Ledger(str(tmp_path / name)).reserve(Pure(0.1, "replace_one"))
    (tmp_path / "y.ledger").unlink()
    ledger.reserve(Pure(0.1, "replace_one"))


def test_a_copy_in_the_place_of_the_file_is_used_if_it_is_whole(tmp_path: Path):
    """Moving a ledger to another disk, with all its files, is allowed."""
    ledger = Ledger.open(tmp_path / "x.ledger", PureDP(1.0, "replace_one"), dataset="moved")
    ledger.reserve(Pure(0.25, "replace_one"))
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in tmp_path.glob("x.ledger*"):
        if not file.name.endswith("-shm"):
            (moved / file.name).write_bytes(file.read_bytes())
    there = Ledger(str(moved / "x.ledger"))
    there.reserve(Pure(0.25, "replace_one"))
    assert there.spent == {"epsilon": 0.5}
