# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of one checkpoint folder that several processes resume at the same time, every draw of noise written down."""

import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from torch_crashes import draws_in
from torch_training import attached, loss_of, model_of

from dperm.errors import SupersededError
from dperm.torch.noise import FastNoise

SUPERSEDED, PATIENCE = 7, 60.0


def copies_of(folder: Path, names: Iterable[str]) -> list[Path]:
    """Whole copies of a folder, beside it."""
    return [Path(shutil.copytree(folder, folder.with_name(name))) for name in names]


def in_processes(*works: Callable[[], None]) -> list[int]:
    """Run all of them at the same time, each in a fork; 7 for one that was superseded."""
    children = []
    for work in works:
        child = os.fork()
        if not child:
            code = 1
            try:
                work()
                code = 0
            except SupersededError:
                code = SUPERSEDED
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is true, for a minute at most."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.002)


def train(plan: Any, books: Path, *, before_step: Callable[[Any, int], None], **options: Any) -> None:
    """A training that writes a byte into ``books`` for every draw; ``before_step`` sees the steps of this part."""
    standard = FastNoise.standard

    def drawn(noise: FastNoise, *rest: Any) -> Any:
        with open(books / "drawn", "ab") as file:
            file.write(b".")
        return standard(noise, *rest)

    FastNoise.standard = drawn
    try:
        model, steps = model_of(), 0
        with attached(plan, model, **options) as private:
            before_step(private, 0)
            for x, y in private:
                if private.step(loss_of(model, x, y)):
                    steps += 1
                    before_step(private, steps)
    finally:
        FastNoise.standard = standard


__all__ = ["SUPERSEDED", "copies_of", "draws_in", "in_processes", "train", "wait_for"]
