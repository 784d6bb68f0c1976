# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM: at once where nothing is lost, after the last step where something was already charged for."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dperm.cli.running import Interruption

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Signals as an `Interruption`, raised when they arrive, or once nothing holds them; a second one never waits."""

    def __init__(self) -> None:
        self.arrived: int | None = None
        self.started = False
        """Whether something may have been charged."""
        self._holders = 0
        self._silent = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._before = {number: signal.signal(number, self._arrive) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def silence(self) -> None:
        """From here on signals are noted, and nothing else: what is left is to say what happened."""
        self._silent = True

    def hold(self) -> None:
        """From here on a signal waits."""
        self._holders += 1

    def let_go(self) -> None:
        """Raise what has waited, if nothing else holds it."""
        self._holders -= 1
        if self._holders == 0 and self.arrived is not None:
            raise Interruption(self.arrived)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold signals for a block, unless it raises something itself."""
        self.hold()
        try:
            yield
        except BaseException:
            self._holders -= 1
            raise
        self.let_go()

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        again, self.arrived = self.arrived is not None, number
        if not self._silent and (again or not self._holders):
            raise Interruption(number)
