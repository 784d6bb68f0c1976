# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Headline of a statement: protection level, success rate of the best attack, and missing information."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dperm.presentation.numbers import format_parameters, format_percent
from dperm.privacy.protection import FALSE_ALARMS, GUESSING, Level, Protection, choice, format_success, is_effective
from dperm.report import fields as names
from dperm.report.audits import listed
from dperm.report.budget_facts import (
    account_name,
    covering_accounts,
    format_limit,
    has_unknown_ancestors,
    weakest_limit,
)
from dperm.report.definitions import unit_of
from dperm.report.field_values import (
    as_mapping,
    receipt_of,
    required_gaps,
    stated_part,
    uncovered_parts,
    uncovered_scores_alone,
)

NOT_RATED, NOT_PRIVATE, REFUTED = "not rated", "not private", "refuted"
LEVELS: tuple[Level, ...] = ("strong", "moderate", "weak")
"""Protection levels from best to worst."""
TITLES = {
    "strong": "Private: strong protection",
    "moderate": "Private: moderate protection",
    "weak": "Weak protection",
    NOT_RATED: "Not rated: required fields are missing",
}
UNCOVERED_TITLE = "Not rated: the guarantee does not cover the preparation of the data"
SCORES_TITLE = "Not rated: the guarantee does not cover scores on the private data"
CONCLUSIONS = {
    "strong": "Even an attacker who knows all other records remains uncertain.",
    "moderate": "The guarantee holds, but an attacker who knows all other records can learn a lot about one person.",
    "weak": "The guarantee holds but protects little: an attacker who knows all other records can be almost certain.",
}
SEVERAL_ACCOUNTS = (
    "A person with records in the data of several of these accounts is not covered by one limit alone: the limits add "
    "up."
)
ALONE = "for this release alone"
NOT_RECORDED = f"{ALONE}; other releases from the same data are not recorded"
NO_LIMIT = "no effective limit"
PARENT_LIMITS = "limits of the parent accounts"
SEEDED_RUNS = "a guarantee for the runs that used a seed"
SEEDED_TITLE = "Not rated: runs with a seed, which are NOT PRIVATE, were charged to the account"


@dataclass(frozen=True)
class Headline:
    """Protection level of a statement, and the success rates of attacks behind it.

    Attributes
    ----------
    level
        "strong", "moderate" or "weak"; "not rated" while required information is missing; "not private"; "refuted".
    release
        Success rates of the best attack on this release alone; None without a guarantee.
    together
        The same for everything that the covering account may release; None without an account.
    account, limit
        Name and formatted limit of the covering account. The name is empty for a budget in memory.
    missing
        Required fields without a statement.
    uncovered
        Sentences about preparation of the data and scores on them that the guarantee does not cover. Then there is no
        level, and no rate: one record can change all rows of the prepared data, or the choice of the model.
    """

    level: str
    release: Protection | None = None
    together: Protection | None = None
    account: str = ""
    limit: str = ""
    missing: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain data for JSON; "baseline" has the rates of an attacker who does not see the release."""
        return {
            "level": self.level,
            "release": None if self.release is None else asdict(self.release),
            "together": self._together(),
            "baseline": {"success": GUESSING, "detection": FALSE_ALARMS},
            "missing": list(self.missing),
        }

    def _together(self) -> dict[str, object] | None:
        if self.together is None:
            return None
        return {"account": self.account, "limit": self.limit, **asdict(self.together)}

    @property
    def covering(self) -> str:
        """Name of the covering account for use in a sentence."""
        return account_name({"account": self.account})


def headline(fields: Mapping[str, object]) -> Headline:
    """Return the headline of a statement with these fields."""
    profile, status = fields["profile"], fields["status"]
    if status not in names.PROMISING or not isinstance(profile, Mapping):
        return Headline(NOT_PRIVATE)
    receipt, uncovered = receipt_of(fields), uncovered_parts(fields)
    if uncovered and status != names.REFUTED:
        return Headline(NOT_RATED, missing=required_gaps(fields), uncovered=uncovered)
    release, covering = _release_rates(profile), weakest_limit(covering_accounts(receipt))
    account, limit, together = "", "", None
    seeded = any(one.get("seeded") for one in covering_accounts(receipt))  # no limit covers such a run
    if covering is not None and not seeded:
        account, limit = str(covering[0].get("account", "")), format_limit(covering[0].get("limit", {}))
        together = covering[1]
    unknown = (PARENT_LIMITS,) * has_unknown_ancestors(receipt) + (SEEDED_RUNS,) * seeded
    missing = (*required_gaps(fields), *unknown)
    level = REFUTED if status == names.REFUTED else NOT_RATED if missing else _worst(release, together)
    return Headline(level, release, together=together, account=account, limit=limit, missing=missing)


def headline_title(fields: Mapping[str, object]) -> str:
    """Return the title of a private statement, such as "Private: strong protection".

    The title says if the level applies to this release alone. With missing fields it gives the provisional level.
    """
    found = headline(fields)
    if found.uncovered:
        return SCORES_TITLE if uncovered_scores_alone(fields) else UNCOVERED_TITLE
    title = SEEDED_TITLE if SEEDED_RUNS in found.missing else TITLES[found.level]
    if found.level == NOT_RATED:
        return f"{title}. {_provisional_level(found)}"
    if receipt_of(fields):
        return f"{title}{_level_alone(found)}"
    is_stated = stated_part("ledger_entry", fields["ledger_entry"]) != names.NOT_STATED
    return f"{title} {ALONE if is_stated else NOT_RECORDED}"


def headline_sentences(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield the guarantee, the success rate of the best attack, the covering account, and the missing fields."""
    found, unit = headline(fields), unit_of(fields)
    promise = format_parameters(as_mapping(fields["parameters"])) or str(fields["flavour"])
    if found.uncovered:
        rest = "scores on the private data" if uncovered_scores_alone(fields) else "this release"
        yield f"The guarantee of the fit ({promise}) does not cover {rest}."
        yield from found.uncovered
        return
    yield f"Guarantee: {promise}, for {str(fields['unit_of_privacy']).partition('.')[0]}."
    if found.release is not None:
        yield _success(f"An attacker who sees this release and {choice(unit)}", found.release)
    if found.together is not None:
        yield _success(
            f"An attacker who sees everything charged to {found.covering} (limit: {found.limit})", found.together
        )
    if len(covering_accounts(receipt_of(fields))) > 1:
        yield SEVERAL_ACCOUNTS
    if found.level in CONCLUSIONS:
        yield CONCLUSIONS[found.level]
    if found.missing:
        missing = ", ".join(names.FIELDS.get(name, name) for name in found.missing)
        yield f"Missing: {missing}."


