# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of models, statements and records with their ledger entries."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dperm.cli.ledger.anchors import is_archive, read_json
from dperm.errors import DpermError, ModelFormatError, ParameterError
from dperm.ledger import Anchor, Entry, EntryKind, receipt_is_signed
from dperm.ledger.books import Books
from dperm.privacy.guarantee import guarantee_as_dict

GUARANTEE = "guarantee"
_DESCRIBED = ("noise", "grade", "theorems", "versions", "seeded")
"""Facts of a record that are also in the reservation."""
_HEADER_UNBOUND = (
    "the ledger entry does not bind the parameters, classes and bounds in this model file: the file was written by an "
    "earlier version of dperm, or not by an estimator. Compared: the released coefficients, guarantee, event and noise."
)
_NO_COEFFICIENTS = (
    "the file holds no coefficients. Compared: {}. Other sentences and numbers in the file are not compared."
)
_UNBOUND_FACTS = (
    "some parts are not compared, because the ledger entry does not bind them: timestamp, eta and tau of the record, "
    "and the version of dperm that wrote the file."
)
_PREPARED = (
    "some parts are not compared, because the ledger entry does not bind them: timestamp, eta and tau of the record, "
    "and the version of dperm that wrote the file. The committed digest binds the schema, the metrics, the "
    "parameters and the coefficients together."
)
_EDITED = " The shapes of {} were changed after the release; the ledger does not cover changes."
_MEANING = "meaning"
_REBUILT = ("profile", _MEANING, "sampling")
"""Fields of a statement that follow from the guarantee and the event alone."""
_BOUND = ("covered", "preprocessing", "nonprivate_statistics", "contribution_bound", "limits")
"""Fields of a statement that follow from the public facts of a fit."""
_NO_RELEASED = (
    "the ledger entry does not bind the coefficients in this file: a version of dperm before 0.5 wrote it, without the "
    "released values. Compared: guarantee, event and noise."
)


