# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Anchor files: the last entry of an account, kept apart from the ledger to detect a rollback."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dperm.errors import DpermError, ParameterError
from dperm.ledger import Anchor
from dperm.report.whole_file import write_text


def write_anchors(path: Path, anchors: Sequence[Anchor]) -> None:
    """Write one anchor as a JSON object, several as a list."""
    data = [asdict(anchor) for anchor in anchors]
    write_text(path, json.dumps(data[0] if len(data) == 1 else data, indent=2) + "\n")


def read_anchors(path: Path) -> list[Anchor]:
    """Read the anchors in a file of `write_anchors`, or in the --json output of a verb."""
    if is_archive(path):
        raise ParameterError(f"--anchor: {path} is a model, which contains its anchor. Use --model {path}.")
    data = read_json(path)
    try:
        found = list(_anchors(data))
    except DpermError:
        found = []
    if not found:
        raise ParameterError(
            f"--anchor: there is no anchor in {path}. Give a file written by dperm ledger show --write-anchor; for a "
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
    """Return whether the file is a zip archive, as models are."""
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ParameterError(f"{path} is not JSON.") from None
