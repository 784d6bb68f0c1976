# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clients that race for one account in PostgreSQL, die, and lose their server."""

import signal
import time

import postgres
import pytest
from ledger_clients import COST, Clients

from dperm import PureDP
from dperm.ledger import Ledger

OPEN = {"dataset": "census", "unit": "one person"}


def opened(url, most):
    Ledger.open(url, PureDP(most * COST, "replace_one"), **OPEN)
    return url


@pytest.mark.parametrize(("requests", "most"), [(25, 60), pytest.param(200, 500, marks=pytest.mark.slow)])
def test_racing_clients_are_granted_exactly_what_the_limit_covers(tmp_path, requests, most):
    clients = Clients(opened(postgres.shared().database(), most), str(tmp_path), workers=8, requests=requests)
    clients.run()
    assert (clients.granted, clients.refused) == (most, 8 * requests - most)
    assert clients.problems() == []


@pytest.mark.parametrize("kills", [15, pytest.param(500, marks=pytest.mark.slow)])
def test_killed_clients_draw_nothing_uncovered_and_nothing_twice(tmp_path, kills):
    clients = Clients(opened(postgres.shared().database(), 10**6), str(tmp_path), workers=4, requests=10 + kills // 4)
    clients.run(kills=kills)
    assert len(clients.noted("killed")) == kills
    assert clients.problems() == []
    print(f"{kills} clients killed: {clients.granted} releases, no problem.")


@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_server_that_crashes_loses_nothing_and_clients_go_on(tmp_path, rounds):
    crashes = [signal.SIGKILL, signal.SIGQUIT] * rounds
    each = 12 * len(crashes)
    with postgres.running() as server:
        clients = Clients(opened(server.database(), 10**6), str(tmp_path), workers=4, requests=each)
        with clients.running() as process:
            for how in crashes:
                before, deadline = clients.granted, time.monotonic() + 60
                while clients.granted < before + 20 and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                assert process.poll() is None, "the clients were through before the server crashed"
                server.crash(how)
                server.start()
        assert clients.granted == 4 * each, "a client gave up, or took its own line for another's"
        assert clients.problems() == []
        print(f"{len(crashes)} crashes of the server: {clients.granted} releases, no problem.")
