# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is declared of an account when it is opened: public, and part of its first entry."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dperm.checks import shown
from dperm.errors import LedgerError, ParameterError
from dperm.ledger.units import CountedRule, rule_of
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, ApproxDP, guarantee_as_dict, guarantee_from_dict

LONGEST_NAME = 200


@dataclass(frozen=True)
class AccountFacts:
    """An account: whose data it protects, and how much of their privacy may be spent.

    Attributes
    ----------
    name
        How the account is called in its ledger.
    dataset
        The data set, as its owner calls it. A hash of the rows would match neither a fold nor a cleaned table, so
        the owner says which data belong to the account.
    unit
        What one record stands for: "one person", "one visit". The guarantee is about one record.
    limit
        How much may be charged here, in all.
    blocks, composition
        For an ApproxDP limit: how many releases share its delta, and whether their epsilons are added ("basic") or
        their squares ("advanced", T14a).
    parents
        Accounts of data sets that this one overlaps or was derived from; every charge is charged to them too.
    approval
        Whether each release needs an approval of its request id beforehand.
    fingerprints
        Keyed fingerprints of files that belong to the account; the command line refuses others.
    exponent
        Costs are counted in units of 2^-exponent; chosen by the limit when the account is opened.
    promised
        The largest limit since the opening, if it is not ``limit``: it was lowered.
    """

    name: str
    dataset: str
    unit: str
    limit: AnyGuarantee
    blocks: int | None = None
    composition: str = "basic"
    parents: tuple[str, ...] = ()
    approval: bool = False
    fingerprints: tuple[str, ...] = ()
    exponent: int | None = None
    promised: AnyGuarantee | None = None

    def __post_init__(self) -> None:
        """Check every declaration, the rule included."""
        plain_name("account", self.name)
        for name in ("dataset", "unit"):
            line_of_text(name, getattr(self, name))
        if isinstance(self.parents, str) or not all(isinstance(parent, str) for parent in self.parents):
            raise ParameterError(f"parents must be a list of names of accounts, got {shown(self.parents)}.")
        object.__setattr__(self, "parents", tuple(dict.fromkeys(self.parents)))
        if self.name in self.parents:
            raise ParameterError(f"parents must be other accounts than {shown(self.name)} itself.")
        if not isinstance(self.approval, bool):
            raise ParameterError(f"approval must be True or False, got {shown(self.approval)}.")
        object.__setattr__(self, "exponent", self.rule.exponent)  # raises if the limit has no rule
        if self.promised == self.limit:
            object.__setattr__(self, "promised", None)

    @cached_property
    def rule(self) -> CountedRule:
        """The filter that stands between the releases."""
        return rule_of(self.limit, self.blocks, self.composition, self.exponent)

    @property
    def promise(self) -> AnyGuarantee:
        """What is promised about everything charged here, together: the largest limit that the account ever had.

        A limit that is lowered because of what was released was not fixed in advance, and promises nothing (T14).
        """
        return self.limit if self.promised is None else self.promised

    @property
    def adjacency(self) -> Adjacency:
        """The relation under which events are charged."""
        return self.limit.adjacency

    @property
    def share(self) -> float | None:
        """The delta of every release under an ApproxDP limit; None under others."""
        return self.rule.share

    def with_limit(self, limit: AnyGuarantee) -> "AccountFacts":
        """The same account under another limit of the same kind: only the size of the budget differs.

        Raises
        ------
        ParameterError
            If the limits differ in kind, adjacency, delta or Renyi order: costs that were charged would mean
            something else.
        """
        changed = replace(self, limit=limit, promised=None)
        same = type(limit) is type(self.limit) and limit.adjacency is self.adjacency
        if not same or changed.rule.names != self.rule.names or _delta(limit) != _delta(self.limit):
            raise ParameterError(
                f"limit must be of the kind, adjacency, delta and order of the account's {self.limit!r}, got "
                f"{limit!r}. Open another account for another kind of promise."
            )
        larger = replace(self, limit=self.promise, promised=None).rule.capacity > changed.rule.capacity
        return replace(changed, promised=self.promise) if larger else changed

    def to_dict(self) -> dict[str, object]:
        """What is declared at the opening, all but the name, as plain JSON data."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "limit": guarantee_as_dict(self.limit),
            "blocks": self.blocks,
            "composition": self.composition,
            "parents": list(self.parents),
            "approval": self.approval,
            "fingerprints": list(self.fingerprints),
            "exponent": self.exponent,
        }

    @classmethod
    def from_dict(cls, name: str, data: Mapping[str, Any]) -> "AccountFacts":
        """What ``to_dict`` wrote.

        Raises
        ------
        LedgerError
            If it is something else.
        """
        try:
            given = dict(data) | {"limit": guarantee_from_dict(data["limit"])}
            given |= {"parents": tuple(data["parents"]), "fingerprints": tuple(data["fingerprints"])}
            return cls(name, **given)
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(
                f"account {shown(name)} cannot be read: {error}. It was written by a newer dperm."
            ) from None


def line_of_text(name: str, value: object) -> str:
    """``value``, if it can be a name: something to read, on one line, that every store keeps as it is."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise ParameterError(
            f"{name} must be a line of text of at most {LONGEST_NAME} characters, such as 'census 2026', got "
            f"{shown(value)}."
        )
    return value


def plain_name(name: str, value: object) -> str:
    """A line of text without "/", which stands between a child's name and its request id in the books of a parent."""
    if "/" in line_of_text(name, value):
        raise ParameterError(
            f'{name} must have no "/", got {shown(value)}: in the books of a parent it stands between the name of a '
            'child and its request id. Use another sign, such as "-".'
        )
    return str.__str__(value)  # the text itself, also of an Enum


def new_name(name: str, value: object) -> str:
    """A plain name in Unicode normal form C: two names that look the same must not be two accounts or requests."""
    plain = plain_name(name, value)
    if not unicodedata.is_normalized("NFC", plain):
        raise ParameterError(
            f"{name} must be in Unicode normal form C, got {shown(value)}: the same characters in another form "
            f'would be another {name}. Pass unicodedata.normalize("NFC", ...).'
        )
    return plain


def _delta(limit: AnyGuarantee) -> float:
    return limit.delta if isinstance(limit, ApproxDP) else 0.0
