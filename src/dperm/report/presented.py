# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The value of a field as it is shown: keys in words, numbers with few digits, nothing empty.

Pages and Markdown show the same; the JSON of a statement has the keys and every digit.
"""

import re
from collections.abc import Callable, Mapping

from dperm.report.audits_shown import audits_shown
from dperm.report.labels import epsilon_first, words
from dperm.report.measured import with_names
from dperm.report.numbers import as_text, rounded_down, rounded_up

Number = Callable[[float], str]

_NUMBERS: dict[str, Number] = {
    "parameters": rounded_up,
    "goal": rounded_up,
    "profile": rounded_up,
    "ledger_entry": rounded_up,
    "remaining": rounded_down,
}
"""Ceilings are rounded up, also limits and what was spent; what is left is rounded down."""
_CEILINGS = frozenset(("epsilon", "epsilons", "eps", "delta", "deltas", "rho", "mu", "ε", "δ", "ρ", "μ"))
"""Words in the names of numbers that are rounded up wherever they stand, also where the user states them."""


def presented(key: str, value: object) -> object:
    """Texts in lists and mappings, to be shown as they are."""
    return _shown(_SPECIAL.get(key, _as_it_is)(value), _NUMBERS.get(key, as_text))


def is_empty(value: object) -> bool:
    """Whether there is nothing to show."""
    return value is None or value in ("", {}, [], ())


def _as_it_is(value: object) -> object:
    return value


def _without_opening(entry: object) -> object:
    """Of an entry in a ledger: the first limit is news only if there was another."""
    if not isinstance(entry, Mapping) or entry.get("limit_changes"):
        return entry
    return {name: item for name, item in entry.items() if name != "opening_limit"}


_SPECIAL: dict[str, Callable[[object], object]] = {
    "utility": with_names,
    "audit": audits_shown,
    "ledger_entry": _without_opening,
}


def _rounding(name: object, number: Number) -> Number:
    """How the numbers under a name are rounded; as those around it, if the name does not say."""
    if str(name) in _NUMBERS:
        return _NUMBERS[str(name)]
    return rounded_up if _CEILINGS & set(re.findall(r"[^\W\d_]+", str(name).lower())) else number


def _shown(value: object, number: Number) -> object:
    if is_empty(value):
        return "none"
    if isinstance(value, Mapping):
        kept = {name: item for name, item in epsilon_first(value).items() if not is_empty(item)}
        return {words(name): _shown(item, _rounding(name, number)) for name, item in kept.items()} or "none"
    if isinstance(value, list | tuple):
        return [_shown(item, number) for item in value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
