# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Writers that are killed, and a server that is killed under its writers, who ask for the same ids again."""

import time
from pathlib import Path

import postgres
import pytest
from ledger_campaigns import run_campaign, started_campaign
from ledger_faults import LINE


@pytest.mark.parametrize("kills", [30, pytest.param(500, marks=pytest.mark.slow)], ids=["short", "long"])
def test_no_kill_of_a_client_loses_money(kills: int, tmp_path: Path):
    seed = 6
    url = postgres.shared().database()
    found = run_campaign("kills", location=url, folder=str(tmp_path), kills=kills, seed=seed, checks=5)
    print(
        f"seed {seed}: PostgreSQL, {found['kills']} SIGKILLs of 8 racing clients ({found['points']}): {found['line']}, "
        f"chains whole at {found['checks']} checks."
    )
    assert found["bad"] == []
    assert found["kills"] >= kills
    assert found["releases"] > 0


@pytest.mark.parametrize("restarts", [1, pytest.param(12, marks=pytest.mark.slow)], ids=["short", "long"])
def test_no_kill_of_the_server_loses_money(restarts: int, tmp_path: Path):
    seed, journal = 6, tmp_path / "released"
    with postgres.running() as server:
        url = server.database()
        with started_campaign("patience", location=url, folder=str(tmp_path), seed=seed) as found:
            try:
                for _ in range(restarts):
                    wait_for(journal, 25)
                    server.crash()
                    server.start()
                wait_for(journal, 25)
            finally:
                (tmp_path / "stop").touch()
        print(
            f"seed {seed}: PostgreSQL, {restarts} SIGKILLs of the server under 8 clients that ask again: "
            f"{found['line']}."
        )
        assert found["bad"] == []


def wait_for(journal: Path, more: int) -> None:
    """Until so many more releases are out."""
    start = journal.stat().st_size if journal.exists() else 0
    deadline = time.monotonic() + 300
    while (journal.stat().st_size if journal.exists() else 0) < start + more * LINE:
        assert time.monotonic() < deadline, "the writers stand still"
        time.sleep(0.01)
