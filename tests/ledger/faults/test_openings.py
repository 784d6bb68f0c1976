# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A ledger whose opening was cut off is opened by the next who tries, and has one account, and one key."""

from pathlib import Path

from ledger_campaigns import run_campaign


def test_an_opening_that_was_cut_off_anywhere_can_be_made_again(tmp_path: Path):
    found = run_campaign("openings", folder=str(tmp_path))
    print(f"{found['kills']} SIGKILLs at the statements of an opening: {found['again']} opened by the next.")
    assert found["bad"] == []
    assert found["kills"] > 10
    assert found["again"] > 10
