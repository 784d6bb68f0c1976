# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Trainings in processes that are killed, with every draw of noise written down as it happens."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch_training import attached, loss_of, model_of

from dperm.torch.noise import FastNoise


def draws_in(folder: Path) -> int:
    """How many times noise was drawn, by all processes together."""
    drawn = folder / "drawn"
    return len(drawn.read_bytes()) if drawn.exists() else 0


def in_a_process(work: Callable[[], None]) -> int:
    """Run it in a fork; its signal, or its code."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(plan: Any, folder: Path, *, save_at: int = -1, kill_at: int = -1, **options: Any) -> Any:
    """Train until the end; save after so many steps of this part, and be killed right after so many draws of it."""
    own = [0]
    standard = FastNoise.standard

    def drawn(noise: FastNoise, size: int, *rest: Any) -> Any:
        with open(folder / "drawn", "ab") as file:
            file.write(b".")
        own[0] += 1
        numbers = standard(noise, size, *rest)
        if own[0] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return numbers

    FastNoise.standard = drawn
    try:
        model = model_of()
        with attached(plan, model, **options) as private:
            steps = 0
            for x, y in private:
                if private.step(loss_of(model, x, y)):
                    steps += 1
                    if steps == save_at:
                        private.save(folder / "run.pt")
        return private
    finally:
        FastNoise.standard = standard
