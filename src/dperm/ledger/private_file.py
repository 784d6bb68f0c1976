# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files readable by their owner only: copies of a ledger contain its signing key."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dperm.errors import LedgerError


@contextmanager
def private_file(path: Path) -> Iterator[Path]:
    """Yield a new file with mode 0600; it gets its final name, durably, when the block exits without an error.

    Raises
    ------
    LedgerError
        If ``path`` exists; no file is overwritten.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        yield partial
        _sync(partial)
        try:
            os.link(partial, path)  # unlike a rename it replaces nothing
        except FileExistsError:
            raise LedgerError(f"the backup {str(path)!r} exists already.", remedy="Give another path.") from None
        _sync(path.parent)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(partial)


def unused_path(path: Path) -> Path:
    """Return ``path``, or the first numbered variant that does not exist."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
