# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Canonical form of single cells: a number, a text, or missing (T72).

The type of a whole column depends on all its records: one text cell turns a pandas column into objects, and one missing
cell turns integers into doubles. A private preparation must not depend on that. Here each cell is read on its own, so
a record changes only its own cell.

===========================================  ==========================================================
cell                                         canonical form
===========================================  ==========================================================
None, NaN, NA, NaT, "", "na", "nan", "null"  missing (text in any case, with surrounding spaces)
finite number, True and False as 1 and 0     number, as a double
text that Python reads as a finite number    the same number; underscores are not accepted
"true" and "false" in any case               1 and 0: read_csv has truth values only if no cell is anything else
complex number without an imaginary part     its real part
infinity                                     text, "inf" or "-inf"
date or time, also as text in such a format  text in ISO 8601 format, cut at microseconds; midnight is left out
duration                                     text such as "1 day, 0:00:30", cut at microseconds
other text                                   text without surrounding spaces, in Unicode normal form C
anything else                                missing
===========================================  ==========================================================
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats, Mask
from dperm.data.identity import same_text
from dperm.data.tables import GAPS, as_array, raw_columns
from dperm.errors import DataError

MISSING = frozenset(("", "na", "nan", "null"))
"""Texts of missing values, in upper or lower case, unless declared as a category."""
TRUTH = {"true": 1.0, "false": 0.0}
"""Texts of truth values, in upper or lower case."""
UNDERSCORE = "_"
"""Character refused in numbers: Python reads 1_000 as a number, but in a table it is a name or an error."""
PIECE = 2**12
"""Cells that are converted to objects of Python at once."""
TEXT_TYPES = frozenset(("str", "string", "string[python]", "string[pyarrow]", "large_string", "large_string[pyarrow]"))
"""Types of pandas and Arrow text columns."""
NO_TEXT = -1
"""Code of cells that are not text."""
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([+-][0-9]{2}:[0-9]{2})?"
)
"""Date, time, fraction of a second and offset from UTC. pandas writes all times of a column to CSV files in the format
that the longest needs, so the formats must be equal here."""
_MIDNIGHT = "00:00:00"
_MICROSECONDS = 6
"""Digits of a fraction of a second that are read; smaller units are cut."""
_MOST_DAYS = 10**8
"""Longest duration; longer ones, and dates outside the years 1 to 9999, count as missing."""
_EXACT = 2.0**53


@runtime_checkable
class _SlicedByPlace(Protocol):
    """Series of pandas."""

    iloc: Any

    def __len__(self) -> int: ...


