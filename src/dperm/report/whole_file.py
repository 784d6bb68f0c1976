# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """A new file beside ``path``, which takes its place when the block is left, and vanishes if it raises.

    Raises
    ------
    FileExistsError
        If there is a file by then, and it must not be overwritten.
    """
    target = Path(path)
    beside = target.with_name(f".dperm-{uuid.uuid4().hex}")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(beside, target)
        else:
            os.link(beside, target)  # fails where a file is, in one step
            beside.unlink()
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text, lines as they are."""
    with whole_file(path) as file:
        file.write(text.encode())
