# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What was typed after ``dperm plan``, in groups; each field is called as its option, and None if it was left out."""

from dataclasses import dataclass, fields
from pathlib import Path

from dperm.errors import ParameterError


@dataclass(frozen=True)
class Promise:
    """What is to be promised, and how."""

    epsilon: float | None
    delta: float | None
    adjacency: str | None
    method: str | None

    @property
    def size(self) -> float:
        """Epsilon, which has no default."""
        if self.epsilon is None:
            raise ParameterError("--epsilon is missing: how much a record may show, such as --epsilon 1.")
        if self.epsilon == float("inf"):
            raise ParameterError("--epsilon must be a number such as 1: without noise there is nothing to plan.")
        return self.epsilon


@dataclass(frozen=True)
class Model:
    """Which fit is planned, and what it is charged to."""

    schema: Path | None
    estimator: str | None
    ledger: str | None
    account: str | None
    request_id: str | None
    C: float | None
    clip: float | None
    quantile: float | None
    write_event: Path | None


@dataclass(frozen=True)
class Declared:
    """Public numbers of a table."""

    n: int | None
    dim: int | None
    balance: float | None
    baseline: float | None
    feature_norm: float | None
    reference_norm: float | None


@dataclass(frozen=True)
class Question:
    """What else is asked, and by which trials."""

    expect: bool
    target_excess: float | None
    target_loss: float | None
    no_trials: bool
    quick: bool
    seed: int | None


@dataclass(frozen=True)
class Output:
    """Where answers go."""

    plot: Path | None
    force: bool
    json: bool


@dataclass(frozen=True)
class Given:
    """A whole command line."""

    promise: Promise
    model: Model
    declared: Declared
    question: Question
    output: Output

    @property
    def typed(self) -> tuple[str, ...]:
        """The options that were given, as they are typed."""
        groups = (self.promise, self.model, self.declared, self.question, self.output)
        values = {field.name: getattr(group, field.name) for group in groups for field in fields(group)}
        return tuple(option(name) for name, value in values.items() if value is not None and value is not False)


def option(name: str) -> str:
    """How a field is typed."""
    return f"--{name.replace('_', '-')}"
