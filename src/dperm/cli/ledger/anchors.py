# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Anchors in files, and the receipts that models and statements carry."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dperm.errors import DpermError, ParameterError
from dperm.ledger import Anchor, Kind, receipt_is_signed
from dperm.ledger.books import Books
from dperm.report.whole_file import write_text


def write_anchors(path: Path, anchors: Sequence[Anchor]) -> None:
    """One anchor as an object, several as a list."""
    data = [asdict(anchor) for anchor in anchors]
    write_text(path, json.dumps(data[0] if len(data) == 1 else data, indent=2) + "\n")


def read_anchors(path: Path) -> list[Anchor]:
    """The anchors in a file of JSON: as ``write_anchors`` wrote it, or what a verb printed with --json."""
    if _is_archive(path):
        raise ParameterError(f"--anchor: {path} is a model, which carries its anchor with it. Use --model {path}.")
    data = _json(path)
    try:
        found = list(_anchors(data))
    except DpermError:
        found = []
    if not found:
        raise ParameterError(
            f"--anchor: there is no anchor in {path}. Give a file that dperm ledger show --write-anchor wrote; for a "
            "model or a statement use --model."
        )
    return found


def _anchors(data: Any) -> Iterator[Anchor]:
    if isinstance(data, list):
        for one in data:
            yield from _anchors(one)
    elif isinstance(data, Mapping) and isinstance(data.get("accounts"), list):
        yield from _anchors(data["accounts"])
    elif isinstance(data, Mapping):
        yield Anchor.from_receipt(data.get("anchor", data))


@dataclass(frozen=True)
class Claim:
    """What an artefact says of its charge."""

    source: Path
    receipt: Mapping[str, Any]
    event: object = None
    """What was spent, if the artefact says it."""

    def anchor(self) -> Anchor | None:
        """The anchor in the receipt, if there is one."""
        try:
            return Anchor.from_receipt(self.receipt)
        except DpermError:
            return None

    def problems(self, books: Books) -> Iterator[str]:
        """Where the books say something else; whether the line is there is the anchor's to say."""
        anchor = self.anchor()
        if anchor is None:
            yield f"{self.source} has no receipt of a ledger: what it holds was not charged to this one."
            return
        if not receipt_is_signed(self.receipt):
            yield f"{self.source} has a receipt that the ledger did not sign as it stands: it was edited."
        line = books.entry(anchor.account, anchor.seq)
        if line is None or line.hash != anchor.hash:
            return
        if line.kind is not Kind.COMMIT or line.body.get("digest") != self.receipt.get("digest"):
            yield f"{self.source} names another digest than line {line.seq} of account {line.account!r}."
        reserved = None if line.about is None else books.entry(line.account, line.about)
        if self.event is not None and (reserved is None or reserved.body.get("event") != self.event):
            yield f"{self.source} spent something else than was charged in account {line.account!r}, line {line.about}."


def read_claim(path: Path) -> Claim:
    """The receipt in a model file, or in a statement or record of JSON."""
    return _of_model(path) if _is_archive(path) else _of_json(path)


def _is_archive(path: Path) -> bool:
    """Whether the file begins as models do."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _of_model(path: Path) -> Claim:
    from dperm.privacy import Record
    from dperm.report.model_file import read_model

    stored = read_model(path).data.get("record")
    if not isinstance(stored, str):  # fitted without noise
        return Claim(path, {})
    record = Record.from_json(stored)
    return Claim(path, record.ledger, record.event)


def _of_json(path: Path) -> Claim:
    """A statement has its fields, and the receipt in "ledger_entry"; a record has it in "ledger"."""
    data = _json(path)
    fields = data.get("fields", data) if isinstance(data, Mapping) else {}
    receipt = fields.get("ledger_entry", fields.get("ledger")) if isinstance(fields, Mapping) else None
    if receipt is None:
        raise ParameterError(
            f"--model: {path} is neither a model nor a statement or record in JSON. Give the file that dperm fit or "
            "dperm report wrote."
        )
    known = receipt if isinstance(receipt, Mapping) else {}
    return Claim(path, known.get("known", known), fields.get("event"))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ParameterError(f"{path} is not JSON.") from None
