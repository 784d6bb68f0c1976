# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files that a verb writes: checked before anything is computed, and written whole or not at all."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dperm.errors import ParameterError


def require_free(option: str, path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a path that cannot be written, or must not be."""
    if any(_same(path, other) for other in inputs):
        raise ParameterError(f"{option}: {path} is one of the files that are read. Give another name.")
    if path.is_dir():
        raise ParameterError(f"{option}: {path} is a directory. Give the name of a file.")
    if path.exists() and not force:
        raise ParameterError(f"{option}: {path} exists and is left as it is. Give another name, or add --force.")
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(f"{option}: there is no directory {folder}. Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f"{option}: the directory {folder} cannot be written to.")


@contextmanager
def allocated(option: str, path: Path, size: int) -> Iterator[Path]:
    """A file beside ``path`` with so many bytes on the disk, removed at the end unless it was used.

    Raises
    ------
    ParameterError
        If the disk has no room.
    """
    from dperm.report.whole_file import allocated_file

    with ExitStack() as stack:
        try:
            room = stack.enter_context(allocated_file(path, size))
        except OSError as error:
            raise ParameterError(
                f"{option}: {size} bytes cannot be allocated in {path.parent} ({error.strerror}). Nothing was charged. "
                "Free some space, or choose another directory."
            ) from None
        yield room


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False
