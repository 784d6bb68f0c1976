# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement of what was released and what is promised about it, as data, text, JSON and Markdown."""

import json
from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass
from datetime import date, time
from importlib.resources import files
from typing import TYPE_CHECKING

from dperm.errors import EventFormatError, ParameterError
from dperm.report import fields as words
from dperm.report.audits import audits_of, with_verdict
from dperm.report.contradictions import contradictions
from dperm.report.headline import Headline, agrees, headline, headline_sentences, headline_title
from dperm.report.html import table
from dperm.report.markdown import markdown
from dperm.report.stated import gaps_of, required_gaps, with_declared, with_stated
from dperm.report.text import lines

if TYPE_CHECKING:
    from dperm.audit.finding import Finding

FORMAT = 3
"""Version of the JSON that is written. Format 1 was flat, and had no gaps; format 2 had no headline."""
READ = (2, FORMAT)
"""Versions that are read."""
SCHEMA = "statement.schema.json"
_HEAD = ("format", "private", "headline", "gaps")


@dataclass(frozen=True)
class Statement:
    """What a privacy officer asks about a release, field by field, as plain JSON data.

    Fields that only the user can know say "not stated" until ``filled`` gives them, and ``gaps`` names them. Nothing in
    it depends on private data beyond the release itself. It reads as a mapping does: ``statement["curator"]``,
    ``dict(statement)``.
    """

    fields: Mapping[str, object]

    def __post_init__(self) -> None:
        """Keep an own copy, as JSON reads it back."""
        fields = _plain(self.fields)
        if fields.keys() != words.FIELDS.keys():
            raise ParameterError(f"a statement has the fields {', '.join(words.FIELDS)}, and no others.")
        object.__setattr__(self, "fields", {name: fields[name] for name in words.FIELDS})

    def __getitem__(self, name: str) -> object:
        """The value of a field."""
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the fields."""
        return iter(self.fields)

    def __len__(self) -> int:
        """Number of fields."""
        return len(self.fields)

    def keys(self) -> KeysView[str]:
        """The names of the fields."""
        return self.fields.keys()

    def filled(self, fields: Mapping[str, object], *, declared: object = None) -> "Statement":
        """A copy in which the fields that only the user can know have these values.

        Where the run knows a part of a field, your words stand beside it: ``{"known": ..., "stated": ...}``.

        Parameters
        ----------
        fields
            Values by the names of fields.
        declared
            What a public schema declares of the columns, as plain data. It stands in the field ``data_domain`` as what
            is known, and not as the words of the user.

        Raises
        ------
        ParameterError
            If ``fields`` names a field that does not exist, or one that follows from the release.
        """
        return Statement(with_stated(with_declared(self.fields, declared), fields))

    def audited(self, audits: "Iterable[Mapping[str, object] | Finding]") -> "Statement":
        """A copy that has the results of these audits, too: findings, or mappings such as ``finding.as_dict()``.

        One that refutes what is claimed turns the status into "REFUTED BY AN AUDIT". Only audits of this release, or of
        the plan behind it, belong here: nothing is compared.

        Raises
        ------
        ParameterError
            If they are anything else.
        """
        before, more = self.fields["audit"], audits_of(audits)
        found = [one for part in (before, more) if isinstance(part, list) for one in part]
        return Statement(with_verdict({**self.fields, "audit": found or words.NONE}))

    @property
    def gaps(self) -> tuple[str, ...]:
        """The fields in which something is missing that only the user can know."""
        return gaps_of(self.fields)

    @property
    def required_gaps(self) -> tuple[str, ...]:
        """Required fields that are missing: the protection is not rated before they are stated."""
        return required_gaps(self.fields)

    @property
    def headline(self) -> Headline:
        """Protection level, the attacker's success that decides it, and what is missing for a rating."""
        return headline(self.fields)

    @property
    def is_private(self) -> bool:
        """False for a seeded run, for a run without noise, and for a claim that an audit has refuted."""
        return self.fields["status"] == words.PRIVATE

    @property
    def is_refuted(self) -> bool:
        """Whether an audit has refuted what is claimed."""
        return self.fields["status"] == words.REFUTED

    def to_dict(self) -> dict[str, object]:
        """All fields, in an own copy."""
        return _plain(self.fields)

    def to_json(self, *, indent: int | None = None) -> str:
        """All fields, the gaps and the version of the format, as JSON that meets ``schema()``."""
        head = dict(zip(_HEAD, (FORMAT, self.is_private, self.headline.as_dict(), self.gaps), strict=True))
        return json.dumps({**head, "fields": self.fields}, allow_nan=False, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> "Statement":
        """The statement that ``to_json`` wrote.

        Raises
        ------
        EventFormatError
            If the text is no such statement, contradicts itself, or has a format that this version does not know.
        """
        try:
            data = dict(json.loads(text, object_pairs_hook=_each_once))
            if data["format"] not in READ or type(data["format"]) is not int:
                known = " and ".join(map(str, READ))
                raise EventFormatError(f"this version reads statements of format {known}. Make the statement anew.")
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
            wrong = wrong or "what it says of its own privacy or gaps is not true of it."
        elif not wrong and "headline" in head and not agrees(data["headline"], found.headline.as_dict()):
            wrong = "its headline does not follow from its fields."
        if wrong:
            raise EventFormatError(f"cannot read a statement: {wrong}")
        return found

    @staticmethod
    def schema() -> dict[str, object]:
        """The JSON Schema (2020-12) of ``to_json``."""
        return dict(json.loads(files("dperm.report").joinpath(SCHEMA).read_text(encoding="utf-8")))

    def to_markdown(self) -> str:
        """The statement as a page of Markdown: the promise in words, then the 31 fields; gaps are marked."""
        return markdown(self.fields)

    def __str__(self) -> str:
        """A field after the other; lists have a line for each item, mappings are indented."""
        return "\n".join(line for name, value in self._rows() for line in lines(name, value))

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        return table(self._rows())

    def _rows(self) -> Iterator[tuple[str, object]]:
        """Titles and values; the protection follows the status of a private statement."""
        for name, value in self.fields.items():
            yield words.FIELDS[name], value
            if name == "status" and self.is_private:
                yield "Protection", f"{headline_title(self.fields)}. {' '.join(headline_sentences(self.fields))}"


def _plain(fields: Mapping[str, object]) -> dict[str, object]:
    try:
        return dict(json.loads(json.dumps(dict(fields), allow_nan=False, default=_date)))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a statement holds JSON data and dates only (no NaN or Infinity): {error}") from error


def _date(value: object) -> str:
    """Dates and times, which files of TOML have, as ISO 8601 writes them."""
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"an object of type {type(value).__name__} is neither.")


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object; a key that stands there twice would be read by each reader as it likes."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
