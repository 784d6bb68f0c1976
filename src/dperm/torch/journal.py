# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Journal of a run's noise draws: a resumed run never draws more often than planned.

Each run has one file beside its checkpoints. The last number in the file is the number of draws that may have happened.
It is durable on disk before these draws. The run holds a lock on the file. A line with a token names the run that
resumed last. Before every draw a run checks that the file in the folder is still its own, without lines of another run.
"""

import errno
import os
import re
import secrets
from pathlib import Path

from dperm.errors import ModelFormatError, ParameterError, SupersededError
from dperm.presentation.spelling import arg

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_TOKEN = re.compile(rb"run-[0-9a-f]{32}")


class Journal:
    """Open, locked journal of a run.

    *Guarantees.* ``covered`` is on disk before the draws it counts. A torn last line is removed: none of its draws
    happened.

    Attributes
    ----------
    path
        Path of the file.
    covered
        Number of draws that may have happened.
    """

    def __init__(self, folder: Path, run: str, *, create: bool) -> None:
        self.path = folder / f"dperm-{run}.journal"
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT | os.O_EXCL if create else 0)
        try:
            self._file = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            if create:
                raise ParameterError(
                    argument="path", rule="must be in an existing folder", got=repr(os.fspath(folder))
                ) from None
            raise ParameterError(
                f"{arg('resume')} needs the journal {self.path.name} beside the checkpoint: without it, the number of "
                f"steps after the checkpoint is unknown.",
                remedy="Put both files into one folder.",
            ) from None
        _lock(self._file)
        self.covered = self._read()
        found = os.fstat(self._file)
        self._own = (found.st_dev, found.st_ino, found.st_size)

    def cover(self, draws: int) -> None:
        """Record durably that up to ``draws`` draws may have happened.

        Raises
        ------
        SupersededError
            If the file belongs to another run now: a smaller number than that run recorded would hide draws.
        """
        self.check()
        self._append(f"{draws}\n".encode())
        self.covered = draws

    def take_over(self) -> None:
        """Record durably that the run continues here; if locks fail, another run with the file open stops."""
        self._append(f"run-{secrets.token_hex(16)}\n".encode())

    def check(self) -> None:
        """Check that the file in the folder is the open file, and that no other run wrote to it.

        Raises
        ------
        SupersededError
            If the file was removed or replaced, or another run continued it.
        """
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino, found.st_size) != self._own:
            raise SupersededError(
                f"the journal {self.path.name} was removed, replaced or written by another run since this run opened "
                f"it, so another run may have resumed from the same checkpoint. This run draws no more noise.",
                remedy="Continue with the other run, or resume from the checkpoint with its own journal.",
            )

    def close(self) -> None:
        """Close the file, which releases the lock."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        if os.write(self._file, line) != len(line):
            raise OSError(errno.ENOSPC, "a line of the journal was not written completely", os.fspath(self.path))
        os.fsync(self._file)
        device, number, size = self._own
        self._own = (device, number, size + len(line))

    def _read(self) -> int:
        """Return the covered draws, and cut off an incomplete last line: none of its draws happened."""
        content = os.pread(self._file, os.fstat(self._file).st_size, 0)
        lines = content[: content.rfind(b"\n") + 1]
        try:
            covered = _last(lines)
            os.ftruncate(self._file, len(lines))
        except BaseException:
            os.close(self._file)
            raise
        return covered


def _last(lines: bytes) -> int:
    """Return the last number of the journal; 0 for an empty journal."""
    numbers = [line for line in lines.split() if _TOKEN.fullmatch(line) is None]
    if not all(number.isdigit() for number in numbers):
        raise ModelFormatError("the journal beside the checkpoint is damaged: the number of steps is unknown.")
    return int(numbers[-1]) if numbers else 0


def _lock(file: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise ParameterError(
            f"{arg('resume')} names a run that is under way in another process.",
            remedy="Only one process at a time can continue a run.",
        ) from None
