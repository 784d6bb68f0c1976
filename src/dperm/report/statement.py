# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy statement of a release as data, text, JSON and Markdown."""

import json
from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass
from datetime import date, time
from importlib.resources import files
from typing import TYPE_CHECKING

from dperm.errors import EventFormatError, ParameterError
from dperm.presentation.nested_data import text_lines
from dperm.presentation.notebook import notebook_table
from dperm.report import fields as names
from dperm.report.audits import audits_of, with_verdict
from dperm.report.contradictions import contradictions
from dperm.report.field_values import (
    gaps_of,
    required_gaps,
    uncovered_parts,
    uncovered_scores_alone,
    with_declared,
    with_stated,
)
from dperm.report.headline import Headline, agrees, headline, headline_sentences, headline_title
from dperm.report.markdown import markdown

if TYPE_CHECKING:
    from dperm.audit.finding import Finding

FORMAT = 3
"""Version of the written JSON. Format 1 had no nested fields and no gaps. Format 2 had no headline."""
READ = (2, FORMAT)
"""Versions that `Statement.from_json` can read."""
SCHEMA = "statement.schema.json"
NOT_COVERED_STATUS = "NOT COVERED: the guarantee of the fit does not cover this release."
"""Displayed status of a fit after transformers that were fitted to the private data without a guarantee."""
SCORES_STATUS = "NOT COVERED: the guarantee of the fit does not cover scores on the private data."
"""Displayed status of a fit whose model was evaluated on the private data."""
_HEAD = ("format", "private", "headline", "gaps")


