# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What may be shown of a URL, which may hold a password: only what surely is none.

A URL that is slightly wrong puts the password elsewhere: after the host, into the database, beside its parameter. So
only a URL that is read without any doubt is shown, in its parts; of another one, the scheme.
"""

import re
from urllib.parse import unquote

SCHEMES = ("postgresql://", "postgres://")
"""How a URL of PostgreSQL begins."""
_HIDDEN = "***"
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


def is_clear(url: str) -> bool:
    """Whether all parts of the URL are what they seem, so that none of those shown is part of a password."""
    found = _URL.fullmatch(url)
    if found is None or re.fullmatch(
        r"\w+://[^@/]*:[^@/]*", url
    ):  # a host and port, or a user and a password of digits
        return False
    named = [("user", found["user"]), ("dbname", found["database"]), *_parameters(found["query"])]
    return all(re.fullmatch(_PLAIN[name], unquote(text)) for name, text in named if name in _PLAIN and text)


def shown_url(url: str) -> str:
    """The URL with its user, host, port and database, and nothing else; with its scheme only, if that is not clear."""
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
    """Whether text that is no URL was meant for a database: then it is no path, and may hold a password."""
    # a way out for files of strange names: a path that begins as one
    if text.startswith(("/", "./", "../", "~")):
        return False
    return bool(_CONNINFO.search(text) or _TORN.match(text))


def _parameters(query: str | None) -> list[tuple[str, str]]:
    pairs = (part.partition("=") for part in (query or "")[1:].split("&") if part)
    return [(name, text) for name, _, text in pairs]