@runtime_checkable
class _SlicedByLength(Protocol):
    """Arrow array, also in chunks."""

    def slice(self, offset: int, length: int) -> Any: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class CanonicalColumn:
    """Cells of one column in canonical form.

    Attributes
    ----------
    numbers
        The number in each cell; NaN for text and missing cells.
    codes
        Place of each cell's text in ``texts``; `NO_TEXT` for numbers and missing cells.
    texts
        Distinct texts, in an order that depends on the data: never release it.
    """

    numbers: Floats
    codes: NDArray[np.int32]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def pieces(self, length: int) -> Iterator["CanonicalColumn"]:
        """Yield the column in slices of at most ``length`` cells, not copied."""
        for start in range(0, len(self), length):
            stop = start + length
            yield CanonicalColumn(self.numbers[start:stop], self.codes[start:stop], self.texts)

    def part(self, rows: NDArray[np.int64]) -> "CanonicalColumn":
        """Return the cells at these places, with the texts that occur among them only.

        A text outside the part must not be counted there: its count would get noise, and could be shown (T71, T73).
        """
        codes = self.codes[rows]
        held, places = np.unique(codes, return_inverse=True)  # NO_TEXT is the smallest code
        texts = tuple(self.texts[code] for code in held.tolist() if code != NO_TEXT)
        shift = int(held.size > 0 and held[0] == NO_TEXT)
        return CanonicalColumn(self.numbers[rows], (places - shift).astype(np.int32), texts)

    @cached_property
    def is_text(self) -> Mask:
        """Whether each cell is text."""
        return np.asarray(self.codes != NO_TEXT)

    def values(self) -> tuple[NDArray[np.int64], list[str]]:
        """Return the code of each cell's value, -1 for missing, and the canonical texts of all values, numbers too.

        Used for labels, where ``1``, ``1.0`` and ``"1"`` are one class.
        """
        places = {text: place for place, text in enumerate(self.texts)}
        codes = self.codes.astype(np.int64)
        held = ~np.isnan(self.numbers)
        distinct, where = np.unique(self.numbers[held] + 0.0, return_inverse=True)  # -0.0 is 0.0
        named = [places.setdefault(number_text(value), len(places)) for value in distinct.tolist()]
        codes[held] = np.array(named, dtype=np.int64)[where]
        return codes, list(places)

    def labels(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the class of each cell; None for missing cells and all other values."""
        codes, texts = self.values()
        known = {label_text(label): label for label in classes.tolist()}
        found = np.empty(len(texts) + 1, dtype=object)
        found[:] = [*(known.get(text) for text in texts), None]
        return found[codes]  # code -1 of missing cells is last


def cell_labels(y: object, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return labels read cell by cell, as a private schema reads them. No label raises an error.

    Parameters
    ----------
    y
        Labels, one for each record.
    classes
        Released classes; None for numbers.

    Returns
    -------
    ndarray
        Classes with None for all other labels, or numbers with NaN for all other labels.
    """
    column = canonical_column(y)
    return column.numbers if classes is None else column.labels(classes)


def canonical_column(values: object) -> CanonicalColumn:
    """Return a column in canonical form, each cell read on its own. No cell raises an error.

    Parameters
    ----------
    values
        One-dimensional list, array, series or Arrow column.

    Raises
    ------
    DataError
        If ``values`` is not one-dimensional.
    """
    if isinstance(values, CanonicalColumn):
        return values
    builder = CanonicalBuilder()
    builder.add(values)
    return builder.column()


class CanonicalBuilder:
    """Builder of a column in canonical form, from pieces. Beside the result, it holds the texts of one piece."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Floats, NDArray[np.int32]]] = []
        self._texts: dict[str, int] = {}

    def add(self, values: object) -> None:
        """Add the cells of a one-dimensional list, array, series or Arrow column; no cell raises an error.

        Raises
        ------
        DataError
            If ``values`` is not one-dimensional.
        """
        for part in _text_pieces(values):
            array = _as_array(part)
            if array.ndim != 1:
                raise DataError("every column of the table must be one-dimensional, with one cell for each record.")
            kind = array.dtype.kind
            if kind in "biuf":
                self._pieces.append(self._of_numbers(array))
                continue
            for start in range(0, len(array), PIECE):
                cells = array[start : start + PIECE]
                self._pieces.append(self._of_cells((_python_times(cells) if kind in "mM" else cells).tolist()))

    def add_texts(self, cells: Sequence[str]) -> None:
        """Add cells that are all text, such as those of a CSV file; faster than `add`, with the same result."""
        with suppress(ValueError):
            if UNDERSCORE not in "".join(cells):
                numbers = np.array(list(map(float, cells)), dtype=np.float64)
                if np.isfinite(numbers).all():
                    self._pieces.append((numbers, _no_text(len(numbers))))
                    return
        places = {cell: place for place, cell in enumerate(dict.fromkeys(cells))}
        numbers, codes = self._of_cells(list(places))
        index = np.fromiter(map(places.__getitem__, cells), dtype=np.intp, count=len(cells))
        self._pieces.append((numbers[index], codes[index]))

    def column(self) -> CanonicalColumn:
        """Return the column of all cells; call it once, since the pieces are dropped."""
        pieces, texts = self._pieces, tuple(self._texts)
        self._pieces = []
        if len(pieces) == 1:
            return CanonicalColumn(*pieces[0], texts)
        numbers = np.concatenate([np.empty(0), *(numbers for numbers, _ in pieces)])
        codes = _no_text(len(numbers))
        if texts:
            codes = np.concatenate([codes for _, codes in pieces])
        return CanonicalColumn(numbers, codes, texts)

    def _code(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _of_numbers(self, array: NDArray[Any]) -> tuple[Floats, NDArray[np.int32]]:
        with np.errstate(over="ignore"):
            numbers = array.astype(np.float64, copy=False)
        if not np.isinf(numbers).any():
            return numbers, _no_text(len(numbers))
        numbers = numbers.copy()
        codes = np.full(len(numbers), NO_TEXT, dtype=np.int32)
        for sign in (math.inf, -math.inf):
            where = numbers == sign
            if where.any():
                codes[where] = self._code(str(sign))
        numbers[~np.isfinite(numbers)] = math.nan
        return numbers, codes

    def _of_cells(self, cells: list[Any]) -> tuple[Floats, NDArray[np.int32]]:
        """Return numbers and codes of Python objects; equal texts are read once."""
        readers: dict[type, Callable[[Any], float | str | None] | None] = {}
        known: dict[str, tuple[float, int]] = {}
        numbers = np.full(len(cells), math.nan)
        codes = np.full(len(cells), NO_TEXT, dtype=np.int32)
        for place, cell in enumerate(cells):
            kind = type(cell)
            if kind is str and cell in known:
                numbers[place], codes[place] = known[cell]
                continue
            if kind not in readers:
                readers[kind] = _reader(kind)
            reader = readers[kind]
            found = None if reader is None else reader(cell)
            if isinstance(found, str):
                codes[place] = self._code(found)
            elif found is not None:
                numbers[place] = found
            if kind is str:
                known[cell] = (float(numbers[place]), int(codes[place]))
        return numbers, codes


def canonical_columns(table: object, names: Iterable[str]) -> Iterator[CanonicalColumn]:
    """Yield the columns of these names in canonical form, all of the same length.

    Raises
    ------
    DataError
        If a column is missing or occurs twice, or the lengths differ.
    """
    length: int | None = None
    for values in raw_columns(table, names):
        column = canonical_column(values)
        if length is not None and len(column) != length:
            raise DataError("all columns of the table must have the same length.")
        length = len(column)
        yield column


def row_count(table: object, names: Sequence[str]) -> int:
    """Return the number of rows, which is public under replace_one only.

    Raises
    ------
    DataError
        If ``names``, the features, are empty.
    """
    if not names:
        raise DataError("the table must have at least one feature column.")
    (first,) = raw_columns(table, names[:1])
    return len(canonical_column(first))


def canonical_cell(cell: object) -> float | str | None:
    """Return one cell in canonical form: a finite number, a text, or None if it is missing."""
    reader = _reader(type(cell))
    return None if reader is None else reader(cell)


def label_text(label: object) -> str:
    """Return the canonical text of a class label, with which cells are compared; a missing value is returned as text.

    The labels "01", 1 and True have one text, as their cells have.
    """
    found = canonical_cell(label)
    return str(label) if found is None else found if isinstance(found, str) else number_text(found)


def number_text(number: float) -> str:
    """Return the canonical text of a number: the shortest decimal, without ".0" for whole numbers."""
    if number == 0:
        return "0"
    return str(int(number)) if number.is_integer() and abs(number) <= _EXACT else repr(number)


def _as_array(values: Any) -> NDArray[Any]:
    try:
        return as_array(values)
    except MemoryError:
        raise
    except Exception:  # the message might repeat a cell
        pass
    raise DataError("a column of the table cannot be read as one cell for each record.")


def _text_pieces(values: Any) -> Iterator[Any]:
    """Yield slices of a pandas or Arrow text column, of at most `PIECE` cells; any other column as a whole.

    numpy turns each cell of such a column into an object of Python, which needs several times the memory of the column.
    The type of these columns holds text and gaps only, so that a slice is read as the whole column is.
    """
    kind = str(getattr(values, "dtype", getattr(values, "type", None)))
    if kind not in TEXT_TYPES or not isinstance(values, _SlicedByPlace | _SlicedByLength):
        yield values
        return
    for start in range(0, len(values), PIECE):
        yield values.iloc[start : start + PIECE] if isinstance(values, _SlicedByPlace) else values.slice(start, PIECE)


def _no_text(length: int) -> NDArray[np.int32]:
    """Return the codes of cells without text, without memory for each."""
    return np.broadcast_to(np.int32(NO_TEXT), length)


def _reader(kind: type) -> Callable[[Any], float | str | None] | None:
    """Return the reader for cells of a type; None where such cells count as missing."""
    if kind.__name__ in GAPS:
        return None
    if issubclass(kind, str):
        return _text
    if issubclass(kind, np.datetime64 | np.timedelta64):  # before numbers: numpy's durations are registered as integers
        return lambda cell: canonical_cell(_python_times(np.asarray([cell]))[0])
    if issubclass(kind, Real | Decimal | np.bool_):
        return _number
    if issubclass(kind, complex | np.complexfloating):
        return lambda cell: None if cell.imag != 0 else _number(cell.real)
    if issubclass(kind, date | time | datetime):
        return _time
    if issubclass(kind, timedelta):
        return _duration
    return None


def _text(cell: str) -> float | str | None:
    stripped = str.__str__(cell).strip()
    folded = stripped.casefold()
    if folded in MISSING:
        return None
    if folded in TRUTH:
        return TRUTH[folded]
    if UNDERSCORE not in stripped:
        with suppress(ValueError):
            number = float(stripped)
            return number if math.isfinite(number) else str(number)
    return _iso_time(stripped) or _storable(stripped)


def _storable(text: str) -> str | None:
    """Return text in normal form C, without NUL characters and lone surrogates, which files and arrays cannot hold."""
    plain = text.replace("\0", "").encode("utf-8", "replace").decode()
    return same_text(plain).strip() or None


def _number(cell: Any) -> float | str | None:
    try:
        number = float(cell)
    except OverflowError:
        number = math.inf if cell > 0 else -math.inf
    except Exception:
        return None
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(number)


def _time(cell: Any) -> str | None:
    try:
        if isinstance(cell, date) and not MINYEAR <= cell.year <= MAXYEAR:
            return None
        # the methods of Python's own types: those of pandas add nanoseconds, which numpy's conversion drops
        kind: Any = next(kind for kind in (datetime, date, time) if isinstance(cell, kind))
        text = str(kind.isoformat(cell))
    except Exception:
        return None
    return _iso_time(text) or text


def _iso_time(text: str) -> str | None:
    """Return a date with a time in ISO 8601 format, without midnight and zero microseconds; None for other text."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    day, clock, fraction, offset = found.groups(default="")
    digits = fraction[:_MICROSECONDS].ljust(_MICROSECONDS, "0")
    if int(digits):
        clock = f"{clock}.{digits}"
    return day if clock == _MIDNIGHT and not offset else f"{day}T{clock}{offset}"


def _duration(cell: Any) -> str | None:
    try:
        plain = timedelta(cell.days, cell.seconds, cell.microseconds)  # pandas writes its own type in another way
        return str(plain) if abs(plain.days) <= _MOST_DAYS else None
    except Exception:
        return None


def _python_times(array: NDArray[Any]) -> NDArray[Any]:
    """Return numpy's dates or durations as Python's, cut at microseconds; None for gaps and beyond Python's range.

    numpy alone would return integers for nanoseconds and beyond that range, and wrap around in finer units.
    """
    if array.dtype.kind == "M":
        coarse, low, high, fine = "datetime64[Y]", MINYEAR - 1970, MAXYEAR - 1970, "datetime64[us]"
    else:
        coarse, low, high, fine = "timedelta64[D]", -_MOST_DAYS - 1, _MOST_DAYS + 1, "timedelta64[us]"
    whole = array.astype(coarse).astype(np.int64)
    known = np.where((whole >= low) & (whole <= high), array, np.array("NaT", dtype=array.dtype))
    return known.astype(fine).astype(object)
