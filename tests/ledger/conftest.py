# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where the ledgers of these tests are: in a file, and in a database of PostgreSQL."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dperm.ledger import Ledger

Opener = Callable[..., Ledger]


def opened(location, limit, **declared):
    """An account; one of another name than the default is about data of its own."""
    dataset = f"data of {declared['account']}" if "account" in declared else "census 2026"
    return Ledger.open(location, limit, **{"dataset": dataset, "unit": "one person", **declared})


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | Path]:
    """A place without a ledger, in each kind of store."""
    if request.param == "sqlite":
        yield tmp_path / "census.ledger"
        return
    import postgres  # skips where there is no server

    with postgres.lent() as url:
        yield str(url)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place without a ledger, in a file."""
    return tmp_path / "census.ledger"


@pytest.fixture
def open_at(location: str | Path) -> Opener:
    """``Ledger.open`` at that place: give a limit."""
    return partial(opened, location)


@pytest.fixture
def open_file(path: Path) -> Opener:
    """``Ledger.open`` of a file: give a limit."""
    return partial(opened, path)
