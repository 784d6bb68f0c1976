# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Feature matrices that carry the facts of their transformer: norm, classes and range of the labels.

scikit-learn's Pipeline passes a matrix from step to step, and nothing else. An estimator with ``feature_norm="auto"``
reads the norm from the matrix. Subsets of rows and copies keep the facts. All other operations of numpy and scipy
return matrices without them, since their values may have another norm.

Changes through numpy's interface are noticed at once. Compiled code, and plain views such as ``np.asarray(X)``, can
change the memory unnoticed, so a checksum of the values is compared before an estimator receives the facts. No privacy
rests on either: an estimator scales longer rows down to the norm that it plans with.
"""

import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dperm.data.additive_encoder import AdditiveEncoder
from dperm.data.arrays import Floats
from dperm.data.columns import Unseen
from dperm.data.encoder import PublicEncoder
from dperm.data.schema import text_digest
from dperm.data.term_codes import HARMONICS, LONG, SHORT, SHORT_SHARE

_CHANGING = ("byteswap", "fill", "partition", "put", "resize", "setfield", "sort")
"""Methods of arrays that may change values in place, without a call of ``__setitem__`` or a ufunc."""
_CHANGING_FUNCTIONS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
"""Functions of numpy that change their first argument."""


@dataclass(frozen=True)
class EncodingFacts:
    """Public or released facts about the rows of an encoder, a scaler or a projection.

    Attributes
    ----------
    encoder
        Declared or released columns; None for rows that no encoder describes, such as principal components.
    sparse
        Whether the encoder returns sparse matrices.
    unseen
        Treatment of undeclared categories and missing values in predictions, as in `PublicEncoder.transform`.
    classes, label_range
        Released facts about the labels; None if the encoder knows none.
    release
        Public facts about the release of a private transformer: guarantee, seed, ledger entry. None for declared
        columns.
    step
        Class name of the transformer; None for the encoder of a table.
    width
        Number of features without an encoder.
    length
        Bound on the norm of a row, if it is not that of the encoder; inf if no useful bound is known.
    declares_norm
        Whether the user declared the norm.
    earlier
        Facts about the rows that the transformer received, and about those before.
    """

    encoder: PublicEncoder | AdditiveEncoder | None
    sparse: bool = False
    unseen: Unseen = "other"
    classes: tuple[Any, ...] | None = None
    label_range: tuple[float, float] | None = None
    release: Mapping[str, object] | None = field(default=None, hash=False)
    step: str | None = None
    width: int | None = None
    length: float | None = None
    declares_norm: bool = False
    earlier: tuple["EncodingFacts", ...] = ()

    @property
    def norm(self) -> float:
        """Bound on the norm of a row."""
        if self.length is not None:
            return self.length
        return math.inf if self.encoder is None else self.encoder.norm

    @property
    def n_features(self) -> int | None:
        """Number of features."""
        return self.width if self.encoder is None else len(self.encoder.feature_names)

    @property
    def name(self) -> str:
        """Class name of the transformer."""
        return self.step or ("PublicTableEncoder" if self.release is None else "PrivateTableEncoder")

    @property
    def every(self) -> tuple["EncodingFacts", ...]:
        """These facts, then those of the earlier transformers."""
        return (self, *self.earlier)

    @property
    def is_seeded(self) -> bool:
        """Whether a seed determined the noise of this transformer, so that no guarantee covers it."""
        return self.release is not None and not self.release["is_private"]

    def source(self) -> dict[str, object]:
        """Return the facts as plain data, to store in the record of a fit."""
        return {
            "encoder": self.name,
            **_declarations(self.encoder),
            "norm": self.norm if math.isfinite(self.norm) else None,
            "sparse": self.sparse,
            "unseen": self.unseen,
            **(self.release or {}),
        }


def _declarations(encoder: PublicEncoder | AdditiveEncoder | None) -> dict[str, object]:
    """Return the declarations of an encoder as plain data, with everything that determines the code of a term."""
    if encoder is None:
        return {}
    text = encoder.to_json()
    stored, digest = json.loads(text), {"encoder_digest": text_digest(text)}
    if isinstance(encoder, PublicEncoder):
        return {"columns": stored["columns"], **digest}
    shares = {term.name: float(share) for term, share in zip(encoder.terms, encoder.shares, strict=True)}
    smooth = {"harmonics": HARMONICS, "lengths": [LONG, SHORT], "shares_of_lengths": [1 - SHORT_SHARE, SHORT_SHARE]}
    return {
        "columns": stored["columns"],
        "pairs": stored["pairs"],
        "term_shares": shares,
        "smooth_code": smooth,
        **digest,
    }


class _Bond:
    """Facts shared by all views of one memory, so that a change through one of them removes the facts of all."""

    __slots__ = ("facts",)

    def __init__(self, facts: EncodingFacts) -> None:
        self.facts: EncodingFacts | None = facts

    def cut(self) -> None:
        """Forget the facts."""
        self.facts = None


class EncodedArray(np.ndarray[Any, np.dtype[Any]]):
    """Dense rows of an encoder, with `EncodingFacts`."""

    _bond: _Bond | None = None
    _checksum: int | None = None

    @property
    def facts(self) -> EncodingFacts | None:
        """Facts of the encoder; None if values or columns may have changed."""
        found = self._carried
        return found if found is not None and _checksum(self) == self._checksum else None

    @property
    def _carried(self) -> EncodingFacts | None:
        """Facts before the comparison of the checksum; None for anything but whole rows."""
        found = None if self._bond is None or self._checksum is None else self._bond.facts
        if found is None or self.ndim != 2 or self.dtype != np.float64:
            return None
        return found if self.shape[1] == found.n_features else None

    def __array_finalize__(self, source: object) -> None:
        """Bind views and copies to the same memory as ``source``, without its facts."""
        self._bond, self._checksum = getattr(source, "_bond", None), None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        """Return the result as a plain array; an output array loses its facts."""
        _cut((*arguments.get("out", ()), *(inputs[:1] if method == "at" else ())))
        return getattr(ufunc, method)(*_plain(inputs), **_plain(arguments))

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        """Return the result as plain arrays, and views without facts; an array that is changed loses its facts."""
        if function.__name__ in _CHANGING_FUNCTIONS:
            _cut(args[0] if args else next(iter(kwargs.values())))
        _cut(kwargs.get("out"))
        return self._bound(function(*_plain(args), **_plain(kwargs)))

    def _bound(self, result: Any) -> Any:
        """Return views of this memory bound to it, so that a change of them is noticed."""
        if type(result) in (list, tuple):
            return type(result)(self._bound(item) for item in result)
        if type(result) is not np.ndarray or not np.may_share_memory(result, self):
            return result
        view = result.view(EncodedArray)
        view._bond = self._bond
        return view

    def __getitem__(self, key: Any) -> Any:
        """Return the entries; a subset of the rows keeps the facts."""
        found, facts = super().__getitem__(key), self._carried
        if not isinstance(found, EncodedArray) or not _selects_rows(key) or facts is None or found.ndim != 2:
            return found
        if not np.may_share_memory(found, self):
            return encoded(np.asarray(found), facts)
        found._checksum = _checksum(found)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        """Change entries in place, and forget the facts."""
        _cut(self)
        super().__setitem__(_plain(key), _plain(value))

    def copy(self, order: Any = "C") -> Any:
        """Return a copy of the rows with the same facts."""
        found = np.array(np.asarray(self), order=order)
        return found if self.facts is None else encoded(found, self.facts)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any] | None) -> Any:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (np.asarray(self), self.facts)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def __repr__(self) -> str:
        """Return the text of a plain array, as the encoders have always shown."""
        return repr(np.asarray(self))


def _changing(name: str) -> Callable[..., Any]:
    def method(self: EncodedArray, *args: Any, **kwargs: Any) -> Any:
        _cut(self)
        return getattr(np.ndarray, name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"Call ``{name}`` of numpy, and forget the facts."
    return method


for _name in _CHANGING:
    setattr(EncodedArray, _name, _changing(_name))


class EncodedMatrix(csr_array):  # type: ignore[misc]  # scipy has no types
    """Sparse rows of an encoder, with `EncodingFacts`."""

    _bond: _Bond | None = None
    _values: Any = None
    _checksum: int | None = None

    @property
    def facts(self) -> EncodingFacts | None:
        """Facts of the encoder; None if values or columns may have changed."""
        found = self._carried
        return found if found is not None and _sparse_checksum(self) == self._checksum else None

    @property
    def _carried(self) -> EncodingFacts | None:
        """Facts before the comparison of the checksum."""
        found = None if self._bond is None else self._bond.facts
        return found if found is not None and self.shape[1:] == (found.n_features,) else None

    @property
    def data(self) -> Any:
        """Stored entries; a change of them removes the facts."""
        return self._values

    @data.setter
    def data(self, values: Any) -> None:
        _cut(self)
        self._values = np.asarray(values)

    def __getitem__(self, key: Any) -> Any:
        """Return the entries; a subset of the rows keeps the facts."""
        found, facts = super().__getitem__(key), self._carried
        if facts is None or not isinstance(found, csr_array) or found.ndim != 2 or not _selects_rows(key):
            return found
        return encoded(found, facts)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Change entries in place, and forget the facts."""
        _cut(self)
        super().__setitem__(key, value)

    def setdiag(self, *args: Any, **kwargs: Any) -> None:
        """Call ``setdiag`` of scipy, and forget the facts."""
        _cut(self)
        super().setdiag(*args, **kwargs)

    def copy(self) -> Any:
        """Return a copy of the rows with the same facts."""
        found = self.plain().copy()
        return found if self.facts is None else encoded(found, self.facts)

    def plain(self) -> Any:
        """Return the same rows as a csr_array, without copying them."""
        return csr_array((np.asarray(self._values), self.indices, self.indptr), shape=self.shape)

    def __copy__(self) -> Any:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.plain(), self.facts)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()


