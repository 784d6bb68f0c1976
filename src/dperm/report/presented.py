# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The value of a field as it is shown: keys in words, numbers with few digits, nothing empty.

Pages and Markdown show the same; the JSON of a statement has the keys and every digit.
"""

from collections.abc import Callable, Mapping

from dperm.report.labels import epsilon_first, words
from dperm.report.measured import with_names
from dperm.report.numbers import as_text, rounded_down, rounded_up

Number = Callable[[float], str]

_NUMBERS: dict[str, Number] = {
    "parameters": rounded_up,
    "goal": rounded_up,
    "profile": rounded_up,
    "ledger_entry": rounded_up,
    "capacity": rounded_down,
}
"""Ceilings are rounded up, also what was spent; what may be spent is rounded down."""


def presented(key: str, value: object) -> object:
    """Texts in lists and mappings, to be shown as they are."""
    return _shown(with_names(value) if key == "utility" else value, _NUMBERS.get(key, as_text))


def is_empty(value: object) -> bool:
    """Whether there is nothing to show."""
    return value is None or value in ("", {}, [], ())


def _shown(value: object, number: Number) -> object:
    if is_empty(value):
        return "none"
    if isinstance(value, Mapping):
        kept = {name: item for name, item in epsilon_first(value).items() if not is_empty(item)}
        return {words(name): _shown(item, _NUMBERS.get(name, number)) for name, item in kept.items()} or "none"
    if isinstance(value, list | tuple):
        return [_shown(item, number) for item in value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
