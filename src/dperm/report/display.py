# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Field values for display: readable keys, rounded numbers, no empty entries.

Pages and Markdown show the same values; the JSON of a statement has the original keys and every digit.
"""

import re
from collections.abc import Callable, Mapping

from dperm.presentation.glossary import term
from dperm.presentation.numbers import INFINITE, epsilon_first, format_down, format_number, format_up
from dperm.presentation.phrases import capitalize
from dperm.report import fields as names
from dperm.report.audits import audits_for_display
from dperm.report.contradictions import NO_PROMISE
from dperm.report.definitions import is_count_protected, neighbours
from dperm.report.metric_facts import shown_metrics
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


DECLARED_COUNTS = {"n": "declared number of records", "n_groups": "declared number of groups"}
"""Names of public counts under an adjacency that protects the true ones."""
_ATTACK_TERMS = {
    "accuracy": "largest accuracy of a guess by an attacker with even prior odds",
    "advantage": "largest advantage of an attacker (true-positive minus false-positive rate)",
    "epsilon_at_delta_zero": "epsilon at delta = 0",
    "epsilons": "epsilon at other deltas",
    "posterior": "bound on the posterior belief of an attacker with even prior odds",
    "surprise": "probability with which the posterior belief may exceed this bound",
}
_MECHANISM_TERMS = {
    "average": "share of the steps, from the end, whose iterates are averaged",
    "clip": "clipping norm",
    "clip_norm": "clipping norm",
    "clip_share": "clip (clipping norm as a fraction of its largest allowed value)",
    "determinant_loss": "part of epsilon spent on the Jacobian determinant",
    "error_noise_scale": "standard deviation of the noise that covers rounding errors",
    "eta": "parameter eta",
    "failure": "probability that a sample is too large for the rounding-error bound",
    "gamma": "parameter gamma",
    "grid": "grid spacing",
    "holdout": "probability that a record is held out",
    "level": "nominal coverage of the intervals",
    "lipschitz": "Lipschitz constant of the loss (largest gradient norm after clipping)",
    "log_loss_clip": "smallest probability in the log loss",
    "mean_trials": "mean number of training runs",
    "projection": "largest norm of the coefficients (radius of the projection)",
    "radius": "radius (bound on the norm of a row)",
    "rate": "sampling rate",
    "regularization": "regularization strength Lambda",
    "ridge_failure": "probability that a noise bound behind the ridge fails, at most",
    "runs": "number of training runs",
    "score_edges": "edges of the score bins",
    "smoothness": "smoothness constant of the loss",
    "tolerance": "tolerance of the solver",
    "trial_delta": "delta of one training run",
    "trial_epsilon": "epsilon of one training run",
    "validation": "share of validation records",
    "weight": "largest class weight",
}
_SAMPLER_TERMS = {
    **_MECHANISM_TERMS,
    "acceptance": "lower bound on the probability that a proposal is accepted",
    "failure": "probability that no proposal is accepted, at most",
    "most_trials": "largest number of proposals",
}
"""Terms of a posterior sampler, where ``failure`` is about proposals."""
NO_GUARANTEE = "None: there is no guarantee."
"""Text of a field that describes the guarantee, in a statement without one."""
_STAGE_TERMS = {"epsilon_alone": "epsilon of this stage by itself", "delta_alone": "at delta"}
_SAMPLING_TERMS = {"assumed": "assumed in the accounting", "run": "used in the run", "why": "why they agree"}
_INVALID = {"raise": "an error is raised", "drop": "records with an invalid feature or label have weight 0"}
_INVALID_OF_SCHEMA = {
    **_INVALID,
    "drop": "missing and undeclared values of the features are encoded; records with an invalid label have weight 0",
}
"""Treatment of invalid values if a schema, declared or released, encodes the columns."""


def for_display(key: str, value: object) -> object:
    """Return the value of a field as nested mappings and lists of finished texts."""
    if key in NO_PROMISE and value == names.NOTHING:
        return NO_GUARANTEE
    if key not in names.STATED_BY_THE_USER and value in (names.NOTHING, names.NONE):
        return "None"
    return _texts(_PREPARE.get(key, _unchanged)(value), _FORMATS.get(key, format_number))


def displayed_field(fields: Mapping[str, object], key: str) -> object:
    """Return the value of a field, in words where its meaning depends on other fields.

    The adjacency becomes the definition of neighbouring data sets. Under add_remove, public numbers of records and
    groups are named as declared, because the true numbers are protected.
    """
    value = fields[key]
    if key == "adjacency":
        return neighbours(fields)
    if key != "public_quantities" or not isinstance(value, Mapping) or not is_count_protected(fields):
        return value
    return {DECLARED_COUNTS.get(name, name): item for name, item in value.items()}


def is_empty(value: object) -> bool:
    """Return whether a value has nothing to show: None, or an empty text, mapping or list."""
    return value is None or value in ("", {}, [], ())


def _unchanged(value: object) -> object:
    return value


def _named(terms: Mapping[str, str]) -> Callable[[object], object]:
    """Return a function that renames the keys of a field, nested ones too; in other fields they mean something else."""

    def rename(value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {terms.get(name, name): rename(item) for name, item in value.items()}

    return rename


def _profile(value: object) -> object:
    """Name the bounds, and write an epsilon that does not exist at a delta as infinite instead of leaving it out."""
    if isinstance(value, Mapping) and isinstance(value.get("epsilons"), list):
        value = {**value, "epsilons": [_with_epsilon(row) for row in value["epsilons"]]}
    return _named(_ATTACK_TERMS)(value)


def _with_epsilon(row: object) -> object:
    if not isinstance(row, Mapping) or row.get("epsilon", 0) is not None:
        return row
    return {**row, "epsilon": INFINITE}


def _mechanism(value: object) -> object:
    """Name the constants of a mechanism and its stages; only a posterior sampler has a largest number of proposals."""
    is_sampler = isinstance(value, Mapping) and "most_trials" in value
    if isinstance(value, Mapping) and isinstance(value.get("stages"), list):
        value = {**value, "stages": [_named(_STAGE_TERMS)(stage) for stage in value["stages"]]}
    return _named(_SAMPLER_TERMS if is_sampler else _MECHANISM_TERMS)(value)


def _public_quantities(value: object) -> object:
    """Say what happens to invalid values, instead of the value of the argument."""
    if not isinstance(value, Mapping) or value.get("invalid") not in _INVALID:
        return value
    texts = _INVALID_OF_SCHEMA if "schema_digest" in value else _INVALID
    return {**value, "invalid": texts[value["invalid"]]}


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
    return capitalize(value)


_PREPARE: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(("flavour", "unit_of_privacy", "trust_model", "adjacency", "covered", "composition"), _sentence),
    "data_domain": _named({names.DECLARED: "columns, with enforced bounds and categories"}),
    "utility": lambda value: shown_metrics(with_measure_names(value)),
    "profile": _profile,
    "mechanism": _mechanism,
    "accountant": _named({"error": "rounding"}),
    "sampling": _named(_SAMPLING_TERMS),
    "public_quantities": _public_quantities,
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
    if isinstance(value, list | tuple):  # labels in a list are not switches: False and True stay
        return [str(item) if isinstance(item, bool) else _texts(item, number) for item in value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)