@dataclass(frozen=True)
class Artefact:
    """A file with a claim to be a release of a ledger.

    Attributes
    ----------
    source
        Path of the file.
    receipt
        The receipt in it; empty if there is none.
    event
        The accounting event in it; None without one.
    facts
        Guarantee and description of the noise, if the file has them.
    header
        Digest of the parameters and public facts of a model; None for other files.
    schema
        Digest of the schema in a model file; None without one, and for a schema that was found by the release itself.
    prepared
        Whether the release found the schema of a model file: its committed digest then binds the schema.
    damage
        The contradiction inside the file; "" if there is none.
    released
        Whether the file holds the released values; None for statements and records.
    statement
        The fields of a statement; empty for other files.
    stages
        Stages of the release in a model or record; None for files that do not list them.
    edited
        Terms of an additive model whose shapes were changed after the release.
    """

    source: Path
    receipt: Mapping[str, Any]
    event: object = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    header: str | None = None
    schema: str | None = None
    prepared: bool = False
    damage: str = ""
    released: bool | None = None
    statement: Mapping[str, Any] = field(default_factory=dict)
    stages: list[Any] | None = None
    edited: tuple[str, ...] = ()

    def anchor(self) -> Anchor | None:
        """Return the anchor in the receipt; None without one."""
        try:
            return Anchor.from_receipt(self.receipt)
        except DpermError:
            return None

    def problems(self, books: Books) -> Iterator[str]:
        """Yield contradictions with the ledger; the anchor checks that the entry exists."""
        if self.damage:
            yield f"{self.source} was edited or is damaged: {self.damage}."
        anchor = self.anchor()
        if anchor is None:
            yield f"{self.source} has no receipt of a ledger: it was not charged to one, or it was edited."
            return
        if not receipt_is_signed(self.receipt):
            yield f"{self.source} has a receipt that the ledger did not sign as it stands: the file was edited."
        line = books.entry(anchor.account, anchor.seq)
        if line is None or line.hash != anchor.hash:
            return
        if line.kind is not EntryKind.COMMIT or line.body.get("digest") != self.receipt.get("digest"):
            yield f"{self.source} has a digest that differs from entry {line.seq} of account {line.account!r}."
        reserved = self._reservation(books)
        if self.event is not None and (reserved is None or reserved.body.get("event") != self.event):
            yield f"{self.source} has an event that differs from entry {line.about} of account {line.account!r}."
        if reserved is not None:
            yield from self._differences(reserved)
            yield from self._stage_differences(reserved, books)
            yield from self._rebuilt_differences(reserved)

    def notes(self, books: Books) -> Iterator[str]:
        """Yield notes on parts of the file without a counterpart in the ledger entry."""
        reserved = self._reservation(books)
        if reserved is None:
            return
        if self.released is None:
            yield f"{self.source}: {self._describe_comparison(reserved)}"
        elif not self.released:
            yield f"{self.source}: {_NO_RELEASED}"
        elif self.prepared:
            yield f"{self.source}: {_PREPARED}"
        else:
            is_bound = _booked_header(reserved) is not None
            edited = _EDITED.format(", ".join(self.edited)) if self.edited else ""
            yield f"{self.source}: {_UNBOUND_FACTS if is_bound else _HEADER_UNBOUND}{edited}"

    def _reservation(self, books: Books) -> Entry | None:
        anchor = self.anchor()
        line = None if anchor is None else books.entry(anchor.account, anchor.seq)
        return None if line is None or line.about is None else books.entry(line.account, line.about)

    def _differences(self, reserved: Entry) -> Iterator[str]:
        """Yield facts that differ from the reservation; facts that only one of them has are not compared."""
        from dperm.sklearn.header import EVALUATION, named_evaluation

        where = f"entry {reserved.seq} of account {reserved.account!r}"
        booked = _facts(reserved)
        for name, value in self.facts.items():
            if name in booked and booked[name] != value:
                said = (
                    f" ({_short_guarantee(value)} instead of {_short_guarantee(booked[name])})"
                    if name == GUARANTEE
                    else ""
                )
                yield f"{self.source}: the value of {name!r} differs from {where}{said}: the file was edited."
        header = _booked_header(reserved)
        if header is not None and self.released is not None and self.header != header:
            yield (
                f"{self.source} has parameters, classes or bounds that differ from {where}: its header was edited "
                "after the charge."
            )
        evaluation = booked.get(EVALUATION)
        if evaluation is not None and self.statement:
            if named_evaluation(_mapping(self.statement.get("public_quantities"))) != evaluation:
                yield (
                    f"{self.source} names an evaluated model or target that differs from {where}: the file was edited."
                )
        command = booked.get("command")
        if self.schema is not None and isinstance(command, Mapping) and command.get("schema") != self.schema:
            yield f"{self.source} has a schema that differs from {where}: the file was edited."

    def _stage_differences(self, reserved: Entry, books: Books) -> Iterator[str]:
        """Yield a sentence if the file lists other stages than the ledger."""
        booked = [
            {name: line.body.get(name) for name in ("name", "facts")}
            for line in books.stages(reserved.account, reserved.seq)
        ]
        if self.stages is not None and self.stages != booked:
            yield (
                f"{self.source} lists stages that differ from entry {reserved.seq} of account {reserved.account!r}: "
                "the file was edited."
            )

    def _rebuilt_differences(self, reserved: Entry) -> Iterator[str]:
        """Yield fields of a statement in conflict with the facts, the guarantee or the event of the reservation."""
        from dperm.report.field_values import known_part
        from dperm.report.headline import agrees

        if _has_other_facts(self.statement, reserved):
            yield (
                f"{self.source} has public quantities, a mechanism, reasons or a preparation of the data that differ "
                f"from entry {reserved.seq} of account {reserved.account!r}: the file was edited."
            )
        if not _can_be_rebuilt(self.statement, reserved):
            return
        for name, value in _rebuilt(self.statement, reserved).items():
            written = known_part(name, self.statement.get(name))
            if not agrees(_numbers(written), _numbers(value)) if name == _MEANING else not agrees(written, value):
                yield (
                    f"{self.source}: the value of {name!r} does not follow from entry {reserved.seq} of account "
                    f"{reserved.account!r}: the file was edited."
                )

    def _describe_comparison(self, reserved: Entry) -> str:
        """Return a sentence on the compared parts of a statement or record."""
        names = [name for name in self.facts if name in _facts(reserved)]
        names += [] if self.event is None else ["event"]
        if _can_be_rebuilt(self.statement, reserved):
            names += [f"{name} (its numbers)" if name == _MEANING else name for name in _REBUILT]
        if _is_bound(self.statement, reserved):
            from dperm.report.binding import BOUND_FIELDS

            names += [*BOUND_FIELDS, *(_BOUND if _can_be_rebuilt(self.statement, reserved) else ())]
        return _NO_COEFFICIENTS.format(", ".join([*names, "the receipt with its digest"]))


