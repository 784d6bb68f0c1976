# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How many records by theorems without constants (T58): set apart from what is proved with numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dperm.privacy import ApproxDP, PureDP
    from dperm.theory import LearningProblem, OrderOnly

FAILURE = 0.05
"""p of Bellet's theorem, which holds with probability 1 - 2p."""
LEGEND = (
    "R0: the norm of the model compared with, times the largest norm of a gradient; g: the excess asked for; d: "
    "coefficients; eps: epsilon."
)
GAUSSIAN_LEGEND = (
    f" p: {FAILURE:g}, half the chance that the theorem fails; q = (sqrt(d) + sqrt(2 log(1/p))) sqrt(log(1/delta))."
)
TITLE = (
    "Order only (T58): theorems of the lectures whose constants C are not published, here 1. A scale, not a bound, and "
    "no answer to how many:"
)


@dataclass(frozen=True)
class Order:
    """One such theorem."""

    source: str
    order: "OrderOnly"

    def as_dict(self) -> dict[str, object]:
        """As JSON takes it."""
        return {"source": self.source, "value": self.order.value, "statement": self.order.statement}


def orders_of(problem: "LearningProblem", excess: float, goal: "PureDP | ApproxDP") -> list[Order]:
    """The theorems that speak of this goal.

    They are stated for L = 1: a problem with gradients L times as long has a reference that is L times as long.
    """
    from dperm.privacy import ApproxDP
    from dperm.theory import gaussian_output_sample_order, objective_sample_order, output_sample_order

    norm, epsilon = problem.lipschitz * problem.reference_norm, goal.epsilon
    found = [
        Order(
            "objective: Monteleoni, Theorem 4",
            objective_sample_order(excess, problem.dim, epsilon=epsilon, reference_norm=norm),
        ),
        Order(
            "output: Monteleoni, Theorem 5",
            output_sample_order(excess, problem.dim, epsilon=epsilon, reference_norm=norm),
        ),
    ]
    if isinstance(goal, ApproxDP):
        gaussian = gaussian_output_sample_order(
            excess, problem.dim, epsilon=epsilon, delta=goal.delta, failure=FAILURE, reference_norm=norm
        )
        found.append(Order(f"output, Gaussian: Bellet, with probability {1 - 2 * FAILURE:g}", gaussian))
    return found


def print_orders(problem: "LearningProblem", excess: float, goal: "PureDP | ApproxDP") -> None:
    """A table of its own."""
    from dperm.cli.output import print_paragraphs, print_table

    print_paragraphs([TITLE])
    typer.echo()
    rows = [(one.source, _rounded(one.order.value), one.order.statement) for one in orders_of(problem, excess, goal)]
    print_table(("theorem", "order, with C = 1", "C times"), rows)
    print_paragraphs([LEGEND + (GAUSSIAN_LEGEND if any("q " in statement for *_, statement in rows) else "")])


def _rounded(value: float) -> str:
    """Two digits: there are no more in an order."""
    return f"{float(f'{value:.2g}'):,.0f}"