def encoded(matrix: Any, facts: EncodingFacts) -> Any:
    """Return the rows of an encoder with its facts, without copying them.

    Parameters
    ----------
    matrix : ndarray or csr_array
        Rows as the encoder returned them.
    facts : EncodingFacts
        Facts of the encoder.

    Returns
    -------
    EncodedArray or EncodedMatrix
        The same rows.
    """
    bond = _Bond(facts)
    if isinstance(matrix, np.ndarray):
        rows: Any = matrix.view(EncodedArray)
        rows._bond, rows._checksum = bond, _checksum(matrix)
        return rows
    rows = EncodedMatrix((np.asarray(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)
    guard = rows.data.view(EncodedArray)  # tells the bond of changes of the entries
    guard._bond = rows._bond = bond
    rows._values = guard
    rows._checksum = _sparse_checksum(rows)
    return rows


def facts_of(matrix: object) -> EncodingFacts | None:
    """Return the facts of an encoder's rows; None for any other object."""
    return matrix.facts if isinstance(matrix, EncodedArray | EncodedMatrix) else None


def _checksum(values: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(values).data)


def _sparse_checksum(rows: EncodedMatrix) -> int:
    """Return the checksum of the stored entries and of their places."""
    return hash((_checksum(rows._values), _checksum(rows.indices), _checksum(rows.indptr)))


def _restored(matrix: Floats, facts: EncodingFacts | None) -> Any:
    """Return a pickled matrix."""
    return matrix if facts is None else encoded(matrix, facts)


def _cut(changed: object) -> None:
    """Forget the facts of a matrix, or of each in a tuple of output arrays."""
    for one in changed if isinstance(changed, tuple) else (changed,):
        bond = getattr(one, "_bond", None)
        if isinstance(bond, _Bond):
            bond.cut()


def _plain(value: Any) -> Any:
    """Return arguments of numpy with plain arrays."""
    if isinstance(value, EncodedArray):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(_plain(item) for item in value)
    return {name: _plain(item) for name, item in value.items()} if type(value) is dict else value


def _selects_rows(key: Any) -> bool:
    """Whether an index leaves whole rows: an index of rows alone, or followed by all columns."""
    if not isinstance(key, tuple):
        return key is not None
    return len(key) == 2 and key[0] is not None and (key[1] is Ellipsis or _is_everything(key[1]))


def _is_everything(key: Any) -> bool:
    return isinstance(key, slice) and (key.start, key.stop, key.step) == (None, None, None)
