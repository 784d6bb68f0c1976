# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Results of the demonstration as plain data, for any front end."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from dperm.presentation.facts import Fact

Cell = str | int | float


@dataclass(frozen=True)
class ResultTable:
    """Table of numbers and labels.

    Attributes
    ----------
    columns
        Column names.
    rows
        Cells of each row, in the order of the columns.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class DemoAttack:
    """Result of one attack, with and without differential privacy.

    Attributes
    ----------
    title
        Name of the attack.
    conclusion
        Result of the attack and its baseline.
    table
        Measured numbers.
    points
        Curves for a plot, keyed by the name of the curve; each is a pair of lists (x, y).
    """

    title: str
    conclusion: Fact
    table: ResultTable
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def sentence(self) -> str:
        """Text of the conclusion, for printing and for JSON."""
        return str(self.conclusion)


@dataclass(frozen=True)
class DemoResult:
    """Results of all attacks.

    Attributes
    ----------
    parts
        One result for each attack.
    guarantee
        Guarantee of each single model trained with noise.
    """

    parts: tuple[DemoAttack, ...]
    guarantee: Fact

    def as_dict(self) -> dict[str, object]:
        """Return guarantee, tables, sentences and points as JSON-serialisable data."""
        parts = [{**asdict(part.table), "title": part.title, "sentence": part.sentence} for part in self.parts]
        for data, part in zip(parts, self.parts, strict=True):
            data["points"] = {name: [list(x), list(y)] for name, (x, y) in part.points.items()}
        return {"guarantee": str(self.guarantee), "parts": parts}
