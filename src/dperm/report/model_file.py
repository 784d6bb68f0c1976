# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files of models: arrays as npz, everything else as JSON inside it, with a version; nothing is ever unpickled.

A file is written whole or not at all. Reading needs numpy alone.
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
"""Version of the file; a reader refuses versions that it does not know. Formats 1 and 2 did not say who wrote them."""
MAGIC = "dperm model"
HEADER = "header"
LARGEST = 2**30
"""Bytes that the parts of a file may unpack to, together: a damaged or hostile file shall not fill the memory."""
MOST_MEMBERS = 64
LARGEST_HEADER = 2**23
"""Bytes of the JSON, besides `HEADER_SHARE` for each byte of the arrays: parsed it is many times as large."""
HEADER_SHARE = 32


@dataclass(frozen=True)
class ModelFile:
    """What a file holds: the kind of model, plain JSON data, and arrays of finite doubles.

    ``form`` is the format of the file that it was read from; what is written always has the newest.
    """

    kind: str
    data: Mapping[str, Any]
    arrays: Mapping[str, Floats]
    form: int = FORMAT


def write_model(
    path: str | os.PathLike[str], model: ModelFile, *, overwrite: bool = True, allocated: Path | None = None
) -> None:
    """Write ``model`` to ``path``: to a new file beside it (or to ``allocated``), which then takes its place."""
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
    with whole_file(path, overwrite=overwrite, allocated=allocated) as file:
        file.write(content.getbuffer())


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """The model that ``write_model`` wrote to ``path``.

    Raises
    ------
    ModelFormatError
        If the file is something else, is damaged, or has a format that this version does not know.
    """
    with open(path, "rb") as file:
        content = file.read(LARGEST + 1)
    try:
        members = _members(content)
    except Exception as error:
        raise _refusal(path, "it is not a dperm model, or is damaged") from error
    header = _header(path, members)
    arrays = {name: _finite(path, name, array) for name, array in members.items() if name != HEADER}
    if _shapes(arrays) != header["arrays"]:
        raise _refusal(path, "its arrays do not have the shapes that it names")
    return ModelFile(str(header["kind"]), header["data"], arrays, int(header["format"]))


def _shapes(arrays: Mapping[str, Floats]) -> dict[str, list[int]]:
    return {name: list(array.shape) for name, array in arrays.items()}


def _members(content: bytes) -> dict[str, NDArray[Any]]:
    """Every array of the file; their checksums are compared on the way."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    sizes = {part.filename.removesuffix(".npy"): part.file_size for part in parts}
    header, packed = sizes.get(HEADER, 0), any(part.compress_type != zipfile.ZIP_STORED for part in parts)
    arrays = sum(sizes.values()) - header
    if len(parts) > MOST_MEMBERS or len(sizes) < len(parts) or max(len(content), header + arrays) > LARGEST:
        raise ValueError("the file is too large for a model, or has a part twice")
    if packed or header > LARGEST_HEADER + HEADER_SHARE * arrays:
        raise ValueError("a part is packed, or the header too large")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    if not all(isinstance(array, np.ndarray) for array in found.values()):
        raise ValueError("a part is no array")
    return found


def _header(path: str | os.PathLike[str], members: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The JSON inside the file, if it is one of ours and of a version that is known."""
    try:
        header = json.loads(members[HEADER].astype(np.uint8, casting="equiv").tobytes(), parse_constant=_no_constant)
        magic, form = header["magic"], header["format"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _refusal(path, "it has no header of a dperm model") from error
    if magic != MAGIC or type(form) is not int or form < 1:
        raise _refusal(path, "it has no header of a dperm model")
    if form > FORMAT:
        raise _refusal(path, f"it has format {form}, and this version reads up to {FORMAT}. Upgrade dperm")
    parts = _PARTS if form >= 3 else {name: kind for name, kind in _PARTS.items() if name != "dperm"}
    if header.keys() != parts.keys() or not all(isinstance(header[name], kind) for name, kind in parts.items()):
        raise _refusal(path, "its header is incomplete, or has parts that are not known")
    return dict(header)


def _finite(path: str | os.PathLike[str], name: str, array: NDArray[Any]) -> Floats:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise _refusal(path, f"{name} is not an array of finite doubles")
    return array


def _refusal(path: str | os.PathLike[str], reason: str) -> ModelFormatError:
    return ModelFormatError(f"cannot read a model from {os.fspath(path)!r}: {reason}.")


_PARTS: dict[str, type] = {"magic": str, "format": int, "dperm": str, "kind": str, "arrays": dict, "data": dict}


def _no_constant(name: str) -> float:
    """JSON has no NaN and no infinities, though Python reads them."""
    raise ValueError(f"{name} is no number of JSON")
