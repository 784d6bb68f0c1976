# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full: an error that says so, nothing released that is not booked, and a ledger that goes on later."""

from pathlib import Path

import pytest
from ledger_campaigns import run_campaign


@pytest.mark.parametrize("points", [12, pytest.param(100, marks=pytest.mark.slow)], ids=["short", "long"])
def test_a_full_disk_loses_no_money(points: int, tmp_path: Path):
    seed = 6
    found = run_campaign("full", folder=str(tmp_path), points=points, seed=seed)
    print(
        f"seed {seed}: {points} sizes, {found['hit']} of them too small for the writer, {found['releases']} releases, "
        f"{found['usable']} ledgers usable afterwards, {len(found['bad'])} bad."
    )
    assert found["bad"] == []
    assert found["usable"] == points
    assert found["hit"] >= points // 2
