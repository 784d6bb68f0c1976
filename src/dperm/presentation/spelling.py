# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""References to arguments inside messages, formatted by the front end that shows the message.

A message refers to an argument by `arg`. Python shows these references as ``n`` and ``n=100``; the command line as
``--n`` and ``--n 100``. A reference stands between control characters. Text of the user, such as a column name, is
quoted in messages by ``repr``, which escapes control characters: it cannot contain a reference.
"""

import re
from collections.abc import Callable

Spelling = Callable[[str, str | None], str]
"""Return the text of a reference from the argument's Python name and its value, or None without a value."""

_START, _VALUE, _END = "\x02", "\x1f", "\x03"
_REFERENCE = re.compile(f"{_START}(\\w+)(?:{_VALUE}([^{_START}{_END}]*))?{_END}")
_CONTROLS = str.maketrans(dict.fromkeys((_START, _VALUE, _END)))


def arg(name: str, value: object = None) -> str:
    """Return a reference to an argument, for use in a message template.

    Parameters
    ----------
    name
        Python name of the argument.
    value
        Value to show with the name; None for the name alone.

    Returns
    -------
    str
        Reference for a template; `spell` replaces the reference.

    Examples
    --------
    >>> spell(f"Set {arg('n', 100)} or leave {arg('adjacency')} out.")
    'Set n=100 or leave adjacency out.'
    """
    shown = "" if value is None else _VALUE + str(value).translate(_CONTROLS)
    return f"{_START}{name}{shown}{_END}"


def quoted_arg(name: str, value: object) -> str:
    """Return a reference to an argument with a text value, which Python users see in double quotes."""
    return arg(name, f'"{value}"')


def python_spelling(name: str, value: str | None) -> str:
    """Format a reference as a Python argument: ``n`` or ``n=100``.

    Parameters
    ----------
    name
        Python name of the argument.
    value
        Value to show, as text; None for the name alone.

    Returns
    -------
    str
        ``name``, or ``name=value``.
    """
    return name if value is None else f"{name}={value}"


def spell(template: str, spelling: Spelling = python_spelling) -> str:
    """Return the template with every reference to an argument formatted.

    Parameters
    ----------
    template
        Text with references written by `arg`.
    spelling
        Function that formats a reference to an argument, given its name and its value (None if there is no value).

    Returns
    -------
    str
        Text without references.
    """
    return _REFERENCE.sub(lambda reference: spelling(reference[1], reference[2]), template)
