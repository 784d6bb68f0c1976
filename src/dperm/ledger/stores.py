# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ledger locations: paths and PostgreSQL URLs, their stores, and their display without passwords.

A slightly malformed URL puts the password elsewhere: after the host, into the database, beside its parameter. So a URL
is displayed in its parts only if it parses without doubt; otherwise only its scheme is displayed.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from dperm.errors import ParameterError
from dperm.ledger.books import Store

SCHEMES = ("postgresql://", "postgres://")
"""Schemes of PostgreSQL URLs."""
_HIDDEN = "***"
_RULE = 'must be a path or a URL "postgresql://..."'
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_NAME = r"(?:[\w.~+-]|%[0-9A-Fa-f]{2})+"
_HOST = r"(?:[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?"
_URL = re.compile(
    rf"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>{_NAME})?(?P<password>:[^@/?\s]*)?@)?(?P<hosts>{_HOST}(?:,{_HOST})*)"
    rf"(?:/(?P<database>{_NAME})?)?(?P<query>\?(?:\w+=[^&=?@\s]*(?:&\w+=[^&=?@\s]*)*)?)?"
)
_SHOWN = ("user", "host", "port", "dbname")
_PLAIN = {"user": r"[\w.@ +~-]+", "host": r"[\w.,/ +~-]+", "port": r"[\d,]+", "dbname": r"[\w. +~-]+"}
_CONNINFO = re.compile(
    r"\b(?:host|hostaddr|port|dbname|user|password|passfile|service|sslpassword|PG[A-Z]+)\s*=", re.IGNORECASE
)
_TORN = re.compile(r"\W*postgres\w*(?:\+\w+)?:|[^/\s]+:[^/\s]*@", re.IGNORECASE)


def location_of(given: object) -> str:
    """Return a location as text: a PostgreSQL URL unchanged, a path in absolute form.

    Raises
    ------
    ParameterError
        If the location is neither. The message contains no password.
    """
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if not isinstance(given, str):
        kind = type(given).__name__
        raise ParameterError(argument="location", rule=_RULE, got=f"an object of type {kind}")
    if not given.strip() or not _can_be_named(given):
        raise ParameterError(argument="location", rule=_RULE, got="text without a valid file name")
    if given.startswith(SCHEMES):
        return given
    if "://" in given:
        raise ParameterError(argument="location", rule=_RULE, got=repr(shown_url(given)))
    if is_torn(given):  # not shown: it may contain a password
        raise ParameterError(
            argument="location",
            rule=_RULE,
            got="apparent connection settings",
            remedy="Write postgresql://user@host:5432/database, and store the password in the file ~/.pgpass. Give a "
            "path of this form from the root.",
        )
    return _in_full(given)


def _in_full(path: str) -> str:
    """Return the path with its directory resolved by the system: ``link/..`` is the parent of the link's target."""
    directory, name = os.path.split(path)
    return os.path.realpath(path) if name in ("", ".", "..") else os.path.join(os.path.realpath(directory), name)


def _can_be_named(location: str) -> bool:
    """Return whether the system accepts this file name."""
    try:
        return b"\0" not in os.fsencode(location)
    except UnicodeEncodeError:
        return False


def store_of(location: str) -> Store:
    """Return the store at a location, without reading it."""
    if location.startswith(SCHEMES):
        from dperm.ledger.postgres import PostgresStore

        return PostgresStore(location)
    from dperm.ledger.sqlite import SQLiteStore

    return SQLiteStore(Path(location))


def is_file(location: str) -> bool:
    """Return whether a location is a path, not a URL."""
    return not location.startswith(SCHEMES)


def without_secret(location: str) -> str:
    """Return the location without a password, for display."""
    return shown_url(location) if location.startswith(SCHEMES) else location


def is_clear(url: str) -> bool:
    """Return whether all parts of the URL parse without doubt, so no displayed part belongs to a password."""
    found = _URL.fullmatch(url)
    if found is None or re.fullmatch(r"\w+://[^@/]*:[^@/]*", url):  # a host and port, or a user and a numeric password
        return False
    named = [("user", found["user"]), ("dbname", found["database"]), *_parameters(found["query"])]
    return all(re.fullmatch(_PLAIN[name], unquote(text)) for name, text in named if name in _PLAIN and text)


def shown_url(url: str) -> str:
    """Return the URL with user, host, port and database only; with its scheme only, if parsing is doubtful."""
    found = _URL.fullmatch(url)
    if found is None or not is_clear(url):
        scheme = _SCHEME.match(url)
        return f"{scheme[0] if scheme else ''}{_HIDDEN}"
    user = (found["user"] or "") + (f":{_HIDDEN}" if found["password"] else "")
    given = _parameters(found["query"])
    query = "&".join([f"{name}={text}" for name, text in given if name in _SHOWN])
    hidden = _HIDDEN if any(name not in _SHOWN for name, _ in given) else ""
    rest = "&".join(part for part in (query, hidden) if part)
    place = found["hosts"] + ("" if found["database"] is None else f"/{found['database']}")
    return f"{found['scheme']}{user}{'@' if user else ''}{place}{'?' if rest else ''}{rest}"


def is_torn(text: str) -> bool:
    """Return whether text without a scheme was meant for a database; it is then no path, and may contain a password."""
    # an explicit path, for files with unusual names
    if text.startswith(("/", "./", "../", "~")):
        return False
    return bool(_CONNINFO.search(text) or _TORN.match(text))


def _parameters(query: str | None) -> list[tuple[str, str]]:
    pairs = (part.partition("=") for part in (query or "")[1:].split("&") if part)
    return [(name, text) for name, _, text in pairs]
