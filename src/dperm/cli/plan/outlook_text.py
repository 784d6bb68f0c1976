# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What to expect, as a table and in sentences: what is proved, what was tried, and what neither says."""

import math
import re
from typing import TYPE_CHECKING

import typer

from dperm.cli.option_names import describe_reason

if TYPE_CHECKING:
    from dperm.cli.plan.columns import Columns
    from dperm.cli.plan.outlook import Seen
    from dperm.planner import Expected, MethodOutlook, Outlook, Shape
    from dperm.privacy.guarantee import AnyGuarantee
    from dperm.theory import MethodBound

_HEADERS = ("method", "noise", "proved: excess risk at most", "expected accuracy", "95 % interval")
_ABSENT = "-"
_GRID = re.compile(r",? rounded to the grid 2\^-?\d+(, drawn exactly)?")
_GAMMA = "gamma norm: an even direction, and a length that follows a gamma law; Laplace noise for vectors"
TAGS = "T57 and so on are theorems, with their proofs in docs/theory"


def print_outlook(seen: "Seen") -> None:
    """The table, the facts that it rests on, and the sentences."""
    from dperm.cli.output import print_facts, print_paragraphs, print_table

    found, encoded = seen.outlook, " as the schema encodes them" if seen.columns.encoded else ""
    typer.echo(f"What to expect of {found.shape.n:,} rows with {_columns(found.shape)}{encoded}; no data were read.\n")
    columns = len(_HEADERS) if _was_tried(found) else 3
    print_table(_HEADERS[:columns], [_row(row)[:columns] for row in found.rows])
    print_facts(_facts(found, seen.columns))
    print_paragraphs(map(describe_reason, found.facts))
    if seen.file is not None:
        typer.echo(f"\nWritten: {seen.file}")


def _was_tried(found: "Outlook") -> bool:
    return any(row.expected is not None for row in found.rows)


def _columns(shape: "Shape") -> str:
    from dperm.planner.sentences import columns_in_words

    return columns_in_words(shape)


def _row(row: "MethodOutlook") -> tuple[str, ...]:
    name = row.method if row.used in (row.method, "") else f"{row.method}: {row.used}"
    if row.refused:
        return name, "does not apply", _ABSENT, _ABSENT, _ABSENT
    return name, *_planned(row), *_expected(row.expected)


def _planned(row: "MethodOutlook") -> tuple[str, str]:
    return (_ABSENT if row.noise is None else f"{row.noise:.3g}"), _proved(row.proved)


def _proved(proved: "MethodBound | None") -> str:
    from dperm.report.numbers import rounded_up

    if proved is None:
        return "no bound"
    return f"{rounded_up(proved.bound, 3)}{', says nothing' if proved.says_nothing else ''} ({', '.join(proved.tags)})"


def _expected(expected: "Expected | None") -> tuple[str, str]:
    if expected is None:
        return _ABSENT, _ABSENT
    return f"{expected.mean:.3f}", interval(expected)


def interval(expected: "Expected") -> str:
    """Its ends, rounded outwards."""
    return f"[{math.floor(1000 * expected.low) / 1000:.3f}, {math.ceil(1000 * expected.high) / 1000:.3f}]"


def _facts(found: "Outlook", columns: "Columns") -> list[tuple[str, str]]:
    from dperm.cli.fit_report import guarantee_in_words
    from dperm.cli.output import below

    refused = [f"{row.method}: {describe_reason(row.refusal)}" for row in found.rows if row.refusal is not None]
    return [
        ("guarantee", guarantee_in_words(found.goal)),
        (
            "assumed",
            below(
                [*declared_to_fit(found.goal, found.shape.n), *assumed(found.shape, columns, tried=_was_tried(found))]
            ),
        ),
        *_noise(found),
        *([("proved", TAGS)] if any(row.proved is not None for row in found.rows) else []),
        *([("not used", below(refused))] if refused else []),
        *_trials(found),
    ]


def _noise(found: "Outlook") -> list[tuple[str, str]]:
    """What is drawn, by method, with what all of them have in common said once."""
    from dperm.cli.output import below

    names, applied = {row.method for row in found.rows}, [row for row in found.rows if row.noise is not None]
    kinds = [(row.noise_kind, row.method) for row in applied if row.used == row.method or row.used not in names]
    if not kinds:
        return []
    short = _grouped([(_GRID.sub("", kind), method) for kind, method in kinds])
    lines = ["standard deviation of each coordinate; all of it is rounded to a fine grid and drawn exactly", *short]
    return [("noise", below([*lines, *([_GAMMA] if any("gamma norm" in line for line in short) else [])]))]


def assumed(shape: "Shape", columns: "Columns", *, tried: bool) -> list[str]:
    """The public numbers that all of it follows from; trials need more of them than bounds."""
    from dperm.planner.signal import REMOVED

    rule = f"a rule, {REMOVED:.0%} of the errors of guessing the larger class can be avoided"
    believed = rule if shape.baseline is None else f"{shape.baseline:g}, as declared"
    lines = [f"{shape.balance:g} of the rows are positive", f"accuracy without privacy: {believed}"] if tried else []
    return [
        f"{_columns(shape)}, rows of norm at most {shape.feature_norm:g}",
        *columns.note,
        *lines,
        "these numbers are taken as public: none of them may be read off private data",
    ]


def declared_to_fit(goal: "AnyGuarantee", n: int | None) -> list[str]:
    """Under add_remove: that a fit plans the same only if the same n is declared to it."""
    from dperm.privacy import Adjacency

    if n is None or goal.adjacency is Adjacency.REPLACE_ONE:
        return []
    return [f"{n:,} records are declared: give --n {n} to dperm fit too, which otherwise plans without a number"]


def _trials(found: "Outlook") -> list[tuple[str, str]]:
    from dperm.cli.output import below

    tried = [row.expected for row in found.rows if row.expected is not None]
    if not tried:
        return []
    most = tried[0]  # the one that the first sentence is about
    plain = f"without privacy {most.without_privacy:.3f}, always the larger class {most.majority:.3f}"
    tables = [(f"{one.repeats} made-up tables of {one.simulated_at:,} rows", one.method) for one in tried]
    return [("accuracy", plain), ("trials", below([*_grouped(tables), f"seed {most.seed}"]))]


def _grouped(facts: list[tuple[str, str]]) -> list[str]:
    """A line for each fact, with all methods that it is about in front of it."""
    methods: dict[str, list[str]] = {}
    for fact, method in facts:
        methods.setdefault(fact, []).append(method)
    return [f"{', '.join(names)}: {fact}" for fact, names in methods.items()]
