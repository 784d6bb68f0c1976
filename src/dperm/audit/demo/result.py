# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the demonstration found, as plain data: whoever shows it renders tables, sentences and points."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

Cell = str | int | float


@dataclass(frozen=True)
class ResultTable:
    """Columns with names, and rows of numbers and words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class DemoAttack:
    """One attack.

    Attributes
    ----------
    title
        What is attacked.
    sentence
        What came out, in one sentence.
    table
        The numbers.
    points
        For a plot: curves by name, each two lists of numbers, x and y.
    """

    title: str
    sentence: str
    table: ResultTable
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class DemoResult:
    """All attacks, and the guarantee of what was trained with noise: each of them by itself.

    Attributes
    ----------
    parts
        One for each attack.
    guarantee
        In words.
    """

    parts: tuple[DemoAttack, ...]
    guarantee: str

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        parts = [{**asdict(part.table), "title": part.title, "sentence": part.sentence} for part in self.parts]
        for data, part in zip(parts, self.parts, strict=True):
            data["points"] = {name: [list(x), list(y)] for name, (x, y) in part.points.items()}
        return {"guarantee": self.guarantee, "parts": parts}
