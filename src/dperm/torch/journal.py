# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many times a run may have drawn noise, on disk before it is drawn: a resumed run never draws more than planned.

One file for each run, beside its checkpoints. Its last whole line is the number of draws that may have happened; it is
made durable before them, some at a time. Whoever holds the file locked is the run.
"""

import errno
import os
from pathlib import Path

from dperm.errors import ModelFormatError, ParameterError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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

    def cover(self, draws: int) -> None:
        """Note, durably, that up to ``draws`` draws may have happened."""
        line = f"{draws}\n".encode()
        if os.write(self._file, line) != len(line):
            raise OSError(errno.ENOSPC, "a line of the journal was not written whole", os.fspath(self.path))
        os.fsync(self._file)
        self.covered = draws

    def close(self) -> None:
        """Let the file go."""
        os.close(self._file)

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
    numbers = lines.split()
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
