# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Writers killed at random moments, and at every step of their transactions: nothing is spent twice, or unseen."""

from pathlib import Path

import pytest
from ledger_campaigns import run_campaign
from ledger_traps import POINTS


@pytest.mark.parametrize("kills", [60, pytest.param(1000, marks=pytest.mark.slow)], ids=["short", "long"])
def test_no_kill_loses_money(kills: int, tmp_path: Path):
    seed = 6
    found = run_campaign("kills", location=str(tmp_path / "x.ledger"), folder=str(tmp_path), kills=kills, seed=seed)
    print(
        f"seed {seed}: {found['kills']} SIGKILLs of 8 racing writers ({found['points']}): {found['line']}, chains "
        f"whole at {found['checks']} checks, the small account ended at {found['small'][0]}/{found['small'][1]} units."
    )
    assert found["bad"] == []
    assert found["kills"] >= kills
    assert found["releases"] > 0
    assert kills < 1000 or set(found["points"]) == {"any", *POINTS}
