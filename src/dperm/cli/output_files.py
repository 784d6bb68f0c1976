# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output files of a verb, checked before anything is computed."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dperm.errors import ParameterError

PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def require_free(option: str, path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a path that cannot or must not be written: an input, a directory, or an existing file without force."""
    if any(_is_same(path, other) for other in inputs):
        raise ParameterError(f"{option}: {path} is one of the input files. Give another name.")
    if path.is_dir():
        raise ParameterError(f"{option}: {path} is a directory. Give the name of a file.")
    if path.exists() and not force:
        raise ParameterError(f"{option}: {path} exists and was not changed. Give another name, or add --force.")
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(f"{option}: there is no directory {folder}. Create it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f"{option}: the directory {folder} cannot be written to.")


def require_picture(option: str, path: Path | None, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a plot file like `require_free`, or with another suffix; None is accepted."""
    if path is None:
        return
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise ParameterError(f"{option}: {path} must end in {', '.join(PLOT_SUFFIXES)}, which sets the format.")
    require_matplotlib(option)
    require_free(option, path, force=force, inputs=inputs)


def require_matplotlib(option: str) -> None:
    """Refuse plots if matplotlib is not installed."""
    from importlib.util import find_spec

    from dperm.report.plot_style import INSTALL

    if find_spec("matplotlib") is None:
        raise ParameterError(f"{option} needs matplotlib, which is not installed: {INSTALL}.")


@contextmanager
def allocated(option: str, path: Path, size: int) -> Iterator[Path]:
    """Allocate a file of ``size`` bytes beside ``path``; at the end it is removed unless it was renamed.

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


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False
