# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan --n --dim``: what to expect of each method, by proof and by trials on made-up data."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.asked import goal_of, methods_of, shape_of, trials_of, warn_as_a_fit
from dperm.cli.plan.columns import Columns
from dperm.cli.plan.given import Given
from dperm.cli.running import progress_bar
from dperm.errors import AssumptionError, ParameterError

if TYPE_CHECKING:
    from dperm.planner import Curves, Outlook, Shape
    from dperm.privacy import ApproxDP, PureDP

_TABLE_SHARE = 0.4  # of the progress bar; the rest is for the picture


def tell_outlook(given: Given) -> None:
    """Find out and print."""
    from dperm.cli.output import print_json
    from dperm.cli.plan.outlook_text import print_outlook
    from dperm.privacy.guarantee import guarantee_as_dict

    goal, columns = goal_of(given), Columns.of(given)
    shape = shape_of(given, given.declared.n, columns)
    wanted = Wanted.of(given, shape, goal, columns)
    warn_as_a_fit(goal, shape.n, shape.dim)
    seen = wanted.seen()
    _require_an_answer(seen.outlook)
    if given.output.json:
        print_json({"guarantee": guarantee_as_dict(goal), **seen.as_dict()})
    else:
        print_outlook(seen)


def _require_an_answer(found: "Outlook") -> None:
    """Refuse what every method refuses."""
    refusals = [row.refusal for row in found.rows if row.refusal is not None]
    if len(refusals) == len(found.rows):
        raise AssumptionError(" ".join(dict.fromkeys(map(describe_reason, refusals))))


@dataclass(frozen=True)
class Seen:
    """What was found out."""

    outlook: "Outlook"
    curves: "Curves | None"
    file: Path | None
    columns: Columns

    def as_dict(self) -> dict[str, object]:
        """As JSON takes it."""
        drawn = {} if self.curves is None else {"curves": self.curves.as_dict(), "file": str(self.file)}
        return {"outlook": self.outlook.as_dict(), **drawn}


@dataclass(frozen=True)
class Wanted:
    """What is to be found out: a checked request."""

    given: Given
    shape: "Shape"
    goal: "PureDP | ApproxDP"
    methods: tuple[str, ...]
    columns: Columns

    @classmethod
    def of(cls, given: Given, shape: "Shape", goal: "PureDP | ApproxDP", columns: Columns) -> "Wanted":
        """The request, if nothing of it has to be refused."""
        from dperm.cli.drawing import require_picture

        question, plot = given.question, given.output.plot
        for option, value in {"--plot": plot, "--quick": question.quick, "--seed": question.seed is not None}.items():
            if question.no_trials and value:
                raise ParameterError(f"{option} belongs to trials, and --no-trials leaves them out. Leave one out.")
        wanted = cls(given, shape, goal, methods_of(given), columns)
        trials_of(given)  # is checked
        shape.problem(wanted.reference_norm)
        inputs = [] if given.model.schema is None else [given.model.schema]
        require_picture("--plot", plot, force=given.output.force, inputs=inputs)
        return wanted

    @property
    def reference_norm(self) -> float:
        """Of the model that bounds compare with."""
        norm = self.given.declared.reference_norm
        return 1.0 if norm is None else norm

    def seen(self) -> Seen:
        """Bounds, trials unless they are left out, and the picture that was asked for."""
        from dperm.planner import curves, outlook

        drawn, plot = None, self.given.output.plot
        share = 1.0 if plot is None else _TABLE_SHARE
        with progress_bar("Trying on made-up data") as tell:
            found = outlook(
                self.shape,
                self.goal,
                methods=self.methods,
                reference_norm=self.reference_norm,
                trials=trials_of(self.given, lambda done: tell(share * done)),
                simulate=not self.given.question.no_trials,
            )
            if plot is not None:
                trials = trials_of(self.given, lambda done: tell(share + (1 - share) * done))
                drawn = curves(self.shape, self.goal, method=self.given.promise.method or "auto", trials=trials)
        if drawn is not None and plot is not None:
            _draw(drawn, plot)
        return Seen(found, drawn, plot, self.columns)


def _draw(drawn: "Curves", path: Path) -> None:
    """Two panels side by side."""
    from matplotlib.figure import Figure

    from dperm.report.pictures import draw

    figure = Figure(figsize=(11.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw(drawn.over_n, left)
    draw(drawn.over_epsilon, right)
    figure.savefig(path, dpi=110)