def read_artefact(path: Path) -> Artefact:
    """Read receipt and facts from a model file, or from a statement or record in JSON."""
    return _of_model(path) if is_archive(path) else _of_json(path)


def _facts(reserved: Entry) -> Mapping[str, Any]:
    found = reserved.body.get("facts")
    return found if isinstance(found, Mapping) else {}


def _booked_header(reserved: Entry) -> object:
    from dperm.sklearn.header import HEADER

    return _facts(reserved).get(HEADER)


def _of_model(path: Path) -> Artefact:
    from dperm.data.schema import text_digest
    from dperm.privacy import Record
    from dperm.report.model_file import read_model
    from dperm.report.run_facts import has_late_header
    from dperm.sklearn.files import load_stored, stored_header_digest

    file = read_model(path)
    stored, schema = file.data.get("record"), file.data.get("schema")
    if not isinstance(stored, str):  # fitted without noise
        return Artefact(path, {}, released="released" in file.arrays)
    record, damage, header = Record.from_json(stored), "", None
    edited: tuple[str, ...] = ()
    try:
        edited = (
            load_stored(path).estimator._edited_terms()
        )  # the coefficients follow from the released values, and those from the digest in the receipt
        header = stored_header_digest(path)
    except ModelFormatError as error:
        damage = str(error.__cause__ or error).rstrip(".")
    facts = {name: _plain(getattr(record, name)) for name in _DESCRIBED}
    prepared = has_late_header(record.public)  # the check of the released values requires the digest that covers it
    return Artefact(
        path,
        record.ledger,
        event=record.event,
        facts={GUARANTEE: guarantee_as_dict(record.guarantee), **facts},
        header=header,
        schema=text_digest(schema) if isinstance(schema, str) and not prepared else None,
        prepared=prepared,
        damage=damage,
        released="released" in file.arrays,
        stages=list(record.stages),
        edited=edited,
    )


def _of_json(path: Path) -> Artefact:
    """Read a statement, with its receipt in "ledger_entry", or a record, with its receipt in "ledger"."""
    data = read_json(path)
    fields = data.get("fields", data) if isinstance(data, Mapping) else {}
    receipt = fields.get("ledger_entry", fields.get("ledger")) if isinstance(fields, Mapping) else None
    if receipt is None:
        raise ParameterError(
            f"--model: {path} is neither a model nor a statement or record in JSON. Give the file that dperm fit or "
            "dperm report wrote."
        )
    known = receipt if isinstance(receipt, Mapping) else {}
    if fields.keys() <= {"ledger_entry", "ledger"}:  # a receipt alone: the file claims nothing else
        return Artefact(path, known.get("known", known))
    if fields is data and "ledger" in data:
        missing = [name for name in (GUARANTEE, "event") if name not in data]
        damage = f"a record must have the entries {' and '.join(missing)}" if missing else ""
        facts = {name: fields[name] for name in (GUARANTEE, *_DESCRIBED) if name in fields}
        stages = fields.get("stages", [])
        return Artefact(path, known.get("known", known), fields.get("event"), facts, damage=damage, stages=stages)
    event = _mapping(fields.get("mechanism")).get("event", {})  # a statement without its event has none that was booked
    facts, damage = _statement_facts(fields), _statement_damage(path)
    whole = {} if damage else fields
    return Artefact(path, known.get("known", known), event, facts, damage=damage, statement=whole)


