# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all."""

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
    """A new file beside ``path``, which takes its place when the block is left, and vanishes if it raises.

    ``allocated`` is a file of `allocated_file` in the same directory: it is filled instead of a new one, so that the
    disk has room for the content. It stays if the block raises.

    Raises
    ------
    FileExistsError
        If there is a file by then, and it must not be overwritten.
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
    """A file beside ``path`` with ``size`` bytes on the disk, for `whole_file`; removed if it was not used.

    On file systems that never overwrite in place (btrfs, ZFS) the allocation is no promise that the content fits.

    Raises
    ------
    OSError
        If the disk has no room, or the directory cannot be written.
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
    """Give a file blocks of the disk: by the system's call, or by writing zeros where it has none."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, _BLOCK):
        file.write(bytes(min(_BLOCK, size - start)))
    file.flush()


def _move_to_new(beside: Path, target: Path) -> None:
    """Give a file another name, in one step, unless that exists."""
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
    """Write a text, lines as they are."""
    with whole_file(path) as file:
        file.write(text.encode())