def _level_alone(found: Headline) -> str:
    """Return the level of the release alone, if other releases of the covering account lower the level."""
    if found.release is None or found.together is None or found.release.level == found.level:
        return ""
    return f" for everything charged to {found.covering}; {found.release.level} for this release alone"


def _provisional_level(found: Headline) -> str:
    """Return the provisional level of the guarantee, without a full stop."""
    if found.release is None:
        return ""
    rated = f"The protection would be rated {found.release.level} for this release alone"
    if found.together is None:
        return rated
    return f"{rated}, and {found.together.level} for all releases charged to {found.covering} together"


def agrees(written: object, computed: object) -> bool:
    """Return whether two values of a statement are equal up to the rounding of their numbers."""
    if isinstance(written, Mapping) and isinstance(computed, Mapping):
        return written.keys() == computed.keys() and all(agrees(written[name], computed[name]) for name in computed)
    if isinstance(written, list) and isinstance(computed, list):
        return len(written) == len(computed) and all(map(agrees, written, computed))
    if isinstance(computed, float):
        return isinstance(written, int | float) and math.isclose(written, computed, rel_tol=1e-6)
    return type(written) is type(computed) and written == computed


def format_rate(rate: float) -> str:
    """Return a bound on a success rate as a percentage, rounded up; "no effective limit" for rates near 1."""
    return format_percent(rate) if is_effective(rate) else NO_LIMIT


def _success(attacker: str, rates: Protection) -> str:
    """Return a sentence such as "... can be right at most 73.2 % of the time (50 % by chance)."."""
    sentence = f"{attacker} can be {format_success(rates.success)}."
    if not rates.detection_decides:
        return sentence
    detection = f"at most {format_percent(rates.detection)}" if is_effective(rates.detection) else NO_LIMIT
    return f"{sentence} Detection rate at one false alarm in 1,000: {detection} (0.1 % by chance)."


def _release_rates(profile: Mapping[str, Any]) -> Protection:
    """Return the rates in a statement's profile; a missing rate counts as 1."""
    rows = profile.get("true_positive_rates")
    found = {row.get("false_positive_rate"): row.get("true_positive_rate") for row in listed(rows)}
    return Protection(_rate(profile.get("accuracy")), _rate(found.get(FALSE_ALARMS)))


def _rate(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 1.0


def _worst(*found: Protection | None) -> str:
    return max((one.level for one in found if one is not None), key=LEVELS.index)
