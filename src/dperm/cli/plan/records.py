# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan records`` and ``dperm plan records-by-trial``: sufficient numbers of records."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.outlook import PUBLIC_NUMBERS, assumptions, format_interval
from dperm.cli.plan.public_numbers import TableColumns, TrialOptions, methods_of, warn_like_a_fit
from dperm.cli.running import progress_bar

if TYPE_CHECKING:
    from dperm.planner import RecordsByProof, RecordsByTrial, Shape
    from dperm.privacy import ApproxDP, PureDP
    from dperm.theory import LearningProblem, OrderOnly

OWN = (
    "The bounds apply to the problem without clipping, at the regularization or number of steps that minimizes them. "
    "A fit may use other values."
)
FAILURE = 0.05
"""p of Bellet's theorem, which holds with probability 1 - 2p."""
LEGEND = (
    "R0: norm of the reference model times the largest gradient norm; g: target excess risk; d: number of "
    "coefficients; eps: epsilon."
)
GAUSSIAN_LEGEND = (
    f" p: {FAILURE:g}, half the failure probability of the theorem; q = (sqrt(d) + sqrt(2 log(1/p))) "
    f"sqrt(log(1/delta))."
)
TITLE = (
    "Orders of magnitude (T58), from theorems of the lectures whose constants C are not specified. The numbers are "
    "computed with C = 1 and are not bounds:"
)
_NO_NOISE = 1e10  # largest epsilon of the calculators, at which the noise is negligible
_START = 10_000  # records at which trials start without --n


def show_records(
    goal: "PureDP | ApproxDP",
    columns: TableColumns,
    *,
    target_excess: float,
    reference_norm: float | None,
    n: int | None,
    as_json: bool,
) -> None:
    """Print the sufficient number of records by proof; with ``n``, also whether n are enough."""
    from dperm import checks
    from dperm.cli.output import print_json
    from dperm.planner import Shape, records_for
    from dperm.theory import output_sample_size

    norms = {"reference_norm": reference_norm, "feature_norm": columns.feature_norm}
    known = {name: 1.0 if norm is None else norm for name, norm in norms.items()}
    if n is not None:
        checks.count("n", n)
    records = records_for(target_excess, columns.dim, goal, **known)
    problem = Shape(2, columns.dim, feature_norm=known["feature_norm"]).problem(known["reference_norm"])
    plain = output_sample_size(problem, target_excess, epsilon=_NO_NOISE, adjacency=goal.adjacency)
    warn_like_a_fit(goal, n or records.n, columns.dim)
    proof = _RecordsByProof(records, goal, problem=problem, columns=columns, without_privacy=plain, n=n)
    if as_json:
        print_json(proof.as_dict())
    else:
        _print_by_proof(proof)


@dataclass(frozen=True)
class _RecordsByProof:
    """Number of records by the bound of each method.

    Attributes
    ----------
    without_privacy
        Number of records by the same bounds without noise.
    n
        Number of records to compare with; None without --n.
    """

    records: "RecordsByProof"
    goal: "PureDP | ApproxDP"
    problem: "LearningProblem"
    columns: TableColumns
    without_privacy: int
    n: int | None

    @property
    def enough(self) -> bool | None:
        """Whether n records are enough by proof; None without --n."""
        return None if self.n is None else self.n >= self.records.n

    def as_dict(self) -> dict[str, object]:
        """Return the numbers as JSON-serialisable data."""
        from dperm.privacy.guarantee import guarantee_as_dict

        compared = {} if self.n is None else {"n": self.n, "enough": self.enough}
        return {
            "guarantee": guarantee_as_dict(self.goal),
            "columns": self.columns.dim,
            "coefficients": self.problem.dim,
            "gradient_norm": self.problem.lipschitz,
            "reference_norm": self.problem.reference_norm,
            "records": self.records.as_dict(),
            "without_privacy": self.without_privacy,
            "order_only": [one.as_dict() for one in _orders(self.problem, self.records.target_excess, self.goal)],
            **compared,
        }

    @property
    def verdict(self) -> str:
        """Sentence on whether n records are enough; empty without --n."""
        if self.n is None:
            return ""
        if self.enough:
            return (
                f"{self.n:,} records suffice: {self.records.best.method} perturbation needs at most {self.records.n:,}."
            )
        return (
            f"{self.n:,} records are fewer than the {self.records.n:,} that provably suffice. This does not prove that "
            f"they are too few."
        )


