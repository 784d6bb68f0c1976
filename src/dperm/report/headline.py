# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The headline of a statement: the protection level, the attacker's success that decides it, and what is missing."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dperm.privacy.protection import EFFECTIVE, FALSE_ALARMS, GUESSING, Level, Protection, is_effective
from dperm.report import fields as words
from dperm.report.accounts import account_of, covering_accounts, has_unknown_ancestors, weakest
from dperm.report.audits import listed
from dperm.report.limit_changes import limit_in_words
from dperm.report.numbers import percent
from dperm.report.plain import limits_of, receipt_of, uncovered_preparation
from dperm.report.stated import required_gaps, stated_part
from dperm.report.unit import unit_of

NOT_RATED, NOT_PRIVATE, REFUTED = "not rated", "not private", "refuted"
LEVELS: tuple[Level, ...] = ("strong", "moderate", "weak")
"""From best to worst."""
TITLES = {
    "strong": "Private: strong protection",
    "moderate": "Private: moderate protection",
    "weak": "Weak protection",
    NOT_RATED: "Not rated: required fields are missing",
}
UNCOVERED_TITLE = "Not rated: the guarantee does not cover the preparation of the data"
CONCLUSIONS = {
    "strong": "Even an attacker who knows all other records stays in doubt.",
    "moderate": "The guarantee holds, but an attacker who knows all other records can learn much about one person.",
    "weak": "The guarantee holds, but it limits little: an attacker who knows all other records can be almost certain.",
}
SEVERAL_ACCOUNTS = (
    "A person whose records are in the data of several of these accounts is not covered by one limit alone: the "
    "limits add up."
)
ALONE = "for this release alone"
NOT_RECORDED = f"{ALONE}; other releases from the same data are not recorded"
ALMOST_ALL = f"more than {100 * EFFECTIVE:g} %"
PARENT_LIMITS = "limits of the parent accounts"


@dataclass(frozen=True)
class Headline:
    """Protection level of a statement and the rates behind it.

    Attributes
    ----------
    level
        "strong", "moderate" or "weak"; "not rated" while required information is missing; "not private"; "refuted".
    release
        Rates of the best attack on this release alone; None where nothing is promised.
    together
        The same for everything that the covering account may release; None without an account.
    account, limit
        Name and limit of the covering account, the limit in words; the name is empty for a budget in memory.
    missing
        Required fields that nobody has stated.
    uncovered
        Sentences about a preparation of the data that the guarantee does not cover. Then there is no level, and no
        rate: one record can change all rows of the prepared data.
    """

    level: str
    release: Protection | None = None
    together: Protection | None = None
    account: str = ""
    limit: str = ""
    missing: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON; the baseline holds the rates of an attacker who does not see the release."""
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
        """The covering account in a sentence."""
        return account_of({"account": self.account})


def headline(fields: Mapping[str, object]) -> Headline:
    """The headline that follows from the fields of a statement."""
    profile, status = fields["profile"], fields["status"]
    if status not in words.PROMISING or not isinstance(profile, Mapping):
        return Headline(NOT_PRIVATE)
    receipt, uncovered = receipt_of(fields), uncovered_preparation(fields)
    if uncovered and status != words.REFUTED:
        return Headline(NOT_RATED, missing=required_gaps(fields), uncovered=uncovered)
    release, covering = _release(profile), weakest(covering_accounts(receipt))
    account, limit, together = "", "", None
    if covering is not None:
        account, limit = str(covering[0].get("account", "")), limit_in_words(covering[0].get("limit", {}))
        together = covering[1]
    missing = (*required_gaps(fields), *((PARENT_LIMITS,) if has_unknown_ancestors(receipt) else ()))
    level = REFUTED if status == words.REFUTED else NOT_RATED if missing else _worst(release, together)
    return Headline(level, release, together, account, limit, missing)


def headline_title(fields: Mapping[str, object]) -> str:
    """The first words of a private statement, such as "Private: strong protection".

    They say if the level is that of this release alone, and which level a statement with missing fields would have.
    """
    found = headline(fields)
    title = UNCOVERED_TITLE if found.uncovered else TITLES[found.level]
    if found.uncovered:
        return title
    if found.level == NOT_RATED:
        return f"{title}. {_level_in_words(found)}"
    if receipt_of(fields):
        return f"{title}{_alone(found)}"
    is_stated = stated_part("ledger_entry", fields["ledger_entry"]) != words.NOT_STATED
    return f"{title} {ALONE if is_stated else NOT_RECORDED}"


def headline_sentences(fields: Mapping[str, object]) -> Iterator[str]:
    """The promise, the attacker's success with its baseline, the covering account, and what is missing."""
    found, unit = headline(fields), unit_of(fields)
    promise = limits_of(fields["parameters"]) or str(fields["flavour"])
    if found.uncovered:
        yield f"The guarantee of the fit ({promise}) does not cover this release."
        yield from found.uncovered
        return
    yield f"{promise}, for {str(fields['unit_of_privacy']).partition('.')[0]}."
    if found.release is not None:
        yield _success(f"An attacker who sees this release and guesses one bit about one {unit}", found.release)
    if found.together is not None:
        yield _success(
            f"With everything charged to {found.covering}, limit {found.limit}, the attacker", found.together
        )
    if len(covering_accounts(receipt_of(fields))) > 1:
        yield SEVERAL_ACCOUNTS
    if found.level in CONCLUSIONS:
        yield CONCLUSIONS[found.level]
    if found.missing:
        names = ", ".join(words.FIELDS.get(name, name) for name in found.missing)
        yield f"Missing: {names}."


