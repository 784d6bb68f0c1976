# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan expect``: noise, proved bounds and expected accuracy of each method."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.public_numbers import TableColumns, TrialOptions, methods_of, warn_like_a_fit
from dperm.cli.running import progress_bar
from dperm.errors import AssumptionError, ParameterError

if TYPE_CHECKING:
    from dperm.planner import Curves, ExpectedAccuracy, MethodOutlook, Outlook, Shape
    from dperm.privacy import ApproxDP, PureDP
    from dperm.privacy.guarantee import AnyGuarantee
    from dperm.theory import MethodBound

TAGS = "T57 and similar tags denote theorems, proved in docs/theory"
PUBLIC_NUMBERS = "these numbers are treated as public: none of them may be derived from private data"
_TABLE_SHARE = 0.4  # of the progress bar; the rest is for the plot
_HEADERS = ("method", "noise", "proved: excess risk at most", "expected accuracy", "95 % interval")
_ABSENT = "-"
_GAMMA = (
    "gamma-norm noise: a uniformly random direction and a gamma-distributed length; multivariate Laplace (L2) noise"
)


@dataclass(frozen=True)
class OutlookOptions:
    """Options of the expected accuracy; None where an option is left out."""

    method: str | None
    reference_norm: float | None
    no_trials: bool
    tables: TrialOptions
    schema: Path | None
    plot: Path | None
    force: bool

    def request(self, shape: "Shape", goal: "PureDP | ApproxDP", columns: TableColumns) -> "OutlookRequest":
        """Return the request after all checks; nothing is computed yet."""
        from dperm.cli.output_files import require_picture

        trial_options = {"--plot": self.plot, "--quick": self.tables.quick, "--seed": self.tables.seed is not None}
        for option, value in trial_options.items():
            if self.no_trials and value:
                raise ParameterError(f"{option} belongs to trials, and --no-trials leaves them out. Leave one out.")
        request = OutlookRequest(self, shape, goal, methods_of(self.method), columns)
        self.tables.trials()  # raises if an option is invalid
        shape.problem(request.reference_norm)
        require_picture("--plot", self.plot, force=self.force, inputs=[] if self.schema is None else [self.schema])
        return request


@dataclass(frozen=True)
class OutlookRequest:
    """A checked request for an outlook."""

    options: OutlookOptions
    shape: "Shape"
    goal: "PureDP | ApproxDP"
    methods: tuple[str, ...]
    columns: TableColumns

    @property
    def reference_norm(self) -> float:
        """Norm of the reference model in the bounds; 1 by default."""
        return 1.0 if self.options.reference_norm is None else self.options.reference_norm

    def result(self) -> "OutlookResult":
        """Compute bounds, trials unless they are left out, and the plot."""
        from dperm.planner import curves, outlook

        drawn, options, plot = None, self.options, self.options.plot
        share = 1.0 if plot is None else _TABLE_SHARE
        with progress_bar("Running trials on synthetic data") as tell:
            found = outlook(
                self.shape,
                self.goal,
                methods=self.methods,
                reference_norm=self.reference_norm,
                trials=options.tables.trials(lambda done: tell(share * done)),
                simulate=not options.no_trials,
            )
            if plot is not None:
                trials = options.tables.trials(lambda done: tell(share + (1 - share) * done))
                drawn = curves(self.shape, self.goal, method=options.method or "auto", trials=trials)
        if drawn is not None and plot is not None:
            _draw(drawn, plot)
        return OutlookResult(found, drawn, plot, self.columns)


@dataclass(frozen=True)
class OutlookResult:
    """An outlook with its curves, and the file of their plot, if one was requested."""

    outlook: "Outlook"
    curves: "Curves | None"
    file: Path | None
    columns: TableColumns

    def as_dict(self) -> dict[str, object]:
        """Return the result as JSON-serialisable data."""
        drawn = {} if self.curves is None else {"curves": self.curves.as_dict(), "file": str(self.file)}
        return {"outlook": self.outlook.as_dict(), **drawn}


def show_outlook(request: OutlookRequest, *, as_json: bool) -> None:
    """Compute and print an outlook.

    Raises
    ------
    AssumptionError
        If no method gives the guarantee.
    """
    from dperm.cli.output import print_json
    from dperm.privacy.guarantee import guarantee_as_dict

    warn_like_a_fit(request.goal, request.shape.n, request.shape.dim)
    result = request.result()
    _require_an_answer(result.outlook)
    if as_json:
        print_json({"guarantee": guarantee_as_dict(request.goal), **result.as_dict()})
    else:
        print_outlook(result)


def _require_an_answer(found: "Outlook") -> None:
    refusals = [row.refusal for row in found.rows if row.refusal is not None]
    if len(refusals) == len(found.rows):
        raise AssumptionError(" ".join(dict.fromkeys(map(describe_reason, refusals))))


