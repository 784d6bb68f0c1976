# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The lock beside a ledger's file, and the mark in it. The one place that knows how files are locked.

`exclusive` is a fair queue: SQLite alone polls, and with eight writers one of them may wait for ten seconds; waiting on
a lock of the operating system, the longest was about a tenth of one. The database stays safe without it.

In the file of the lock stands how far the ledger was: the number and hash of its last line, and how every account
stood. It is written after the line is durable, so a ledger below its mark was put back to an older state.

Whoever is stopped (SIGSTOP, a debugger) while holding the lock makes all others wait. Supported: Linux and macOS, local
disks.
"""

import hashlib
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dperm.errors import LedgerError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LENGTH = 256
_held: "weakref.WeakSet[Lock]" = weakref.WeakSet()


@dataclass(frozen=True)
class Mark:
    """How far a ledger was: its last line among those of all accounts, how all of them stood, in which file (inode)."""

    number: int
    hash: str
    standing: str
    file: int = 0

    def to_bytes(self) -> bytes:
        """A line of fixed length with a check sum."""
        text = f"{self.number:020d} {self.hash} {self.standing} {self.file:020d}"
        return f"{text} {_sum(text)}\n".encode().ljust(_LENGTH)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Mark | None":
        """What ``to_bytes`` wrote; None if nothing was written yet.

        Raises
        ------
        LedgerError
            If it is something else. A mark is shorter than a sector, so that no crash leaves half of one.
        """
        if not content.strip(b"\0"):
            return None
        parts = content.decode(errors="replace").split()
        if len(parts) != 5 or _sum(" ".join(parts[:4])) != parts[4]:
            raise LedgerError(
                "the mark in the .lock file beside the ledger is damaged, so that it cannot be told whether the ledger "
                "was put back to an older state. Nothing was charged. Verify the ledger against the anchor of the last "
                "artefact, then remove the .lock file: a new one is made."
            )
        return cls(int(parts[0]), parts[1], parts[2], int(parts[3]))


class Lock:
    """The open file of a lock, for one writer."""

    def __init__(self, ledger: Path) -> None:
        self._path = _beside(ledger)
        self._file = _opened(self._path, stat.S_IMODE(os.stat(ledger).st_mode) & 0o666)
        _held.add(self)

    def read(self) -> Mark | None:
        """The mark; None if there is none yet."""
        return Mark.from_bytes(os.pread(self._file, _LENGTH, 0))

    def write(self, mark: Mark) -> None:
        """Set the mark."""
        os.pwrite(self._file, mark.to_bytes(), 0)

    def acquire(self) -> bool:
        """Wait for one's turn; False if the file was removed meanwhile, and others queue at a new one."""
        if fcntl is None:
            raise LedgerError(
                "a ledger in a file needs the file locks of Linux or macOS. On this system use a PostgreSQL ledger: "
                'Ledger("postgresql://...").'
            )
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Give the lock back. Said in so many words: a copy of the process may have the file open for longer."""
        if self._file >= 0 and fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self.leave()

    def leave(self) -> None:
        """Close the file; the lock stays with a process that has it open too."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            self.close()


@contextmanager
def exclusive(ledger: Path) -> Iterator[Lock]:
    """The lock of a ledger's file, held by nobody else, in this process or another."""
    while not (lock := Lock(ledger)).acquire():
        lock.close()
    try:
        yield lock
    finally:
        lock.close()


def mark_of(ledger: Path) -> Mark | None:
    """The mark as it stands, without waiting."""
    try:
        content = _beside(ledger).read_bytes()[:_LENGTH]
        return Mark.from_bytes(content)
    except FileNotFoundError:
        return None
    except LedgerError as damaged:  # read while it was written, perhaps: whoever holds the lock sees it whole
        try:
            with exclusive(ledger) as lock:
                return lock.read()
        except LedgerError:
            if os.access(_beside(ledger), os.W_OK):
                raise
            raise damaged from None  # on a read-only medium, where nobody writes it


def _beside(ledger: Path) -> Path:
    """The file of the lock: one for all names of a ledger that lead to it by symbolic links."""
    return Path(f"{os.path.realpath(ledger)}.lock")


def _opened(path: Path, mode: int) -> int:
    """The file of a lock, made if there is none; whoever may write the ledger may write it."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW  # a link could lead the mark into somebody's file
    try:
        file = os.open(path, flags | os.O_CREAT, mode)
        if stat.S_IMODE(os.fstat(file).st_mode) != mode:  # the umask took some of it, or the ledger's was changed
            with suppress(PermissionError):
                os.fchmod(file, mode)
    except OSError as error:
        raise LedgerError(f"the lock {str(path)!r} cannot be used: {error.strerror}. Nothing was charged.") from error
    return file


def _leave_locks_to_the_parent() -> None:
    """What another thread of the parent was about is not the child's: it would hold the lock as long as it lives."""
    for lock in list(_held):
        lock.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