def _print_by_proof(proof: _RecordsByProof) -> None:
    from dperm import checks
    from dperm.cli.fit_report import format_guarantee
    from dperm.cli.output import below, print_facts, print_paragraphs, print_table

    records, problem = proof.records, proof.problem
    typer.echo(f"Records that suffice for an expected excess risk of {records.target_excess:g}; no data were read.\n")
    rows = [(method, f"{n:,}") for method, n in records.each]
    rows += [(method, f"more than {checks.LARGEST_COUNT:,}") for method in _methods_without_number(proof)]
    print_table(("method", "provably sufficient"), [*rows, ("without privacy", f"{proof.without_privacy:,}")])
    encoded = " as the schema encodes them" if proof.columns.encoded else ""
    public = [
        f"{proof.columns.dim:,} columns{encoded}: {problem.dim:,} coefficients with the intercept",
        f"gradients of norm at most {problem.lipschitz:.4g}",
        *proof.columns.note,
        PUBLIC_NUMBERS,
    ]
    print_facts(
        [
            ("guarantee", format_guarantee(proof.goal)),
            (
                "excess",
                f"of the logistic loss on new records, over the best model of norm at most {problem.reference_norm:g}",
            ),
            ("assumed", below(public)),
        ]
    )
    print_paragraphs([*([proof.verdict] if proof.verdict else []), records.sentence, OWN])
    _print_orders(problem, records.target_excess, proof.goal)


def _methods_without_number(proof: _RecordsByProof) -> list[str]:
    """Return the methods whose bound is too large with any number of rows."""
    from dperm.privacy import ApproxDP

    gaussian = ["gradient"] if isinstance(proof.goal, ApproxDP) and proof.goal.delta else []
    found = {method for method, _ in proof.records.each}
    return [method for method in ("objective", "output", *gaussian) if method not in found]


@dataclass(frozen=True)
class SampleOrder:
    """A theorem on the number of records, known up to a constant (T58)."""

    source: str
    order: "OrderOnly"

    def as_dict(self) -> dict[str, object]:
        """Return source, value and statement as JSON-serialisable data."""
        return {"source": self.source, "value": self.order.value, "statement": self.order.statement}


def _orders(problem: "LearningProblem", excess: float, goal: "PureDP | ApproxDP") -> list[SampleOrder]:
    """Return the theorems for this goal.

    They are stated for L = 1. A problem with gradients L times as long has a reference norm L times as large.
    """
    from dperm.privacy import ApproxDP
    from dperm.theory import gaussian_output_sample_order, objective_sample_order, output_sample_order

    norm, epsilon = problem.lipschitz * problem.reference_norm, goal.epsilon
    found = [
        SampleOrder(
            "objective: Monteleoni, Theorem 4",
            objective_sample_order(excess, problem.dim, epsilon=epsilon, reference_norm=norm),
        ),
        SampleOrder(
            "output: Monteleoni, Theorem 5",
            output_sample_order(excess, problem.dim, epsilon=epsilon, reference_norm=norm),
        ),
    ]
    if isinstance(goal, ApproxDP):
        gaussian = gaussian_output_sample_order(
            excess, problem.dim, epsilon=epsilon, delta=goal.delta, failure=FAILURE, reference_norm=norm
        )
        found.append(SampleOrder(f"output, Gaussian: Bellet, with probability {1 - 2 * FAILURE:g}", gaussian))
    return found


