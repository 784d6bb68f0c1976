# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plain data as text to be read: a line for every item of a list, nested mappings indented."""

from collections.abc import Iterator, Mapping, Sequence

_INDENT = "  "


def lines(name: str, value: object) -> Iterator[str]:
    """``name: value``, on one line or with the parts of the value below."""
    if isinstance(value, Mapping) and value:
        yield f"{name}:"
        for key, item in value.items():
            yield from (_INDENT + line for line in lines(str(key), item))
    elif isinstance(value, list | tuple) and not is_short(value):
        yield f"{name}:"
        for item in value:
            yield from (_INDENT + line for line in _listed(item))
    else:
        yield f"{name}: {in_line(value)}"


def in_line(value: object) -> str:
    """A value that needs no lines of its own."""
    if isinstance(value, list | tuple):
        return ", ".join(f"[{in_line(item)}]" if isinstance(item, list | tuple) else str(item) for item in value)
    return "none" if value is None or value == {} else str(value)


def is_short(values: Sequence[object]) -> bool:
    """Whether a list is one of numbers and single words, which fit in a line."""
    return all(isinstance(item, int | float | str) and " " not in str(item) for item in values)


def _listed(item: object) -> Iterator[str]:
    """An item of a list, after a dash."""
    if isinstance(item, Mapping):
        parts = [line for key, part in item.items() for line in lines(str(key), part)]
        yield from (f"{'  ' if place else '- '}{line}" for place, line in enumerate(parts))
    else:
        yield f"- {in_line(item)}"
