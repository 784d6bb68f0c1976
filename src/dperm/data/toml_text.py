# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Keys and values in TOML notation. Python's tomllib only reads."""

import json
import re

from dperm.errors import ParameterError


def toml_key(name: str) -> str:
    """Return a TOML key, in quotes unless it consists of ASCII letters, digits, underscores and hyphens."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_string(name)


def toml_string(text: str) -> str:
    """Return a TOML string, which is a JSON string but for one character.

    Raises
    ------
    ParameterError
        If the text has half of a surrogate pair, which UTF-8 cannot encode.
    """
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        problem = "a name or category has half of a surrogate pair, which a TOML file in UTF-8 cannot hold."
        raise ParameterError(problem, remedy="Correct the text.")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: object) -> str:
    """Return text, a truth value, a number or a list of them in TOML notation; floats are exact."""
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)
