# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases and their records. ``dperm.report`` builds privacy statements from releases and records."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Generic, TypeVar

from dperm import checks
from dperm.checks import shown
from dperm.errors import AdjacencyError, EventFormatError, ParameterError
from dperm.presentation.notebook import Badge, guarantee_rows, notebook_card, notebook_table
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, Guarantee, guarantee_as_dict, guarantee_from_dict
from dperm.privacy.profile import PrivacyProfile

FORMAT = 3
"""Format version of a stored record with stages. Readers refuse unknown versions. Format 1 had no ``ledger``."""
FORMAT_WITHOUT_STAGES = 2
"""Format version of a stored record without stages, which earlier versions of dperm read."""
SHOWN_CHARACTERS = 300
"""Longest text of a released value in a notebook."""

Value = TypeVar("Value", covariant=True)
Other = TypeVar("Other")


@dataclass(frozen=True)
class Record:
    """Public facts about one release. They depend on private data only through the release itself.

    Attributes
    ----------
    guarantee
        Privacy guarantee with its adjacency.
    event
        Accounting event of the release, as a JSON-serialisable mapping.
    theorems
        Tags of the theorems behind the guarantee, such as ("T6", "T22").
    noise
        Description of the noise distribution and of its random bits, such as "Gaussian noise, rounded to multiples of
        2^-40" (T10).
    grade
        "exact" for exactly sampled noise, "fast" for floating-point noise, where the guarantee is that of ideal noise,
        or "" if dperm added no noise.
    eta, tau
        Distance of the noise distribution from the ideal distribution: ``eta`` is a bound on the log-ratio, and ``tau``
        a total variation distance. The guarantee accounts for both distances.
    public
        Quantities assumed to be public, such as bounds, classes and a declared number of records.
    seeded
        Whether a seed fixed the randomness. A seeded run is NOT PRIVATE.
    versions
        Versions of dperm and of the software that it uses.
    timestamp
        Time of the release in ISO 8601 format; None if the time was not recorded.
    ledger
        Receipt for the charge, with the position of the ledger entry and the amount charged; empty without a budget.
    stages
        Finished stages of the release, in order. Each stage is a mapping with its ``name`` and its public ``facts``,
        such as the digest of its output. Empty for a release without stages.

    Examples
    --------
    >>> from dperm import Laplace, PureDP, Record
    >>> from dperm.accounting import event_to_json
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> record = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove")).release(42).record
    >>> record.is_private, record.guarantee
    (True, PureDP(epsilon=0.5, adjacency=ADD_REMOVE))
    """

    guarantee: AnyGuarantee
    event: Mapping[str, object]
    theorems: tuple[str, ...] = ()
    noise: str = ""
    grade: str = ""
    eta: float = 0.0
    tau: float = 0.0
    public: Mapping[str, object] = field(default_factory=dict)
    seeded: bool = False
    versions: Mapping[str, object] = field(default_factory=dict)
    timestamp: str | None = None
    ledger: Mapping[str, object] = field(default_factory=dict)
    stages: tuple[Mapping[str, object], ...] = ()

    def __post_init__(self) -> None:
        """Check the values, and copy the mappings as plain JSON data."""
        if not isinstance(self.guarantee, AnyGuarantee):
            rule = "must be a PureDP, ApproxDP, ZCDP, GDP or RDP"
            raise ParameterError(argument="guarantee", rule=rule, got=shown(self.guarantee))
        object.__setattr__(self, "eta", checks.nonnegative("eta", self.eta))
        object.__setattr__(self, "tau", checks.nonnegative("tau", self.tau))
        if not isinstance(self.seeded, bool):
            remedy = "A seeded run is not private."
            raise ParameterError(argument="seeded", rule="must be True or False", got=shown(self.seeded), remedy=remedy)
        if isinstance(self.theorems, str) or not all(isinstance(tag, str) for tag in self.theorems):
            rule = 'must be a tuple of tags such as ("T6",)'
            raise ParameterError(argument="theorems", rule=rule, got=shown(self.theorems))
        object.__setattr__(self, "theorems", tuple(self.theorems))
        for name in ("event", "public", "versions", "ledger"):
            object.__setattr__(self, name, _plain(name, getattr(self, name)))
        object.__setattr__(self, "stages", _plain_stages(self.stages))

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of the guarantee."""
        return self.guarantee.adjacency

    @property
    def unit(self) -> str:
        """Unit in which neighbouring data sets differ: "record", or "group" if the release protects groups."""
        return "group" if self.public.get("unit") == "group" else "record"

    @property
    def is_private(self) -> bool:
        """Whether the randomness was secure. False for a seeded run, whose noise can be reproduced from the seed."""
        return not self.seeded

    def to_json(self) -> str:
        """Return the record as one line of JSON, with sorted keys and without Infinity or NaN."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        data |= {"guarantee": guarantee_as_dict(self.guarantee), "format": FORMAT}
        if not self.stages:
            del data["stages"]
            data["format"] = FORMAT_WITHOUT_STAGES
        return json.dumps(data, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Return the record stored as JSON.

        Parameters
        ----------
        text
            JSON written by ``to_json``.

        Returns
        -------
        Record
            The record.

        Raises
        ------
        EventFormatError
            If the text is not a record, or has an unknown format.
        """
        try:
            data = dict(json.loads(text))
            found = data.pop("format")
            if type(found) is not int or not 1 <= found <= FORMAT:
                problem = f"this version reads records up to format {FORMAT}."
                raise EventFormatError(problem, remedy="Upgrade dperm.")
            return cls(guarantee=guarantee_from_dict(data.pop("guarantee")), **data)
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError, ParameterError) as error:
            raise EventFormatError(f"cannot read a record: {error!r}") from error


@dataclass(frozen=True)
class Release(Generic[Value]):
    """Released value with its guarantee, privacy profile, accounting event and record, all under one adjacency.

    Every run of a mechanism or a training method returns a release. ``with_value`` returns a copy with a post-processed
    value, and ``with_public`` a copy with other public facts. The function
    `dperm.accounting.stored_release.release_from_record` restores a release from a stored record.

    Attributes
    ----------
    value
        Released value. It may be published under the guarantee, unless the record states that the run was seeded.
    guarantee
        Privacy guarantee.
    profile
        Privacy profile delta(epsilon) of the release.
    event
        Accounting event of the release.
    record
        Public facts about the release.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> release = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove")).release(42)
    >>> release.with_value(round(release.value)).guarantee
    PureDP(epsilon=0.5, adjacency=ADD_REMOVE)
    """

    value: Value
    guarantee: Guarantee
    profile: PrivacyProfile
    event: object
    record: Record

    def __post_init__(self) -> None:
        """Check that all parts have the same adjacency."""
        spoken = {self.guarantee.adjacency, self.profile.adjacency, self.record.adjacency}
        if len(spoken) > 1:
            raise AdjacencyError(
                f"guarantee ({self.guarantee.adjacency.value}), profile ({self.profile.adjacency.value}) and record "
                f"({self.record.adjacency.value}) of a release must have one adjacency.",
                remedy="Account under the guarantee's adjacency.",
            )

    def with_value(self, value: Other) -> "Release[Other]":
        """Return a copy of the release with a post-processed value (T3).

        Parameters
        ----------
        value
            Value computed from the released value alone.

        Returns
        -------
        Release
            Release with the new value.
        """
        return Release(value, self.guarantee, self.profile, self.event, self.record)

    def with_public(self, public: Mapping[str, object]) -> "Release[Value]":
        """Return a copy of the release with other public facts in its record.

        Parameters
        ----------
        public
            Public facts that replace those in the record.

        Returns
        -------
        Release
            Release with the new record.
        """
        return replace(self, record=replace(self.record, public=public))

    def _repr_html_(self) -> str:
        """Return value and guarantee as HTML for notebooks; a seeded run is marked NOT PRIVATE."""
        badge: Badge = ("PRIVATE", "good") if self.record.is_private else ("NOT PRIVATE", "bad")
        return notebook_card("Release", notebook_table(self._html_rows()), badge=badge)

    def _html_rows(self) -> Iterator[tuple[str, object]]:
        """Yield the rows of the table; a seeded run has no guarantee."""
        yield "value", textwrap.shorten(repr(self.value), SHOWN_CHARACTERS, placeholder=" ...")
        if self.record.is_private:
            known = self.guarantee if isinstance(self.guarantee, AnyGuarantee) else self.record.guarantee
            yield from guarantee_rows(guarantee_as_dict(known), self.record.unit)
        else:
            yield "guarantee", "none: a seed fixed the noise, and anyone with the seed can subtract it"
        yield "noise", self.record.noise or "not stated"
        if self.record.theorems:
            yield "theorems", list(self.record.theorems)
        if self.record.ledger:
            yield "charged to", self.record.ledger.get("account") or "the budget of this process"


def _plain(name: str, mapping: Mapping[str, object]) -> dict[str, object]:
    """Return a deep copy of ``mapping`` as JSON reads it back, with numpy scalars as numbers."""
    try:
        copied = json.loads(json.dumps(dict(mapping), allow_nan=False, default=_number))
    except (TypeError, ValueError) as error:
        rule = "must be a mapping of JSON values (no NaN or Infinity)"
        raise ParameterError(argument=name, rule=rule, got=shown(mapping)) from error
    return dict(copied)


def _plain_stages(stages: Iterable[Mapping[str, object]]) -> tuple[dict[str, object], ...]:
    """Return a deep copy of the stages, each a name of its own with a mapping of JSON values."""
    found: dict[str, dict[str, object]] = {}
    for stage in stages:
        name, facts = stage["name"], stage["facts"]
        if not isinstance(name, str) or not name.strip() or name in found or not isinstance(facts, Mapping):
            rule = "must be mappings, each with a name of its own and a mapping of facts"
            raise ParameterError(argument="stages", rule=rule, got=shown(name))
        found[name] = {"name": name, "facts": _plain("facts", facts)}
    return tuple(found.values())


def _number(value: object) -> int | float:
    return int(value) if isinstance(value, Integral) else checks.real("value", value)
