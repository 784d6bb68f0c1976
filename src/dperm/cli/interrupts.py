# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM: handled at once, or after the model is written once it has been charged for."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dperm.cli.running import Interruption

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Signal handler; raises `Interruption` on arrival, or at the end of a delay.

    A second signal is never delayed.
    """

    def __init__(self) -> None:
        self.arrived: int | None = None
        self.started = False
        """Whether something may have been charged."""
        self._delays = 0
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
        """Only record further signals: the command is reporting its outcome."""
        self._silent = True

    def delay(self) -> None:
        """Delay signals from here on."""
        self._delays += 1

    def end_delay(self) -> None:
        """Raise a delayed signal, unless another delay is active."""
        self._delays -= 1
        if self._delays == 0 and self.arrived is not None:
            raise Interruption(self.arrived)

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """Delay signals for a block; an exception of the block ends the delay and replaces the signal."""
        self.delay()
        try:
            yield
        except BaseException:
            self._delays -= 1
            raise
        self.end_delay()

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        again, self.arrived = self.arrived is not None, number
        if not self._silent and (again or not self._delays):
            raise Interruption(number)
