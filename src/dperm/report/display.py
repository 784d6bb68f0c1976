# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Field values for display: readable keys, rounded numbers, no empty entries.

Pages and Markdown show the same values; the JSON of a statement has the original keys and every digit.
"""

import re
from collections.abc import Callable, Mapping

from dperm.presentation.glossary import term
from dperm.presentation.numbers import epsilon_first, format_down, format_number, format_up
from dperm.presentation.phrases import capitalize
from dperm.report import fields as names
from dperm.report.audits import audits_for_display
from dperm.report.utility import with_measure_names

NumberFormat = Callable[[float], str]

_FORMATS: dict[str, NumberFormat] = {
    "parameters": format_up,
    "goal": format_up,
    "profile": format_up,
    "ledger_entry": format_up,
    "remaining": format_down,
}
"""Upper bounds, limits and spending are rounded up; remaining amounts are rounded down."""
_UPPER_BOUNDS = frozenset(("epsilon", "epsilons", "eps", "delta", "deltas", "rho", "mu", "ε", "δ", "ρ", "μ"))
"""Words in the names of numbers that are rounded up in every field, even if the user states them."""


def for_display(key: str, value: object) -> object:
    """Return the value of a field as nested mappings and lists of finished texts."""
    return _texts(_PREPARE.get(key, _unchanged)(value), _FORMATS.get(key, format_number))


def is_empty(value: object) -> bool:
    """Return whether a value has nothing to show: None, or an empty text, mapping or list."""
    return value is None or value in ("", {}, [], ())


def _unchanged(value: object) -> object:
    return value


def _ledger_entry(entry: object) -> object:
    """Leave out the initial limit of a ledger entry if the limit was never changed."""
    if not isinstance(entry, Mapping) or entry.get("limit_changes"):
        return entry
    return {name: item for name, item in entry.items() if name != "opening_limit"}


def _limits(limits: object) -> object:
    return [names.status_text(limit) for limit in limits] if isinstance(limits, list) else limits


def _sentence(value: object) -> object:
    """Return a text with a capital first letter, and "None" for a field without a guarantee."""
    if not isinstance(value, str):
        return value
    return "None" if value in (names.NOTHING, names.NONE) else capitalize(value)


_PREPARE: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(("flavour", "unit_of_privacy", "trust_model", "adjacency", "covered", "composition"), _sentence),
    "utility": with_measure_names,
    "audit": audits_for_display,
    "ledger_entry": _ledger_entry,
    "limits": _limits,
}


def _number_format(name: object, default: NumberFormat) -> NumberFormat:
    if str(name) in _FORMATS:
        return _FORMATS[str(name)]
    return format_up if _UPPER_BOUNDS & set(re.findall(r"[^\W\d_]+", str(name).lower())) else default


def _texts(value: object, number: NumberFormat) -> object:
    if is_empty(value):
        return "none"
    if isinstance(value, Mapping):
        kept = {name: item for name, item in epsilon_first(value).items() if not is_empty(item)}
        return {term(name): _texts(item, _number_format(name, number)) for name, item in kept.items()} or "none"
    if isinstance(value, list | tuple):
        return [_texts(item, number) for item in value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
