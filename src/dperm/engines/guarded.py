# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Calls on workers whose errors contain no cell.

An exception of another library may quote cells, and the exceptions and frames behind an error may hold rows. Software
of a cluster writes errors to the logs of workers, and sends them to the driver. Therefore errors are replaced on the
worker, before this software sees them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dperm.data import row_groups
from dperm.errors import DpermError

S = TypeVar("S")
T = TypeVar("T")

_GROUP = "_row_group"


def guarded(function: Callable[[S], T], argument: S, *, name: str) -> T:
    """Return ``function(argument)``; errors name the row group and contain no cell.

    Parameters
    ----------
    function
        Function of a row group.
    argument
        Row group.
    name
        Public id of the row group, for the error.

    Returns
    -------
    object
        Result of the function.

    Raises
    ------
    DpermError
        An error of dperm; a DataError with the code ``FOREIGN`` in place of any other exception. It names the row group
        and the type of the exception.

    Notes
    -----
    *Guarantees.* The error has no cause, context, note, or traceback below this function. Its message contains no text
    of another library.

    Examples
    --------
    >>> try:
    ...     guarded(float, "secret", name="part-0.parquet, row group 3")
    ... except DpermError as error:
    ...     print(error.problem_text)
    row group 'part-0.parquet, row group 3' cannot be processed: a library raised ValueError.
    """
    try:
        return row_groups.guarded(name, partial(function, argument))
    except DpermError as error:
        found = _alone(error)
    vars(found)[_GROUP] = name
    raise found  # outside of the except block, so that it has no context


def error_without_cells(error: BaseException, name: str) -> DpermError:
    """Return an error for the row group ``name``, without the text and the traceback of ``error``."""

    def fail(error: BaseException) -> None:
        raise error

    if isinstance(error, DpermError):
        return _alone(error)
    try:
        guarded(fail, error, name=name)
    except DpermError as found:
        return _alone(found)
    raise AssertionError


def failed_group(error: DpermError, names: Sequence[str]) -> str:
    """Return the row group of an error of `guarded`; the first of ``names`` for other errors."""
    return str(vars(error).get(_GROUP, names[0]))


def _alone(error: DpermError) -> DpermError:
    """Return the error without the exceptions, notes and frames behind it."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    vars(error).pop("__notes__", None)
    return error
