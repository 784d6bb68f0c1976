# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The campaigns of faults that fork, by name, each in a process of its own: a test suite with threads must not fork."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ledger_forks import forks
from ledger_full import full
from ledger_kills import kills, patience
from ledger_openings import openings
from ledger_replaced import replaced

CAMPAIGNS = {
    "forks": forks,
    "full": full,
    "kills": kills,
    "openings": openings,
    "patience": patience,
    "replaced": replaced,
}


def run_campaign(name: str, **arguments: Any) -> dict[str, Any]:
    """What a campaign found."""
    with started_campaign(name, **arguments) as found:
        pass
    return found


@contextmanager
def started_campaign(name: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """A campaign that runs during the block; what it found is in the mapping afterwards."""
    command = [sys.executable, "-c", "from ledger_campaigns import main; main()", name, json.dumps(arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    found: dict[str, Any] = {}
    # a session of its own: whatever becomes of the test, none of its writers is left over
    process = subprocess.Popen(command, cwd=Path(__file__).parent, text=True, start_new_session=True, **pipes)
    try:
        yield found
        said, complaint = process.communicate(timeout=1800)  # against writers that wait for each other for ever
        if process.returncode:
            raise RuntimeError(complaint)
        found.update(json.loads(said))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def main() -> None:
    """Run the campaign that the command line names, and print what it found."""
    name, arguments = sys.argv[1:]
    print(json.dumps(CAMPAIGNS[name](**json.loads(arguments))))
