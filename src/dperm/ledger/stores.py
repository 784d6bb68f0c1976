# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which store a location names."""

import os
from pathlib import Path

from dperm.errors import ParameterError
from dperm.ledger.books import Store
from dperm.ledger.urls import SCHEMES, is_torn, shown_url


def location_of(given: object) -> str:
    """``given`` as text: a URL of PostgreSQL as it is, a path in full, so that it names the same file everywhere."""
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if not isinstance(given, str):
        kind = type(given).__name__
        raise ParameterError(f'location must be a path or a URL "postgresql://...", got an object of type {kind}.')
    if not given.strip() or not _can_be_named(given):
        raise ParameterError('location must be a path or a URL "postgresql://...", got text that names no file.')
    if given.startswith(SCHEMES):
        return given
    if "://" in given:
        raise ParameterError(f'location must be a path or a URL "postgresql://...", got {shown_url(given)!r}.')
    if is_torn(given):  # not repeated: there may be a password in it
        raise ParameterError(
            "location must be a path or a URL, got what looks like the settings of a connection. Write "
            "postgresql://user@host:5432/database, and keep the password in the file ~/.pgpass; a path of this form "
            "is given from the root."
        )
    return _in_full(given)


def _in_full(path: str) -> str:
    """The path with its directory as the system finds it: ``link/..`` is where the link leads, not where it stands."""
    directory, name = os.path.split(path)
    return os.path.realpath(path) if name in ("", ".", "..") else os.path.join(os.path.realpath(directory), name)


def _can_be_named(location: str) -> bool:
    """Whether the system can be asked for a file of this name."""
    try:
        return b"\0" not in os.fsencode(location)
    except UnicodeEncodeError:
        return False


def store_of(location: str) -> Store:
    """The store at a location, which nothing is read from yet."""
    if location.startswith(SCHEMES):
        from dperm.ledger.postgres import PostgresStore

        return PostgresStore(location)
    from dperm.ledger.sqlite import SQLiteStore

    return SQLiteStore(Path(location))


def is_file(location: str) -> bool:
    """Whether a location is a path, not a URL."""
    return not location.startswith(SCHEMES)


def without_secret(location: str) -> str:
    """The location without a password, to be shown."""
    return shown_url(location) if location.startswith(SCHEMES) else location
