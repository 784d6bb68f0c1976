# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The lock beside a ledger's file, and the mark in it. The one place that knows how files are locked.

`exclusive` is a fair queue: SQLite alone polls, and with eight writers one of them may wait for ten seconds; waiting on
a lock of the operating system, the longest was about a tenth of one. The database stays safe without it.

In the file of the lock stands how far the ledger was: the number and hash of its last line. It is written after the
line is durable, so a ledger below its mark was put back to an older state. Supported: Linux and macOS, local disks.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dperm.errors import LedgerError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LENGTH = 160


@dataclass(frozen=True)
class Mark:
    """How far a ledger was: its last line among those of all accounts."""

    number: int
    hash: str

    def to_bytes(self) -> bytes:
        """A line of fixed length with a check sum."""
        text = f"{self.number:020d} {self.hash}"
        return f"{text} {_sum(text)}\n".encode().ljust(_LENGTH)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Mark | None":
        """What ``to_bytes`` wrote; None if it is something else, such as half a line."""
        parts = content.decode(errors="replace").split()
        if len(parts) != 3 or _sum(f"{parts[0]} {parts[1]}") != parts[2]:
            return None
        return cls(int(parts[0]), parts[1])


class Lock:
    """The open file of a lock."""

    def __init__(self, ledger: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(_beside(ledger), flags, os.stat(ledger).st_mode & 0o666)

    def read(self) -> Mark | None:
        """The mark; None if there is none yet."""
        return Mark.from_bytes(os.pread(self._file, _LENGTH, 0))

    def write(self, mark: Mark) -> None:
        """Set the mark."""
        os.pwrite(self._file, mark.to_bytes(), 0)

    def close(self) -> None:
        """Give it back to the system, and the lock with it."""
        os.close(self._file)

    def acquire(self) -> None:
        """Wait for one's turn."""
        if fcntl is None:
            raise LedgerError(
                "a ledger in a file needs the file locks of Linux or macOS. On this system use a PostgreSQL ledger: "
                'Ledger("postgresql://...").'
            )
        fcntl.flock(self._file, fcntl.LOCK_EX)


@contextmanager
def exclusive(ledger: Path) -> Iterator[Lock]:
    """The lock of a ledger's file, held by nobody else, in this process or another."""
    lock = Lock(ledger)
    try:
        lock.acquire()
        yield lock
    finally:
        lock.close()


def mark_of(ledger: Path) -> Mark | None:
    """The mark as it stands, without waiting."""
    try:
        content = _beside(ledger).read_bytes()
    except FileNotFoundError:
        return None
    return Mark.from_bytes(content[:_LENGTH])


def _beside(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}.lock")


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