@dataclass(frozen=True)
class Statement:
    """Privacy statement of a release, field by field, as plain JSON data.

    Some fields can be known only to the user. They are marked "not stated" until `filled` sets them, and `gaps` names
    those that are still missing. The statement depends on private data only through the release. A statement can
    be used like a mapping, as in ``statement["curator"]`` or ``dict(statement)``.

    Parameters
    ----------
    fields
        Values of all fields, keyed by field name, as assembled by `dperm.report.statement`.

    Raises
    ------
    ParameterError
        If a field is missing or unknown, or a value is not JSON data.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> from dperm.report import statement
    >>> release = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove")).release(42)
    >>> found = statement(release, fields={"curator": "Statistical Office"})
    >>> found.is_private, found["curator"]
    (True, 'Statistical Office')
    """

    fields: Mapping[str, object]

    def __post_init__(self) -> None:
        """Replace the fields by plain JSON data."""
        fields = _plain(self.fields)
        if fields.keys() != names.FIELDS.keys():
            raise ParameterError(f"A statement must have exactly the fields {', '.join(names.FIELDS)}.")
        object.__setattr__(self, "fields", {name: fields[name] for name in names.FIELDS})

    def __getitem__(self, name: str) -> object:
        """Return the value of a field by its name."""
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self.fields)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self.fields)

    def keys(self) -> KeysView[str]:
        """Return the names of the fields, in the order of the statement."""
        return self.fields.keys()

    def filled(self, fields: Mapping[str, object], *, declared: object = None) -> "Statement":
        """Return a copy with values for the fields that only the user can know.

        If a part of a field is already known from the run, the field stores this part and the value from the user as
        ``{"known": ..., "stated": ...}``.

        Parameters
        ----------
        fields
            Values, keyed by field name.
        declared
            Public schema of the columns as plain data, stored as the known part of the field ``data_domain``; None for
            no schema.

        Returns
        -------
        Statement
            The new statement.

        Raises
        ------
        ParameterError
            If ``fields`` contains an unknown field, or a field that follows from the release.
        """
        return Statement(with_stated(with_declared(self.fields, declared), fields))

    def audited(self, audits: "Iterable[Mapping[str, object] | Finding]") -> "Statement":
        """Return a copy with the results of additional audits.

        If an audit found a violation, the status becomes "REFUTED BY AN AUDIT". Add only audits of this release or of
        its plan, because the statement cannot check which release was audited.

        Parameters
        ----------
        audits
            Findings, or mappings such as ``finding.as_dict()``.

        Returns
        -------
        Statement
            The new statement.

        Raises
        ------
        ParameterError
            If ``audits`` is not a list of findings or mappings.
        """
        before, more = self.fields["audit"], audits_of(audits)
        found = [one for part in (before, more) if isinstance(part, list) for one in part]
        return Statement(with_verdict({**self.fields, "audit": found or names.NONE}))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Names of the fields that the user still has to fill, completely or in part."""
        return gaps_of(self.fields)

    @property
    def required_gaps(self) -> tuple[str, ...]:
        """Names of the required fields that the user has not filled; without them, the protection is not rated."""
        return required_gaps(self.fields)

    @property
    def headline(self) -> Headline:
        """Protection level, success rates of the best attack, and required fields that are missing."""
        return headline(self.fields)

    @property
    def is_private(self) -> bool:
        """Whether a guarantee covers the release.

        False for seeded runs, for runs without noise and for refuted claims. Also False if the rows were prepared by
        transformers that had been fitted to the private data, or if models were evaluated on the private data without
        noise.
        """
        return self.fields["status"] == names.PRIVATE and not uncovered_parts(self.fields)

    @property
    def displayed_status(self) -> str:
        """Status shown to readers; it starts with NOT COVERED if the guarantee does not cover the release."""
        if self.fields["status"] != names.PRIVATE or self.is_private:
            return names.status_text(self.fields["status"])
        return SCORES_STATUS if uncovered_scores_alone(self.fields) else NOT_COVERED_STATUS

    @property
    def is_refuted(self) -> bool:
        """Whether an audit has refuted the claimed guarantee."""
        return self.fields["status"] == names.REFUTED

    def to_dict(self) -> dict[str, object]:
        """Return a copy of all fields as plain data."""
        return _plain(self.fields)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return all fields, the headline, the gaps and the format version as JSON text that conforms to `schema`.

        Parameters
        ----------
        indent
            Number of spaces per level; None for one line.

        Returns
        -------
        str
            JSON text.
        """
        head = dict(zip(_HEAD, (FORMAT, self.is_private, self.headline.as_dict(), self.gaps), strict=True))
        return json.dumps({**head, "fields": self.fields}, allow_nan=False, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> "Statement":
        """Return the statement stored as JSON.

        Parameters
        ----------
        text
            JSON written by `to_json`, in format 2 or 3.

        Returns
        -------
        Statement
            The statement.

        Raises
        ------
        EventFormatError
            If the text is not a statement, contradicts itself, or has an unknown format.
        """
        try:
            data = dict(json.loads(text, object_pairs_hook=_each_once))
            if data["format"] not in READ or type(data["format"]) is not int:
                known = " and ".join(map(str, READ))
                raise EventFormatError(
                    f"this version reads statements of format {known}.", remedy="Create the statement again."
                )
            found = cls(data["fields"])
            wrong = next(contradictions(found.fields), "")
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            if isinstance(error, EventFormatError):
                raise
            raise EventFormatError(f"cannot read a statement: {error!r}") from None
        head = [name for name in _HEAD if name != "headline" or data["format"] > 2]
        if data.keys() != {*head, "fields"}:
            wrong = wrong or f"it must have the keys {', '.join(head)} and fields, and no others."
        elif data["private"] is not found.is_private or data["gaps"] != list(found.gaps):
            wrong = wrong or "its entries for privacy and gaps do not follow from its fields."
        elif not wrong and "headline" in head and not agrees(data["headline"], found.headline.as_dict()):
            wrong = "its headline does not follow from its fields."
        if wrong:
            raise EventFormatError(f"cannot read a statement: {wrong}")
        return found

    @staticmethod
    def schema() -> dict[str, object]:
        """Return the JSON Schema (2020-12) of the JSON written by `to_json`."""
        return dict(json.loads(files("dperm.report").joinpath(SCHEMA).read_text(encoding="utf-8")))

    def to_markdown(self) -> str:
        """Return the statement as Markdown: a summary, then all fields in 31 numbered entries, with gaps marked."""
        return markdown(self.fields)

    def __str__(self) -> str:
        """Return all fields as lines of text; mappings and lists are indented."""
        return "\n".join(line for name, value in self._rows() for line in text_lines(name, value))

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks."""
        return notebook_table(self._rows())

    def _rows(self) -> Iterator[tuple[str, object]]:
        """Yield titles and values; a private statement has its protection after the status."""
        for name, value in self.fields.items():
            if name != "status":
                yield names.FIELDS[name], value
                continue
            yield names.FIELDS[name], self.displayed_status
            if value == names.PRIVATE:
                yield "Protection", f"{headline_title(self.fields)}. {' '.join(headline_sentences(self.fields))}"


def _plain(fields: Mapping[str, object]) -> dict[str, object]:
    try:
        return dict(json.loads(json.dumps(dict(fields), allow_nan=False, default=_date)))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"A statement may contain JSON data and dates only (no NaN or Infinity): {error}"
        ) from error


def _date(value: object) -> str:
    """Return dates and times, which TOML files contain, in ISO 8601."""
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"an object of type {type(value).__name__} is neither.")


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; refuse repeated keys, which readers interpret differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
