# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Model files: npz archives with arrays and a JSON header, which includes a format version.

Files are written atomically. Reading needs only numpy and never unpickles anything.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.errors import ModelFormatError
from dperm.report.whole_file import whole_file

FORMAT = 3
"""Version of the file format. Readers refuse newer versions. Formats 1 and 2 did not record the version of dperm."""
MAGIC = "dperm model"
HEADER = "header"
LARGEST = 2**30
"""Largest total size of all parts in bytes, so that a damaged or malicious file cannot exhaust the memory."""
MOST_MEMBERS = 64
LARGEST_HEADER = 2**23
"""Largest size of the JSON header in bytes, plus `HEADER_SHARE` for each byte of the arrays."""
HEADER_SHARE = 32


@dataclass(frozen=True)
class ModelFile:
    """Content of a model file.

    Attributes
    ----------
    kind
        Class name of the saved estimator.
    data
        Plain data of the model, stored as JSON.
    arrays
        Arrays of finite doubles, keyed by name.
    form
        Format version of the file that was read. This value is ignored when a file is written: files are always written
        in the newest format.
    """

    kind: str
    data: Mapping[str, Any]
    arrays: Mapping[str, Floats]
    form: int = FORMAT


def write_model(
    path: str | os.PathLike[str], model: ModelFile, *, overwrite: bool = True, allocated: Path | None = None
) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    path
        File to write.
    model
        Content of the file.
    overwrite
        Whether to replace an existing file.
    allocated
        File created by `dperm.report.whole_file.allocated_file` in the directory of ``path``, used as the temporary
        file; None creates a new temporary file.

    Raises
    ------
    FileExistsError
        If ``path`` exists and ``overwrite`` is False.
    ModelFormatError
        If the header or the file is larger than `read_model` accepts. Nothing is written. With ``allocated``, which
        belongs to a release that is charged and not kept in memory, the file is written all the same.
    """
    header = {
        "magic": MAGIC,
        "format": FORMAT,
        "dperm": version("dperm"),
        "kind": model.kind,
        "arrays": _shapes(model.arrays),
        "data": model.data,
    }
    text = json.dumps(header, allow_nan=False).encode()
    members: dict[str, Any] = {HEADER: np.frombuffer(text, dtype=np.uint8), **model.arrays}
    content = io.BytesIO()
    np.savez(content, **members)
    if allocated is None:
        _require_readable(path, content.getvalue())
    with whole_file(path, overwrite=overwrite, allocated=allocated) as file:
        file.write(content.getbuffer())


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file written by `write_model`.

    Parameters
    ----------
    path
        File to read.

    Returns
    -------
    ModelFile
        Content of the file.

    Raises
    ------
    ModelFormatError
        If the file is not a model file, is damaged, or has a newer format.
    """
    with open(path, "rb") as file:
        content = file.read(LARGEST + 1)
    try:
        members = _members(content)
    except Exception as error:
        raise _refusal(path, "it is not a dperm model, or it is damaged") from error
    header = _header(path, members)
    arrays = {name: _finite(path, name, array) for name, array in members.items() if name != HEADER}
    if _shapes(arrays) != header["arrays"]:
        raise _refusal(path, "its arrays do not have the shapes in its header")
    return ModelFile(str(header["kind"]), header["data"], arrays, int(header["format"]))


def _shapes(arrays: Mapping[str, Floats]) -> dict[str, list[int]]:
    return {name: list(array.shape) for name, array in arrays.items()}


def _members(content: bytes) -> dict[str, NDArray[Any]]:
    """Return all arrays of the file; numpy compares their checksums."""
    _require_size(content)
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    if not all(isinstance(array, np.ndarray) for array in found.values()):
        raise ValueError("a part is not an array")
    return found


def _require_readable(path: str | os.PathLike[str], content: bytes) -> None:
    """Raise ModelFormatError for a file that `read_model` would refuse."""
    try:
        _require_size(content)
    except ValueError as error:
        raise ModelFormatError(f"cannot write a model to {os.fspath(path)!r}: {error}.") from None


def _require_size(content: bytes) -> None:
    """Raise ValueError if an archive or its header is too large for a model, or has compressed or repeated parts."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    sizes = {part.filename.removesuffix(".npy"): part.file_size for part in parts}
    header, packed = sizes.get(HEADER, 0), any(part.compress_type != zipfile.ZIP_STORED for part in parts)
    arrays = sum(sizes.values()) - header
    if len(parts) > MOST_MEMBERS or len(sizes) < len(parts) or max(len(content), header + arrays) > LARGEST:
        raise ValueError("the file is too large for a model, or has a repeated part")
    if packed or header > LARGEST_HEADER + HEADER_SHARE * arrays:
        raise ValueError("the header is too large, or a part is compressed")


def _header(path: str | os.PathLike[str], members: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the JSON header, if it belongs to a dperm model of a known version."""
    try:
        header = json.loads(members[HEADER].astype(np.uint8, casting="equiv").tobytes(), parse_constant=_no_constant)
        magic, form = header["magic"], header["format"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _refusal(path, "it lacks the header of a dperm model") from error
    if magic != MAGIC or type(form) is not int or form < 1:
        raise _refusal(path, "it lacks the header of a dperm model")
    if form > FORMAT:
        raise _refusal(path, f"it has format {form}, and this version reads up to {FORMAT}. Upgrade dperm")
    parts = _PARTS if form >= 3 else {name: kind for name, kind in _PARTS.items() if name != "dperm"}
    if header.keys() != parts.keys() or not all(isinstance(header[name], kind) for name, kind in parts.items()):
        raise _refusal(path, "its header is incomplete, or has unknown parts")
    return dict(header)


def _finite(path: str | os.PathLike[str], name: str, array: NDArray[Any]) -> Floats:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise _refusal(path, f"{name} is not an array of finite doubles")
    return array


def _refusal(path: str | os.PathLike[str], reason: str) -> ModelFormatError:
    return ModelFormatError(f"cannot read a model from {os.fspath(path)!r}: {reason}.")


_PARTS: dict[str, type] = {"magic": str, "format": int, "dperm": str, "kind": str, "arrays": dict, "data": dict}


def _no_constant(name: str) -> float:
    """Refuse NaN and infinities, which JSON does not have but Python reads."""
    raise ValueError(f"{name} is not a JSON number")
