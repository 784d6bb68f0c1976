# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan --target-loss``: how many records until privacy costs little accuracy, by trials on made-up data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from dperm.cli.option_names import describe_reason
from dperm.cli.plan.asked import goal_of, methods_of, shape_of, trials_of, warn_as_a_fit
from dperm.cli.plan.columns import Columns
from dperm.cli.plan.given import Given
from dperm.cli.running import progress_bar

if TYPE_CHECKING:
    from dperm.planner import RecordsByTrial, Shape
    from dperm.privacy import ApproxDP, PureDP

_START = 10_000  # records, where none were named


def tell_loss(given: Given) -> None:
    """Try and print."""
    from dperm.cli.output import print_json

    tried = _Tried.of(given)
    if given.output.json:
        print_json(tried.as_dict())
    else:
        _print(tried)


@dataclass(frozen=True)
class _Tried:
    """What trials have shown; ``n`` is the number that was asked about, None if none was."""

    records: "RecordsByTrial"
    shape: "Shape"
    goal: "PureDP | ApproxDP"
    columns: Columns
    n: int | None

    @classmethod
    def of(cls, given: Given) -> "_Tried":
        """Check, and try."""
        from dperm.planner import records_for_accuracy

        goal, declared, loss = goal_of(given), given.declared, given.question.target_loss
        start = _START if declared.n is None else declared.n
        columns = Columns.of(given)
        shape = shape_of(given, start, columns)
        methods_of(given)  # is checked
        assert loss is not None
        with progress_bar("Trying on made-up data") as tell:
            found = records_for_accuracy(
                shape, goal, loss=loss, method=given.promise.method or "auto", trials=trials_of(given, tell)
            )
        warn_as_a_fit(goal, declared.n or found.n or shape.n, shape.dim)
        return cls(found, shape, goal, columns, declared.n)

    @property
    def enough(self) -> bool | None:
        """Whether the number that was asked about is enough, by trials."""
        if self.n is None or self.records.cannot_tell:
            return None
        return self.records.n is not None and self.n >= self.records.n

    def as_dict(self) -> dict[str, object]:
        """As JSON takes it."""
        from dperm.privacy.guarantee import guarantee_as_dict

        asked = {} if self.n is None else {"n": self.n, "enough": self.enough}
        return {"guarantee": guarantee_as_dict(self.goal), "records": self.records.as_dict(), **asked}


def _print(tried: _Tried) -> None:
    from dperm.cli.fit_report import guarantee_in_words
    from dperm.cli.output import below, print_facts, print_paragraphs, print_table
    from dperm.cli.plan.outlook_text import assumed, interval
    from dperm.planner.sentences import MADE_UP, shown_loss

    records = tried.records
    typer.echo(f"Rows until privacy costs {records.loss:g} of accuracy; no data were read.\n")
    rows = [
        (
            f"{point.at:,.0f}",
            f"{point.expected.mean:.3f}",
            interval(point.expected),
            f"{shown_loss(point.expected):.3f}",
        )
        for point in sorted(records.points, key=lambda point: point.at)
    ]
    print_table(("rows", "expected accuracy", "95 % interval", "lost to privacy"), rows)
    public = below(assumed(tried.shape, tried.columns, tried=True))
    facts = [("guarantee", guarantee_in_words(tried.goal)), ("assumed", public), ("trials", _trials(records))]
    print_facts(facts)
    print_paragraphs([*_verdict(tried), describe_reason(records.fact), MADE_UP])


def _trials(records: "RecordsByTrial") -> str:
    """How many at the least, and on which tables."""
    each = [point.expected for point in records.points]
    most, least = max(one.simulated_at for one in each), min(one.repeats for one in each)
    smaller = any(one.simulated_at < point.at for one, point in zip(each, records.points, strict=True))
    said = f"{least} or more for each number of rows, seed {each[0].seed}"
    if not smaller:
        return said
    return f"{said}; on at most {most:,} rows, with an epsilon that makes the noise as large beside them"


def _verdict(tried: _Tried) -> list[str]:
    if tried.n is None or tried.records.cannot_tell:
        return []
    return [f"{tried.n:,} rows are {'enough' if tried.enough else 'not enough'}, by these trials."]
