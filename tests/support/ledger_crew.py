# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Writers that are hired, die, and are replaced."""

import os
import random
import signal
import traceback
from contextlib import suppress
from dataclasses import dataclass, field

from ledger_faults import World, work
from ledger_traps import POINTS, Trap


def nothing(_: str) -> None:
    """A point where nobody dies."""


@dataclass
class Crew:
    """The writers that live."""

    world: World
    size: int
    seed: int
    patient: bool = False
    kills: int = 0
    points: dict[str, int] = field(default_factory=dict)
    living: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.generator = random.Random(self.seed)

    def hire(self, traps: float = 0.5) -> None:
        """Fork until there are as many as there should be, some of them with a trap."""
        while len(self.living) < self.size:
            point = self.generator.choice(POINTS) if self.generator.random() < traps else ""
            trap, seed = Trap(point, self.generator.randrange(1, 6)), self.generator.randrange(2**32)
            process = os.fork()
            if process == 0:
                self._live(trap, seed)
            self.living[process] = point

    def _live(self, trap: Trap, seed: int) -> None:
        try:
            if trap.point:
                trap.set(self.world.location)
            work(self.world, seed, trap.reach if trap.point else nothing, self.patient)
        except BaseException:
            self.world.note("errors", repr(traceback.format_exc()))
        finally:
            os._exit(1)

    def bury(self, wait: bool = False) -> None:
        """Count those who are dead."""
        while self.living:
            process, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
            if process == 0:
                return
            point = self.living.pop(process) or "any"
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                self.kills += 1
                self.points[point] = self.points.get(point, 0) + 1

    def kill(self, process: int) -> None:
        self.living[process] = ""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    def dismiss(self) -> None:
        """Kill all."""
        for process in list(self.living):
            self.kill(process)
        self.bury(wait=True)
