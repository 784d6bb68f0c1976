# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A ledger whose file, or log, is replaced or removed under its writers: they refuse, and an anchor tells."""

from pathlib import Path

import pytest
from ledger_campaigns import run_campaign


@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=pytest.mark.slow)], ids=["short", "long"])
def test_nothing_is_granted_on_a_file_that_is_gone(rounds: int, tmp_path: Path):
    seed = 6
    found = run_campaign("replaced", folder=str(tmp_path), rounds=rounds, seed=seed)
    print(
        f"seed {seed}: {rounds} files replaced under 8 writers: {found['refused']} of {8 * rounds} writers refused; "
        f"{found['window']} releases were asked for before and went out after, up to {found['longest_ms']:.1f} ms; "
        f"asked for after and granted {found['late']}; caught {found['caught']}, no line missing {found['whole']}."
    )
    assert found["bad"] == []
    assert found["refused"] == 8 * rounds
    assert found["caught"] + found["whole"] >= rounds
