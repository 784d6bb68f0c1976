# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases of several stages, each in a process of its own, which is killed after a stage.

A release is a function of a ledger, by name: ``"staged_releases:three_stages"``. It records its stages by
`dperm.mechanisms.run.Run.record_stage`, and returns a release.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from warm_python import package

from dperm import Pure, PureDP
from dperm.accounting.budget import Budget
from dperm.ledger import Ledger
from dperm.mechanisms.run import ReleaseFacts, Run, prepare_release
from dperm.noise.bits import integer
from dperm.privacy import Adjacency, Release

REQUEST = "staged"
STAGES = ("preparation", "training", "evaluation")
EVENT = Pure(0.25, Adjacency.ADD_REMOVE)


def three_stages(budget: Budget) -> Release[tuple[int, ...]]:
    """Release three numbers, one in each stage."""
    facts = ReleaseFacts(PureDP(0.25, "add_remove"), EVENT, noise="none", theorems=("T14",))
    with prepare_release(facts, lambda: 0, budget=budget, bits=None).charged() as run:
        numbers: list[int] = []
        for stage in STAGES:
            numbers.append(integer(run.stream, 16))
            run.record_stage(stage, {"digest": f"sha256:{stage}", "numbers": len(numbers)})
        return run.released(tuple(numbers))


def measured_model(budget: Budget) -> Any:
    """Fit a model to a raw table and evaluate it on held-out records: preparation, training, evaluation."""
    import numpy as np

    from dperm.sklearn import PrivateTableClassifier

    age = np.arange(3000) % 70 + 18
    table = {"age": age, "income": np.where(age > 50, "high", "low")}
    return PrivateTableClassifier(epsilon=3.0, delta=1e-5, adjacency="add_remove", ledger=budget).fit(
        table, target="income"
    )


def run_release(name: str, location: str, *, kill_after: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a release in a process of its own, killed once so many stages are recorded; None kills nothing.

    The process prints "released" if its release returns.
    """
    arguments = [name, location, "never" if kill_after is None else str(kill_after)]
    code = "from staged_releases import main; main()"
    return package().run(code, arguments, cwd=Path(__file__).parent, environment=os.environ)


def main() -> None:
    """Run the release of the command line."""
    name, location, kill_after = sys.argv[1:]
    recorded, count = Run.record_stage, [0]

    def killing(run: Run[Any], stage: str, facts: Any) -> None:
        _kill_if(kill_after == str(count[0]))
        recorded(run, stage, facts)
        count[0] += 1
        _kill_if(kill_after == str(count[0]))

    setattr(Run, "record_stage", killing)  # noqa: B010
    resolve_name(name)(Ledger(location, request_id=REQUEST))
    print("released")


def _kill_if(fatal: bool) -> None:
    if fatal:
        os.kill(os.getpid(), signal.SIGKILL)
