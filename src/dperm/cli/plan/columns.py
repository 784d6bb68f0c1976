# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many columns there are, and how long a row is: by a schema, or by numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dperm.cli.plan.given import Given
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.schema import Schema


@dataclass(frozen=True)
class Columns:
    """Columns as they are after encoding.

    Attributes
    ----------
    feature_norm
        None where nothing was said about it.
    encoded
        Whether they are those that a schema makes.
    """

    dim: int
    feature_norm: float | None
    encoded: bool

    @classmethod
    def of(cls, given: Given) -> "Columns":
        """Those that a command line names."""
        from dperm.cli.problem import read_schema

        declared = given.declared
        if given.model.schema is None:
            assert declared.dim is not None
            return cls(declared.dim, declared.feature_norm, encoded=False)
        schema = read_schema(given.model.schema, None, None)
        require_two_classes(schema, "--target-excess" if given.question.target_loss is None else "--target-loss")
        return cls(len(schema.encoder.feature_names), schema.encoder.norm, encoded=True)

    @property
    def note(self) -> list[str]:
        """Of a norm that nobody has thought about: bounds grow with it."""
        if self.encoded or self.feature_norm is not None:
            return []
        return [
            "nothing was said about the norm, so it is 1: expected accuracy hardly depends on it, bounds do. A schema "
            f"of {self.dim:,} numeric columns has the norm {self.dim**0.5:.3g}, their square root: --feature-norm"
        ]


def require_two_classes(schema: "Schema", option: str) -> None:
    """What is proved, and data that are made up, are about logistic regression of two classes alone."""
    target = schema.target
    assert target is not None
    if target.classes is None or len(target.classes) != 2:
        found = "a range" if target.classes is None else f"{len(target.classes)} classes"
        raise ParameterError(
            f"{option} is about two classes, and the schema declares {found} for {target.name!r}. Leave {option} out."
        )
