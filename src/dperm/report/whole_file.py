# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Atomic file writes: a file is written completely or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_BLOCK = 2**20


@contextmanager
def whole_file(
    path: str | os.PathLike[str], *, overwrite: bool = True, allocated: Path | None = None
) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` once the block has exited cleanly.

    If the block raises an error, the temporary file is removed and ``path`` is unchanged.

    Parameters
    ----------
    path
        File to write.
    overwrite
        Whether to replace an existing file.
    allocated
        File of `allocated_file` in the same directory, used instead of a new temporary file, so that the disk has room
        for the content. The file is kept if the block raises an error.

    Yields
    ------
    BinaryIO
        The open temporary file.

    Raises
    ------
    FileExistsError
        If ``path`` exists at the end of the block and ``overwrite`` is False.
    """
    target = Path(path)
    beside = _beside(target) if allocated is None else allocated
    try:
        with open(beside, "xb" if allocated is None else "r+b") as file:
            yield file
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(beside, target)
        else:
            _move_to_new(beside, target)
    except BaseException:
        if allocated is None:
            with suppress(OSError):
                beside.unlink()
        raise


@contextmanager
def allocated_file(path: str | os.PathLike[str], size: int) -> Iterator[Path]:
    """Create a file beside ``path`` with ``size`` bytes on the disk, for `whole_file`; it is removed if unused.

    On file systems that never overwrite in place (btrfs, ZFS) the allocation does not guarantee that the content fits.

    Raises
    ------
    OSError
        If the disk is full or the directory is not writable.
    """
    beside = _beside(Path(path))
    try:
        with open(beside, "xb") as file:
            _allocate(file, size)
            os.fsync(file.fileno())
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink()


def _allocate(file: BinaryIO, size: int) -> None:
    """Allocate disk blocks by the system call, or by writing zeros if the system has no such call."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, _BLOCK):
        file.write(bytes(min(_BLOCK, size - start)))
    file.flush()


def _move_to_new(beside: Path, target: Path) -> None:
    """Rename a file in one step; raise FileExistsError if the new name exists."""
    try:
        os.link(beside, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(beside, target)
        return
    beside.unlink()


def _beside(target: Path) -> Path:
    return target.with_name(f".dperm-{uuid.uuid4().hex}")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text atomically, as UTF-8 and without changing line ends."""
    with whole_file(path) as file:
        file.write(text.encode())
