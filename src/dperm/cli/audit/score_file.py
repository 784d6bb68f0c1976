# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scores and membership bits of an attack, from a file."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from dperm.errors import ParameterError

SCORE, MEMBER = "score", "member"
_BITS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def read_scores(path: Path) -> tuple[list[float], list[bool]]:
    """The columns "score" and "member" of a CSV file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            rows.fieldnames = _columns(path, rows.fieldnames)
            found = [(_score(path, rows.line_num, row[SCORE]), _bit(path, rows.line_num, row[MEMBER])) for row in rows]
    except (UnicodeDecodeError, csv.Error):
        raise ParameterError(f"{path} must be a CSV file in UTF-8.") from None
    scores, members = [score for score, _ in found], [member for _, member in found]
    if len(set(members)) < 2:
        kind = "members" if any(members) else "non-members" if members else "nobody"
        raise ParameterError(f"{path} must have members and non-members, and has {kind} only. Attack both.")
    return scores, members


def _columns(path: Path, names: Sequence[str] | None) -> list[str]:
    """The names in small letters, if score and member are among them, once each."""
    found = [name.strip().lower() for name in names or ()]
    missing = [name for name in (SCORE, MEMBER) if found.count(name) != 1]
    if not missing:
        return found
    has = f"It has {', '.join(map(repr, names))}. " if names else "It is empty. "
    split = len(found) == 1 and next((mark for mark in ";\t|" if mark in found[0]), "")
    separator = f"Columns are separated by commas, not by {split!r}. " if split else ""
    raise ParameterError(
        f"{path} must have the columns score and member, and has no {' and no '.join(missing)}. {has}{separator}A "
        "score is a number, larger for members; member is 1 or 0."
    )


def _score(path: Path, line: int, text: str | None) -> float:
    try:
        score = float(text or "")
    except ValueError:
        raise ParameterError(f"{path}, line {line}: the score is not a number.") from None
    if math.isnan(score):
        raise ParameterError(f"{path}, line {line}: the score is NaN. Leave out records without a score.")
    return score


def _bit(path: Path, line: int, text: str | None) -> bool:
    found = _BITS.get((text or "").strip().lower())
    if found is None:
        raise ParameterError(f"{path}, line {line}: member must be 1 or 0, true or false, yes or no.")
    return found
