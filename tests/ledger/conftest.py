# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where the ledgers of these tests are: in a file, and in a database of PostgreSQL."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dperm.ledger import Ledger

Opener = Callable[..., Ledger]


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """A place without a ledger, in each kind of store."""
    if request.param == "postgres":
        import postgres  # skips where there is no server

        return str(postgres.shared().database())
    return tmp_path / "census.ledger"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place without a ledger, in a file."""
    return tmp_path / "census.ledger"


@pytest.fixture
def open_at(location: str | Path) -> Opener:
    """``Ledger.open`` at that place: give a limit."""
    return partial(Ledger.open, location, dataset="census 2026", unit="one person")


@pytest.fixture
def open_file(path: Path) -> Opener:
    """``Ledger.open`` of a file: give a limit."""
    return partial(Ledger.open, path, dataset="census 2026", unit="one person")
