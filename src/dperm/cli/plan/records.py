# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan --target-excess``: how many records are enough by what is proved."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from dperm.cli.plan.asked import goal_of, warn_as_a_fit
from dperm.cli.plan.columns import Columns
from dperm.cli.plan.given import Given

if TYPE_CHECKING:
    from dperm.planner import RecordsByProof
    from dperm.privacy import ApproxDP, PureDP
    from dperm.theory import LearningProblem

OWN = (
    "The bounds are about the problem without clipping, at the regularisation or number of steps that makes them "
    "least, which need not be those of a fit."
)
_LARGEST_EPSILON = 1e10  # for which the calculators answer: noise of no size


def tell_records(given: Given) -> None:
    """Count and print."""
    from dperm.cli.output import print_json

    counted = _Counted.of(given)
    if given.output.json:
        print_json(counted.as_dict())
    else:
        _print(counted)


@dataclass(frozen=True)
class _Counted:
    """How many records, by each method's bound.

    Attributes
    ----------
    without_privacy
        How many the same bounds ask for without noise.
    n
        The number that was asked about; None if none was.
    """

    records: "RecordsByProof"
    goal: "PureDP | ApproxDP"
    problem: "LearningProblem"
    columns: Columns
    without_privacy: int
    n: int | None

    @classmethod
    def of(cls, given: Given) -> "_Counted":
        """Count."""
        from dperm import checks
        from dperm.planner import Shape, records_for
        from dperm.theory import output_sample_size

        goal, declared, excess = goal_of(given), given.declared, given.question.target_excess
        columns = Columns.of(given)
        norms = {"reference_norm": declared.reference_norm, "feature_norm": columns.feature_norm}
        known = {name: 1.0 if norm is None else norm for name, norm in norms.items()}
        assert excess is not None
        if declared.n is not None:
            checks.count("n", declared.n)
        records = records_for(excess, columns.dim, goal, **known)
        problem = Shape(2, columns.dim, feature_norm=known["feature_norm"]).problem(known["reference_norm"])
        plain = output_sample_size(problem, excess, epsilon=_LARGEST_EPSILON, adjacency=goal.adjacency)
        warn_as_a_fit(goal, declared.n or records.n, columns.dim)
        return cls(records, goal, problem, columns, plain, declared.n)

    @property
    def enough(self) -> bool | None:
        """Whether the number that was asked about is enough by proof."""
        return None if self.n is None else self.n >= self.records.n

    def as_dict(self) -> dict[str, object]:
        """As JSON takes it."""
        from dperm.cli.plan.orders import orders_of
        from dperm.privacy.guarantee import guarantee_as_dict

        asked = {} if self.n is None else {"n": self.n, "enough": self.enough}
        return {
            "guarantee": guarantee_as_dict(self.goal),
            "columns": self.columns.dim,
            "coefficients": self.problem.dim,
            "gradient_norm": self.problem.lipschitz,
            "reference_norm": self.problem.reference_norm,
            "records": self.records.as_dict(),
            "without_privacy": self.without_privacy,
            "order_only": [one.as_dict() for one in orders_of(self.problem, self.records.target_excess, self.goal)],
            **asked,
        }

    @property
    def verdict(self) -> str:
        """Whether the number that was asked about is enough, in a sentence; nothing if none was."""
        if self.n is None:
            return ""
        if self.enough:
            return f"{self.n:,} rows are enough: {self.records.n:,} are, by {self.records.best.method} perturbation."
        return (
            f"{self.n:,} rows are not enough by proof, which takes {self.records.n:,}. That does not show that they "
            "are too few."
        )


def _print(counted: _Counted) -> None:
    from dperm import checks
    from dperm.cli.fit_report import guarantee_in_words
    from dperm.cli.output import below, print_facts, print_paragraphs, print_table
    from dperm.cli.plan.orders import print_orders

    records = counted.records
    typer.echo(f"Rows that are enough for an expected excess risk of {records.target_excess:g}; no data were read.\n")
    rows = [(method, f"{n:,}") for method, n in records.each]
    rows += [(method, f"more than {checks.LARGEST_COUNT:,}") for method in _missing(counted)]
    print_table(("method", "enough by proof"), [*rows, ("without privacy", f"{counted.without_privacy:,}")])
    problem = counted.problem
    print_facts(
        [
            ("guarantee", guarantee_in_words(counted.goal)),
            ("excess", f"of the logistic loss on new records, over the best model of norm {problem.reference_norm:g}"),
            ("assumed", below(_assumed(counted))),
        ]
    )
    print_paragraphs([*([counted.verdict] if counted.verdict else []), records.sentence, OWN])
    print_orders(problem, records.target_excess, counted.goal)


def _missing(counted: _Counted) -> list[str]:
    """Methods that have a bound, but not one that is small enough with any number of rows."""
    from dperm.privacy import ApproxDP

    bounded = [
        "objective",
        "output",
        *(["gradient"] if isinstance(counted.goal, ApproxDP) and counted.goal.delta else []),
    ]
    found = {method for method, _ in counted.records.each}
    return [method for method in bounded if method not in found]


def _assumed(counted: _Counted) -> list[str]:
    problem, encoded = counted.problem, " as the schema encodes them" if counted.columns.encoded else ""
    return [
        f"{counted.columns.dim:,} columns{encoded}: {problem.dim:,} coefficients with the intercept",
        f"gradients of norm at most {problem.lipschitz:.4g}",
        *counted.columns.note,
        "these numbers are taken as public: none of them may be read off private data",
    ]
