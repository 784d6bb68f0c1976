# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public numbers of a planned fit: guarantee, columns and synthetic tables, as the options declare them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.schema import Schema
    from dperm.planner import Shape, Trials
    from dperm.privacy import ApproxDP, PureDP

LARGEST_EPSILON = 500.0
"""Largest epsilon that a fit accepts."""


@dataclass(frozen=True)
class PrivacyOptions:
    """Options --epsilon, --delta and --adjacency; None where an option is left out."""

    epsilon: float | None
    delta: float | None
    adjacency: str | None

    @property
    def size(self) -> float:
        """Epsilon; a required option with a finite number."""
        if self.epsilon is None:
            raise ParameterError("--epsilon is missing: the privacy-loss bound, such as --epsilon 1.")
        if self.epsilon == float("inf"):
            raise ParameterError("--epsilon must be a number such as 1: without noise there is nothing to plan.")
        return self.epsilon

    @property
    def goal(self) -> "PureDP | ApproxDP":
        """The guarantee, with the defaults of a fit without a ledger."""
        from dperm.cli.charging import delta_of, relation_of

        return guarantee(self.size, delta_of(None, self.delta), relation_of(None, self.adjacency))


def guarantee(epsilon: float, delta: float, adjacency: str) -> "PureDP | ApproxDP":
    """Return the guarantee, checked; it is pure if delta is 0."""
    from dperm import checks
    from dperm.privacy import ApproxDP, PureDP

    size, small = checks.positive("epsilon", epsilon), checks.small_delta("delta", delta)
    if size > LARGEST_EPSILON:
        raise ParameterError(
            argument="epsilon",
            rule=f"must be at most {LARGEST_EPSILON:g}",
            got=f"{size:g}",
            remedy="A larger value promises nothing.",
        )
    return ApproxDP(size, small, adjacency) if small > 0 else PureDP(size, adjacency)


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table after encoding.

    Attributes
    ----------
    dim
        Number of columns.
    feature_norm
        Bound on the norm of a row; None if it was not declared.
    encoded
        Whether a schema makes the columns.
    """

    dim: int
    feature_norm: float | None
    encoded: bool

    @classmethod
    def of_options(
        cls, schema: Path | None, dim: int | None, feature_norm: float | None, *, option: str
    ) -> "TableColumns":
        """Return the columns of a schema file, or of --dim and --feature-norm.

        Raises
        ------
        ParameterError
            If both or neither of --schema and --dim are given. If the schema's target has not two classes: then
            ``option`` cannot be used.
        """
        from dperm.cli.fit_request import read_schema

        if schema is not None and dim is not None:
            raise ParameterError("--schema and --dim both set the number of columns. Give one of them.")
        if schema is not None and feature_norm is not None:
            raise ParameterError("--feature-norm belongs to --dim: with --schema the norm is that of its features.")
        if schema is None and dim is None:
            raise ParameterError(
                "--dim or --schema is missing: the number of columns, such as --dim 10, or a schema that declares them."
            )
        return cls.of_schema(read_schema(schema, None, None), option) if dim is None else cls(dim, feature_norm, False)

    @classmethod
    def of_schema(cls, schema: "Schema", option: str) -> "TableColumns":
        """Return the encoded columns of a schema, if its target has two classes."""
        require_two_classes(schema, option)
        return cls(len(schema.encoder.feature_names), schema.encoder.norm, encoded=True)

    @property
    def note(self) -> list[str]:
        """Note on an undeclared norm, on which the bounds depend; empty if the norm is declared."""
        if self.encoded or self.feature_norm is not None:
            return []
        return [
            "no bound on the row norm was declared, so 1 is assumed. The bound hardly affects the expected accuracy "
            "but does "
            f"affect the proved bounds. With a schema of {self.dim:,} numeric columns the norm is sqrt({self.dim}) = "
            f"{self.dim**0.5:.3g}; set it with --feature-norm"
        ]


def require_two_classes(schema: "Schema", option: str) -> None:
    """Refuse targets without exactly two classes: bounds and trials are for binary logistic regression only."""
    target = schema.target
    assert target is not None
    if target.classes is None or len(target.classes) != 2:
        found = "a range" if target.classes is None else f"{len(target.classes)} classes"
        raise ParameterError(
            f"{option} needs two classes, and the schema declares {found} for {target.name!r}. For this "
            "schema use dperm plan fit."
        )


@dataclass(frozen=True)
class TrialOptions:
    """Options of trials on synthetic tables; None where an option is left out."""

    balance: float | None
    baseline: float | None
    quick: bool
    seed: int | None

    def shape(self, n: int, columns: TableColumns) -> "Shape":
        """Return the shape of the synthetic tables; options that are left out have the defaults of `Shape`."""
        from dperm.planner import Shape

        optional = {"balance": self.balance, "baseline": self.baseline, "feature_norm": columns.feature_norm}
        return Shape(n, columns.dim, **{name: value for name, value in optional.items() if value is not None})

    def trials(self, progress: Callable[[float], None] = lambda share: None) -> "Trials":
        """Return the number of trials and their seed, checked."""
        from dataclasses import replace

        from dperm.planner import Trials

        usual = Trials.quick() if self.quick else Trials()
        return replace(usual, seed=self.seed or 0, progress=progress)


def methods_of(method: str | None) -> tuple[str, ...]:
    """Return the requested method, checked, or all methods if None is requested."""
    from dperm.planner import METHODS
    from dperm.planner.expectation import checked_method

    return METHODS if method is None else (checked_method(method),)


def warn_like_a_fit(goal: "PureDP | ApproxDP", n: int, dim: int) -> None:
    """Issue the warnings of a fit with n records: a delta above 1/n, or noise that outweighs the data.

    Under add_remove a fit does not know n and issues none; here n is a public guess.
    """
    from dperm.privacy import ApproxDP
    from dperm.sklearn import PrivateLogisticRegression

    delta = goal.delta if isinstance(goal, ApproxDP) else 0.0
    model = PrivateLogisticRegression(
        epsilon=goal.epsilon, delta=delta, adjacency=goal.adjacency, feature_norm=1.0, n=n, classes=(0, 1)
    )
    model.plan(dim=dim)
