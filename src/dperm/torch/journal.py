# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many times a run may have drawn noise, on disk before it is drawn: a resumed run never draws more than planned.

One file for each run, beside its checkpoints. Its last number is the number of draws that may have happened; it is
made durable before them, some at a time. Whoever holds the file locked is the run. A line with a token says who resumed
last. Before every draw a run checks that the file in the folder is still its own, without lines of another run.
"""

import errno
import os
import re
import secrets
from pathlib import Path

from dperm.errors import ModelFormatError, ParameterError, SupersededError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_TOKEN = re.compile(rb"run-[0-9a-f]{32}")


class Journal:
    """The open journal of a run."""

    def __init__(self, folder: Path, run: str, *, create: bool) -> None:
        self.path = folder / f"dperm-{run}.journal"
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT | os.O_EXCL if create else 0)
        try:
            self._file = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            if create:
                raise ParameterError(f"path must be in a folder that is there: {os.fspath(folder)!r} is not.") from None
            raise ParameterError(
                f"resume needs the journal {self.path.name} beside the checkpoint: without it nobody knows how many "
                f"steps were run after the checkpoint was written. Bring both files to one folder."
            ) from None
        _lock(self._file)
        self.covered = self._whole()
        found = os.fstat(self._file)
        self._own = (found.st_dev, found.st_ino, found.st_size)

    def cover(self, draws: int) -> None:
        """Note, durably, that up to ``draws`` draws may have happened.

        Raises
        ------
        SupersededError
            If the file is no longer this run's: a smaller number after that of another run would hide draws.
        """
        self.check()
        self._append(f"{draws}\n".encode())
        self.covered = draws

    def take_over(self) -> None:
        """Note, durably, that the run goes on here: a run that still has the file open, where locks fail, stops."""
        self._append(f"run-{secrets.token_hex(16)}\n".encode())

    def check(self) -> None:
        """Check that the file in the folder is the one that is open, and that no other run wrote to it.

        Raises
        ------
        SupersededError
            If it was removed or replaced, or another run went on with it.
        """
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino, found.st_size) != self._own:
            raise SupersededError(
                f"the journal {self.path.name} was removed, replaced or written by another run since this run opened "
                f"it, so another run may have resumed from the same checkpoint. This run draws no more noise. Go on "
                f"with the other run, or resume from the checkpoint with the journal that belongs to it."
            )

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        if os.write(self._file, line) != len(line):
            raise OSError(errno.ENOSPC, "a line of the journal was not written whole", os.fspath(self.path))
        os.fsync(self._file)
        device, number, size = self._own
        self._own = (device, number, size + len(line))

    def _whole(self) -> int:
        """What is covered; a line that was not written whole is cut off, for none of its draws happened."""
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
    """The number in the last line; 0 before the first."""
    numbers = [line for line in lines.split() if _TOKEN.fullmatch(line) is None]
    if not all(number.isdigit() for number in numbers):
        raise ModelFormatError("the journal beside the checkpoint is damaged: nobody knows how many steps were run.")
    return int(numbers[-1]) if numbers else 0


def _lock(file: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise ParameterError(
            "resume names a run that is under way in another process. One run can be gone on with once at a time."
        ) from None