def _print_orders(problem: "LearningProblem", excess: float, goal: "PureDP | ApproxDP") -> None:
    """Print the theorems without constants in a table of their own."""
    from dperm.cli.output import print_paragraphs, print_table

    print_paragraphs([TITLE])
    typer.echo()
    orders = _orders(problem, excess, goal)
    rows = [(one.source, f"{float(f'{one.order.value:.2g}'):,.0f}", one.order.statement) for one in orders]
    print_table(("theorem", "order, with C = 1", "C times"), rows)
    print_paragraphs([LEGEND + (GAUSSIAN_LEGEND if any("q " in statement for *_, statement in rows) else "")])


def show_records_by_trial(
    goal: "PureDP | ApproxDP",
    columns: TableColumns,
    tables: TrialOptions,
    *,
    target_loss: float,
    method: str,
    n: int | None,
    as_json: bool,
) -> None:
    """Print the sufficient number of records by trials on synthetic tables; with ``n``, also whether n are enough."""
    from dperm.cli.output import print_json
    from dperm.planner import records_for_accuracy

    shape = tables.shape(_START if n is None else n, columns)
    methods_of(method)  # raises if the method is unknown
    with progress_bar("Running trials on synthetic data") as tell:
        found = records_for_accuracy(shape, goal, loss=target_loss, method=method, trials=tables.trials(tell))
    warn_like_a_fit(goal, n or found.n or shape.n, shape.dim)
    tried = _TriedRecords(found, shape, goal, columns, n)
    if as_json:
        print_json(tried.as_dict())
    else:
        _print_by_trial(tried)


@dataclass(frozen=True)
class _TriedRecords:
    """Number of records by trials; ``n`` is the number to compare with, None without --n."""

    records: "RecordsByTrial"
    shape: "Shape"
    goal: "PureDP | ApproxDP"
    columns: TableColumns
    n: int | None

    @property
    def enough(self) -> bool | None:
        """Whether n records are enough by trials; None without --n, or if trials cannot tell."""
        if self.n is None or self.records.cannot_tell:
            return None
        return self.records.n is not None and self.n >= self.records.n

    def as_dict(self) -> dict[str, object]:
        """Return the numbers as JSON-serialisable data."""
        from dperm.privacy.guarantee import guarantee_as_dict

        compared = {} if self.n is None else {"n": self.n, "enough": self.enough}
        return {"guarantee": guarantee_as_dict(self.goal), "records": self.records.as_dict(), **compared}

    @property
    def verdict(self) -> list[str]:
        """Sentence on whether n records are enough; empty without --n, or if trials cannot tell."""
        if self.n is None or self.records.cannot_tell:
            return []
        return [f"{self.n:,} records {'suffice' if self.enough else 'do not suffice'} in these trials."]

    @property
    def trials(self) -> str:
        """Number of trials, their seed and the size of the tables."""
        points = self.records.points
        most = max(one.expected.simulated_at for one in points)
        least = min(one.expected.repeats for one in points)
        text = f"{least} or more for each number of records, seed {points[0].expected.seed}"
        if all(one.expected.simulated_at >= one.at for one in points):
            return text
        return f"{text}; on at most {most:,} records, with an epsilon that gives the noise the same relative size"


def _print_by_trial(tried: _TriedRecords) -> None:
    from dperm.cli.fit_report import format_guarantee
    from dperm.cli.output import below, print_facts, print_paragraphs, print_table
    from dperm.planner.outlook import MADE_UP, shown_loss

    records = tried.records
    typer.echo(f"Accuracy lost to privacy by number of records, target at most {records.loss:g}; no data were read.\n")
    rows = [
        (
            f"{point.at:,.0f}",
            f"{point.expected.mean:.3f}",
            format_interval(point.expected),
            f"{shown_loss(point.expected):.3f}",
        )
        for point in sorted(records.points, key=lambda point: point.at)
    ]
    print_table(("records", "expected accuracy", "95 % interval", "lost to privacy"), rows)
    public = below(assumptions(tried.shape, tried.columns, tried=True))
    print_facts([("guarantee", format_guarantee(tried.goal)), ("assumed", public), ("trials", tried.trials)])
    print_paragraphs([*tried.verdict, describe_reason(records.fact), describe_reason(MADE_UP)])
