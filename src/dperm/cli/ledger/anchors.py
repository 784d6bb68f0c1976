# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Anchors in files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dperm.errors import DpermError, ParameterError
from dperm.ledger import Anchor
from dperm.report.whole_file import write_text


def write_anchors(path: Path, anchors: Sequence[Anchor]) -> None:
    """One anchor as an object, several as a list."""
    data = [asdict(anchor) for anchor in anchors]
    write_text(path, json.dumps(data[0] if len(data) == 1 else data, indent=2) + "\n")


def read_anchors(path: Path) -> list[Anchor]:
    """The anchors in a file of JSON: as ``write_anchors`` wrote it, or what a verb printed with --json."""
    if is_archive(path):
        raise ParameterError(f"--anchor: {path} is a model, which carries its anchor with it. Use --model {path}.")
    data = read_json(path)
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


def is_archive(path: Path) -> bool:
    """Whether the file begins as models do."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def read_json(path: Path) -> Any:
    """The content of a file of JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ParameterError(f"{path} is not JSON.") from None
