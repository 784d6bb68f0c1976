# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""References to arguments inside messages, spelled by the front end that shows the message.

A message template refers to an argument by ``{@name}`` or ``{@name:value}``. Python spells these references ``n`` and
``n=100``; the command line spells them ``--n`` and ``--n 100``. Other braces are ordinary text.
"""

import re
from collections.abc import Callable

Spelling = Callable[[str, str | None], str]
"""Return the text of a reference from the argument's Python name and its value, or None without a value."""

_REFERENCE = re.compile(r"\{@(\w+)(?::([^{}]*))?\}")


def arg(name: str, value: object = None) -> str:
    """Return a reference to an argument, for use in a message template.

    Parameters
    ----------
    name
        Python name of the argument.
    value
        Value to show beside the name; None for the name alone.

    Examples
    --------
    >>> spell(f"Set {arg('n', 100)} or leave {arg('adjacency')} out.")
    'Set n=100 or leave adjacency out.'
    """
    return f"{{@{name}}}" if value is None else f"{{@{name}:{str(value).replace('{', '(').replace('}', ')')}}}"


def python_spelling(name: str, value: str | None) -> str:
    """Spell a reference as a Python argument: ``n`` or ``n=100``."""
    return name if value is None else f"{name}={value}"


def spell(template: str, spelling: Spelling = python_spelling) -> str:
    """Return the template with each reference replaced by its spelling."""
    return _REFERENCE.sub(lambda reference: spelling(reference[1], reference[2]), template)