def _level_in_words(found: Headline) -> str:
    """The level that the guarantee would have if nothing were missing, without a full stop."""
    levels = "" if found.release is None else f"The release alone would be rated {found.release.level}"
    if found.together is None:
        return levels
    return f"{levels}, everything charged to {found.covering} together {found.together.level}"


def _alone(found: Headline) -> str:
    """Return the level of the release alone, if other releases of the covering account are what lowers the level."""
    if found.release is None or found.together is None or found.release.level == found.level:
        return ""
    return f" for everything charged to {found.covering}; {found.release.level} for this release alone"


def agrees(written: object, found: object) -> bool:
    """Whether two values of a statement, as data, are the same up to the rounding of their numbers."""
    if isinstance(written, Mapping) and isinstance(found, Mapping):
        return written.keys() == found.keys() and all(agrees(written[name], found[name]) for name in found)
    if isinstance(written, list) and isinstance(found, list):
        return len(written) == len(found) and all(map(agrees, written, found))
    if isinstance(found, float):
        return isinstance(written, int | float) and math.isclose(written, found, rel_tol=1e-6)
    return type(written) is type(found) and written == found


def _success(attacker: str, rates: Protection) -> str:
    """Such as "... is right at most 73.2 % of the time; guessing alone: 50 %."."""
    limit = (
        f"is right at most {percent(rates.success)}" if is_effective(rates.success) else f"can be right {ALMOST_ALL}"
    )
    sentence = f"{attacker} {limit} of the time; guessing alone: 50 %."
    if not rates.detection_decides:
        return sentence
    often = f"at most {percent(rates.detection)}" if is_effective(rates.detection) else "no effective limit"
    return f"{sentence} Detection rate at one false alarm in 1,000: {often}; guessing alone: 0.1 %."


def _release(profile: Mapping[str, Any]) -> Protection:
    """The rates of a statement's profile; a rate that is missing limits nothing."""
    rows = profile.get("true_positive_rates")
    found = {row.get("false_positive_rate"): row.get("true_positive_rate") for row in listed(rows)}
    return Protection(_rate(profile.get("accuracy")), _rate(found.get(FALSE_ALARMS)))


def _rate(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 1.0


def _worst(*found: Protection | None) -> str:
    return max((one.level for one in found if one is not None), key=LEVELS.index)
