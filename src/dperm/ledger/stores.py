# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which store a location names."""

import os
import re
from pathlib import Path

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.ledger.books import Store

_SCHEMES = ("postgresql://", "postgres://")


def location_of(given: object) -> str:
    """``given`` as text: a URL of PostgreSQL as it is, a path in full, so that it names the same file everywhere."""
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if not isinstance(given, str) or not given.strip() or not _can_be_named(given):
        raise ParameterError(f'location must be a path or a URL "postgresql://...", got {shown(given)}.')
    if "://" in given and not given.startswith(_SCHEMES):
        raise ParameterError(
            f'location must be a path or a URL "postgresql://...", got {shown(without_secret(given))}.'
        )
    return given if given.startswith(_SCHEMES) else os.path.abspath(given)


def _can_be_named(location: str) -> bool:
    """Whether the system can be asked for a file of this name."""
    try:
        return b"\0" not in os.fsencode(location)
    except UnicodeEncodeError:
        return False


def store_of(location: str) -> Store:
    """The store at a location, which nothing is read from yet."""
    if location.startswith(_SCHEMES):
        from dperm.ledger.postgres import PostgresStore

        return PostgresStore(location)
    from dperm.ledger.sqlite import SQLiteStore

    return SQLiteStore(Path(location))


def without_secret(location: str) -> str:
    """The location without a password, to be shown."""
    # up to the last @: of a password that has one, no part is shown
    plain = re.sub(r"(?<=://)([^@/:]*):.*@", r"\1:***@", location, flags=re.DOTALL)
    return re.sub(r"(password=)[^&\s]*", r"\1***", plain, flags=re.IGNORECASE)