def _statement_facts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a statement that are also in the reservation, by their names in records."""
    from dperm.report.fields import SEEDED

    noise, accountant = _mapping(fields.get("noise_source")), _mapping(fields.get("accountant"))
    return {
        GUARANTEE: fields.get("goal"),
        "noise": noise.get("law"),
        "grade": noise.get("grade"),
        "theorems": accountant.get("theorems"),
        "versions": _mapping(fields.get("code_version")),
        "seeded": fields.get("status") == SEEDED,
    }


def _can_be_rebuilt(fields: Mapping[str, Any], reserved: Entry) -> bool:
    """Return whether the statement has a guarantee, and this version of dperm ran the release.

    Other versions may have other texts and bounds.
    """
    from dperm import __version__
    from dperm.report.fields import PROMISING

    booked = _mapping(_facts(reserved).get("versions"))
    return fields.get("status") in PROMISING and booked.get("dperm") == __version__


def _is_bound(fields: Mapping[str, Any], reserved: Entry) -> bool:
    """Return whether the reservation binds the public facts of a statement; only those of estimators."""
    from dperm.report.binding import PUBLIC_FACTS
    from dperm.report.fields import PROMISING

    return fields.get("status") in PROMISING and PUBLIC_FACTS in _facts(reserved)


def _has_other_facts(fields: Mapping[str, Any], reserved: Entry) -> bool:
    from dperm.report.binding import PUBLIC_FACTS, hides_uncovered, statement_digest

    if not _is_bound(fields, reserved):
        return False
    return statement_digest(fields) != _facts(reserved)[PUBLIC_FACTS] or hides_uncovered(fields)


def _rebuilt(fields: Mapping[str, Any], reserved: Entry) -> dict[str, Any]:
    """Return known parts made again: `_REBUILT` from the booked guarantee and event, `_BOUND` from public facts."""
    from dperm.accounting.stored_release import release_from_record
    from dperm.privacy import Record
    from dperm.privacy.guarantee import guarantee_from_dict
    from dperm.report import statement
    from dperm.report.binding import public_facts_of
    from dperm.report.definitions import unit_of
    from dperm.report.field_values import known_part
    from dperm.report.run_facts import TRANSFORMERS

    event = _mapping(reserved.body.get("event"))
    guarantee = guarantee_from_dict(dict(_mapping(_facts(reserved).get(GUARANTEE))))
    transformers = _mapping(fields.get("mechanism")).get(TRANSFORMERS)
    public = {"unit": unit_of(fields), **({} if transformers is None else {TRANSFORMERS: transformers})}
    is_bound = _is_bound(fields, reserved)
    known = public_facts_of(fields) if is_bound else public
    record = Record(guarantee, event, grade=str(_facts(reserved).get("grade", "")), public=known)
    made = statement(release_from_record(record, None))
    return {name: known_part(name, made[name]) for name in (*_REBUILT, *(_BOUND if is_bound else ()))}


def _statement_damage(path: Path) -> str:
    """Return the contradiction between the fields of a statement; "" if there is none."""
    from dperm.report import Statement

    try:
        Statement.from_json(path.read_text(encoding="utf-8"))
    except DpermError as error:
        return str(error).rstrip(".")
    return ""


def _numbers(sentences: object) -> list[str]:
    """Return the numbers in sentences, in order; the text around them may be from another version."""
    return [found.rstrip(".,") for found in re.findall(r"\d[\d.,e+-]*", json.dumps(sentences))]


def _mapping(value: object) -> Mapping[str, Any]:
    """Return ``value`` if it is a mapping, otherwise an empty one."""
    return value if isinstance(value, Mapping) else {}


def _plain(value: Any) -> Any:
    """Return the value after a round trip through JSON."""
    return json.loads(json.dumps(value))


def _short_guarantee(value: Any) -> str:
    """Return kind and numbers of a guarantee as text."""
    if not isinstance(value, Mapping):
        return "something else"
    numbers = (f"{name} {number}" for name, number in value.items() if name not in ("kind", "adjacency"))
    return f"{value.get('kind')}, {', '.join(numbers)}"
