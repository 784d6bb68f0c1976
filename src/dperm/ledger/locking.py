# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lock file beside a ledger file, and the ledger mark stored in it.

`exclusive` is a fair queue. SQLite alone polls: with eight writers one may wait for ten seconds. With a lock of the
operating system, the longest wait was about a tenth of a second. The database is safe without it.

The lock file stores the ledger mark: number and hash of the last entry, and a digest of all accounts. It is written
after the entry is durable, so a ledger below its mark was rolled back.

A process stopped (SIGSTOP, a debugger) while holding the lock blocks all others. Supported: Linux and macOS, local
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
class LedgerMark:
    """State of a ledger file: its last entry over all accounts, a digest of all accounts, and the file's inode."""

    number: int
    hash: str
    standing: str
    file: int = 0

    def to_bytes(self) -> bytes:
        """Return a line of fixed length with a checksum."""
        text = f"{self.number:020d} {self.hash} {self.standing} {self.file:020d}"
        return f"{text} {_sum(text)}\n".encode().ljust(_LENGTH)

    @classmethod
    def from_bytes(cls, content: bytes) -> "LedgerMark | None":
        """Read a mark written by ``to_bytes``; None if nothing was written yet.

        Raises
        ------
        LedgerError
            If the content is damaged. A mark is shorter than a sector, so no crash leaves half of one.
        """
        if not content.strip(b"\0"):
            return None
        parts = content.decode(errors="replace").split()
        if len(parts) != 5 or _sum(" ".join(parts[:4])) != parts[4]:
            raise LedgerError(
                "the mark in the .lock file beside the ledger is damaged, so a rollback of the ledger cannot be "
                "detected. Nothing was charged.",
                remedy="Verify the ledger against the anchor of the last artefact, then remove the .lock file; dperm "
                "creates a new one.",
            )
        return cls(int(parts[0]), parts[1], parts[2], int(parts[3]))


class Lock:
    """Open lock file of one writer."""

    def __init__(self, ledger: Path) -> None:
        self._path = _beside(ledger)
        self._file = _opened(self._path, stat.S_IMODE(os.stat(ledger).st_mode) & 0o666)
        _held.add(self)

    def read(self) -> LedgerMark | None:
        """Return the mark; None if there is none yet."""
        return LedgerMark.from_bytes(os.pread(self._file, _LENGTH, 0))

    def write(self, mark: LedgerMark) -> None:
        """Write the mark into the lock file."""
        os.pwrite(self._file, mark.to_bytes(), 0)

    def acquire(self) -> bool:
        """Wait for the lock; return False if the file was removed meanwhile and others queue at a new one."""
        if fcntl is None:
            raise LedgerError(
                "a ledger in a file requires the file locks of Linux or macOS.",
                remedy='On this system use a PostgreSQL ledger: Ledger("postgresql://...").',
            )
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Release the lock explicitly: a forked process may keep the file open for longer."""
        if self._file >= 0 and fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self.leave()

    def leave(self) -> None:
        """Close the file; another process with the file open keeps the lock."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            self.close()


@contextmanager
def exclusive(ledger: Path) -> Iterator[Lock]:
    """Hold the lock of a ledger file, exclusively among all processes."""
    while not (lock := Lock(ledger)).acquire():
        lock.close()
    try:
        yield lock
    finally:
        lock.close()


def read_mark(ledger: Path) -> LedgerMark | None:
    """Return the current mark, without waiting."""
    try:
        content = _beside(ledger).read_bytes()[:_LENGTH]
        return LedgerMark.from_bytes(content)
    except FileNotFoundError:
        return None
    except LedgerError as damaged:  # perhaps read during a write: under the lock it is complete
        try:
            with exclusive(ledger) as lock:
                return lock.read()
        except LedgerError:
            if os.access(_beside(ledger), os.W_OK):
                raise
            raise damaged from None  # on a read-only medium, without writers


def _beside(ledger: Path) -> Path:
    """Return the path of the lock file, the same for all symbolic links to a ledger."""
    return Path(f"{os.path.realpath(ledger)}.lock")


def _opened(path: Path, mode: int) -> int:
    """Open the lock file, or create it; writers of the ledger may write it."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW  # a link could redirect the mark into another file
    try:
        file = os.open(path, flags | os.O_CREAT, mode)
        if stat.S_IMODE(os.fstat(file).st_mode) != mode:  # reduced by the umask, or the ledger's mode changed
            with suppress(PermissionError):
                os.fchmod(file, mode)
    except OSError as error:
        raise LedgerError(f"the lock {str(path)!r} cannot be used: {error.strerror}. Nothing was charged.") from error
    return file


def _leave_locks_to_the_parent() -> None:
    """Close inherited locks in a child process, which would otherwise hold them for its lifetime."""
    for lock in list(_held):
        lock.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