def _draw(drawn: "Curves", path: Path) -> None:
    """Plot accuracy over n and over epsilon, side by side."""
    from matplotlib.figure import Figure

    from dperm.report.pictures import draw

    figure = Figure(figsize=(11.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw(drawn.over_n, left)
    draw(drawn.over_epsilon, right)
    figure.savefig(path, dpi=110)


def print_outlook(result: OutlookResult) -> None:
    """Print the table, its assumptions and the sentences."""
    from dperm.cli.output import print_facts, print_paragraphs, print_table

    found, encoded = result.outlook, " as the schema encodes them" if result.columns.encoded else ""
    typer.echo(f"Outlook for {found.shape.n:,} records with {_columns(found.shape)}{encoded}; no data were read.\n")
    columns = len(_HEADERS) if _was_tried(found) else 3
    print_table(_HEADERS[:columns], [_row(row)[:columns] for row in found.rows])
    print_facts(_facts(found, result.columns))
    print_paragraphs(map(describe_reason, found.facts))
    if result.file is not None:
        typer.echo(f"\nWritten: {result.file}")


def _was_tried(found: "Outlook") -> bool:
    return any(row.expected is not None for row in found.rows)


def _columns(shape: "Shape") -> str:
    from dperm.planner.outlook import describe_columns

    return describe_columns(shape)


def _row(row: "MethodOutlook") -> tuple[str, ...]:
    name = row.method if row.used in (row.method, "") else f"{row.method}: {row.used}"
    if row.refused:
        return name, "does not apply", _ABSENT, _ABSENT, _ABSENT
    noise = _ABSENT if row.noise is None else f"{row.noise:.3g}"
    return name, noise, _proved(row.proved), *_expected(row.expected)


def _proved(proved: "MethodBound | None") -> str:
    from dperm.presentation.numbers import format_up

    if proved is None:
        return "no bound"
    return f"{format_up(proved.bound, 3)}{', vacuous' if proved.says_nothing else ''} ({', '.join(proved.tags)})"


def _expected(expected: "ExpectedAccuracy | None") -> tuple[str, str]:
    if expected is None:
        return _ABSENT, _ABSENT
    return f"{expected.mean:.3f}", format_interval(expected)


def format_interval(expected: "ExpectedAccuracy") -> str:
    """Return the interval of the mean, with ends rounded outwards to three decimals."""
    return f"[{math.floor(1000 * expected.low) / 1000:.3f}, {math.ceil(1000 * expected.high) / 1000:.3f}]"


def _facts(found: "Outlook", columns: TableColumns) -> list[tuple[str, str]]:
    from dperm.cli.fit_report import format_guarantee
    from dperm.cli.output import below

    refused = [f"{row.method}: {describe_reason(row.refusal)}" for row in found.rows if row.refusal is not None]
    public = assumptions(found.shape, columns, tried=_was_tried(found))
    return [
        ("guarantee", format_guarantee(found.goal)),
        ("assumed", below([*declared_n_note(found.goal, found.shape.n), *public])),
        *_noise(found),
        *([("proved", TAGS)] if any(row.proved is not None for row in found.rows) else []),
        *([("not used", below(refused))] if refused else []),
        *_trials(found),
    ]


def _noise(found: "Outlook") -> list[tuple[str, str]]:
    """Return the noise by method, with the common properties in one line."""
    from dperm.cli.output import below

    names, applied = {row.method for row in found.rows}, [row for row in found.rows if row.noise is not None]
    kinds = [(row.noise_family, row.method) for row in applied if row.used == row.method or row.used not in names]
    if not kinds:
        return []
    short = _grouped(kinds)
    lines = ["standard deviation of each coordinate; all noise is rounded to a fine grid and drawn exactly", *short]
    return [("noise", below([*lines, *([_GAMMA] if any("gamma-norm" in line for line in short) else [])]))]


def assumptions(shape: "Shape", columns: TableColumns, *, tried: bool) -> list[str]:
    """Return the public numbers behind a result; trials need more of them than bounds."""
    from dperm.planner.simulated_data import REMOVED

    rule = (
        f"not declared; by a rule of thumb, the best model avoids {100 * REMOVED:.0f} % of the errors made by always "
        f"guessing the larger class"
    )
    baseline = rule if shape.baseline is None else f"{shape.baseline:g}, as declared"
    lines = (
        [f"{100 * shape.balance:g} % of the records are in the positive class", f"accuracy without privacy: {baseline}"]
        if tried
        else []
    )
    return [
        f"{_columns(shape)}, rows of norm at most {shape.feature_norm:g}",
        *columns.note,
        *lines,
        PUBLIC_NUMBERS,
    ]


def declared_n_note(goal: "AnyGuarantee", n: int | None) -> list[str]:
    """Return, under add_remove, a reminder to declare the same n to ``dperm fit``; otherwise nothing."""
    from dperm.privacy import Adjacency

    if n is None or goal.adjacency is Adjacency.REPLACE_ONE:
        return []
    return [
        f"n = {n:,}, as declared. Pass --n {n} to dperm fit as well; without it, dperm fit treats n as unknown, and "
        f"its plan may differ"
    ]


def _trials(found: "Outlook") -> list[tuple[str, str]]:
    from dperm.cli.output import below

    tried = [row.expected for row in found.rows if row.expected is not None]
    if not tried:
        return []
    most = tried[0]  # the one that the first sentence is about
    plain = f"without privacy {most.without_privacy:.3f}, always guessing the larger class {most.majority:.3f}"
    tables = [(f"{one.repeats} synthetic tables of {one.simulated_at:,} records", one.method) for one in tried]
    return [("accuracy", plain), ("trials", below([*_grouped(tables), f"seed {most.seed}"]))]


def _grouped(facts: list[tuple[str, str]]) -> list[str]:
    """Return one line per fact, with the methods that share it in front."""
    methods: dict[str, list[str]] = {}
    for fact, method in facts:
        methods.setdefault(fact, []).append(method)
    return [f"{', '.join(names)}: {fact}" for fact, names in methods.items()]
