# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public declarations of a ledger account, stored in its opening entry."""

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
    """Public declarations of a ledger account, such as its data set, unit of privacy and limit.

    Attributes
    ----------
    name
        Account name, unique in its ledger.
    dataset
        Name of the data set, chosen by its owner. The owner decides which data belong to the account. A hash of the
        rows cannot replace this decision, because it would not recognize a cross-validation fold or a cleaned copy of
        the same table.
    unit
        Meaning of one record, such as "one person" or "one visit". The guarantee protects one record.
    limit
        Total amount that can be charged to the account.
    blocks, composition
        Number of releases that share delta (only for an ApproxDP limit; None for other limits), and composition rule
        for an ApproxDP limit: "basic" adds the epsilons of the releases, and "advanced" adds their squares (T14a).
    parents
        Names of the accounts of data sets that overlap this one, or from which this one was taken; every charge
        also applies to these accounts.
    approval
        Whether the request id of each release must be approved in advance.
    fingerprints
        Keyed fingerprints of the files of the data set. If there are any, the command line refuses all other files.
    exponent
        Integer k such that costs are counted in units of 2^-k. It is determined when the account is opened.
    promised
        Largest limit since the account was opened, if it is larger than ``limit``; otherwise None.
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
        """Check every declaration, including the rule."""
        plain_name("account", self.name)
        for name in ("dataset", "unit"):
            line_of_text(name, getattr(self, name))
        if isinstance(self.parents, str) or not all(isinstance(parent, str) for parent in self.parents):
            raise ParameterError(argument="parents", rule="must be a list of account names", got=shown(self.parents))
        object.__setattr__(self, "parents", tuple(dict.fromkeys(self.parents)))
        if self.name in self.parents:
            raise ParameterError(argument="parents", rule=f"must be accounts other than {shown(self.name)} itself")
        if not isinstance(self.approval, bool):
            raise ParameterError(argument="approval", rule="must be True or False", got=shown(self.approval))
        object.__setattr__(self, "exponent", self.rule.exponent)  # raises if the limit has no rule
        if self.promised == self.limit:
            object.__setattr__(self, "promised", None)

    @cached_property
    def rule(self) -> CountedRule:
        """Privacy filter of the account, with its unit of cost."""
        return rule_of(self.limit, self.blocks, self.composition, self.exponent)

    @property
    def promise(self) -> AnyGuarantee:
        """Guarantee for all releases charged to the account: the largest limit since the account was opened.

        Lowering the limit does not improve the guarantee. A lower limit may have been chosen in response to releases,
        and the guarantee holds only for limits that are fixed in advance (T14).
        """
        return self.limit if self.promised is None else self.promised

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of all charges."""
        return self.limit.adjacency

    @property
    def share(self) -> float | None:
        """Part of delta that is charged for each release under an ApproxDP limit; None under other limits."""
        return self.rule.share

    def with_limit(self, limit: AnyGuarantee) -> "AccountFacts":
        """Return the same account under a different limit of the same kind.

        Parameters
        ----------
        limit
            New limit, of the same kind as before.

        Returns
        -------
        AccountFacts
            Declarations with the new limit.

        Raises
        ------
        ParameterError
            If the new limit differs in kind, adjacency, delta or Rényi order from the present one. Such a change would
            alter the meaning of earlier costs.
        """
        changed = replace(self, limit=limit, promised=None)
        same = type(limit) is type(self.limit) and limit.adjacency is self.adjacency
        if not same or changed.rule.names != self.rule.names or _delta(limit) != _delta(self.limit):
            raise ParameterError(
                argument="limit",
                rule=f"must have the kind, adjacency, delta and order of the account's {self.limit!r}",
                got=repr(limit),
                remedy="Open another account for another kind of guarantee.",
            )
        larger = replace(self, limit=self.promise, promised=None).rule.capacity > changed.rule.capacity
        return replace(changed, promised=self.promise) if larger else changed

    def to_dict(self) -> dict[str, object]:
        """Return the declarations as plain JSON data for the opening entry, without ``name`` and ``promised``."""
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
        """Return the declarations written by ``to_dict``.

        Parameters
        ----------
        name
            Account name.
        data
            Mapping written by ``to_dict``.

        Returns
        -------
        AccountFacts
            Declarations of the account.

        Raises
        ------
        LedgerError
            If the data are invalid.
        """
        try:
            given = dict(data) | {"limit": guarantee_from_dict(data["limit"])}
            given |= {"parents": tuple(data["parents"]), "fingerprints": tuple(data["fingerprints"])}
            return cls(name, **given)
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(
                f"account {shown(name)} cannot be read: {error}.", remedy="Use the version of dperm that wrote it."
            ) from None


def line_of_text(name: str, value: object) -> str:
    """Return ``value`` if it is one non-empty line of printable text, preserved by every store."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise ParameterError(
            argument=name,
            rule=f"must be a line of text of at most {LONGEST_NAME} characters, such as 'census 2026'",
            got=shown(value),
        )
    return value


def plain_name(name: str, value: object) -> str:
    """Return a line of text without "/", which separates a child's name and its request id in a parent's books."""
    if "/" in line_of_text(name, value):
        raise ParameterError(
            argument=name,
            rule='must have no "/", the separator of account and request id in the books of a parent',
            got=shown(value),
            remedy='Use another character, such as "-".',
        )
    return str.__str__(value)  # the text itself, also of an Enum


def new_name(name: str, value: object) -> str:
    """Return a plain name in Unicode normal form C, so that no two accounts or requests look the same."""
    plain = plain_name(name, value)
    if not unicodedata.is_normalized("NFC", plain):
        raise ParameterError(
            argument=name,
            rule="must be in Unicode normal form C, since names that look the same must be equal",
            got=shown(value),
            remedy='Pass unicodedata.normalize("NFC", ...).',
        )
    return plain


def _delta(limit: AnyGuarantee) -> float:
    return limit.delta if isinstance(limit, ApproxDP) else 0.0
