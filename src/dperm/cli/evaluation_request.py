# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Request of ``dperm evaluate``: private metrics of a saved model, charged to a ledger, and their file."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from dperm.cli.declared_groups import groups_text
from dperm.cli.running import progress_bar, spinner
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.cli.charging import Account, ContentCheck
    from dperm.data.schema import AnySchema
    from dperm.evaluation import EvaluationPlan, Metrics
    from dperm.privacy import Release

SUFFIXES = (".json", ".html", ".md")
SEEDED = "none: NOT PRIVATE, because the noise was drawn from a seed"
_RECEIPT = re.compile(r"^<!-- receipt: (.*) -->$", re.MULTILINE)
_PAGE_SIZE, _CELL_SIZE = 2**20, 2**8
"""Bytes reserved for a page with its plots, and for each released number."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """A private evaluation of a saved model.

    Attributes
    ----------
    path
        Model file.
    estimator, schema
        Model and schema of the file.
    target
        Column with the true labels.
    groups
        Public groups of one column; None for none.
    positive
        Class of the curves; None for the default of the evaluation.
    bins
        Number of score bins, or "auto".
    level
        Nominal coverage of the intervals.
    seed
        Makes the metrics reproducible and NOT PRIVATE; None for noise from the operating system.
    separator
        Separator of the cells of a CSV file.
    """

    noun: ClassVar[str] = "evaluation"
    output: ClassVar[str] = "-o"
    path: Path
    estimator: Any
    schema: "AnySchema"
    target: str
    epsilon: float
    delta: float
    adjacency: str
    groups: Mapping[str, tuple[str, ...]] | None = None
    positive: Any = None
    bins: int | str = "auto"
    level: float = 0.95
    seed: int | None = None
    separator: str = ","

    @cached_property
    def metrics(self) -> Any:
        """The `PrivateMetrics` of the request, before the evaluation."""
        from dperm.sklearn import PrivateMetrics

        return PrivateMetrics(
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self.adjacency,
            groups=self.groups,
            positive=self.positive,
            bins=self.bins,
            level=self.level,
            random_state=self.seed,
        )

    @cached_property
    def _plan(self) -> "EvaluationPlan":
        found: EvaluationPlan = self.metrics.plan(self.estimator)
        return found

    def plan(self) -> "EvaluationPlan":
        """Return the plan, which needs no data: the number of records changes neither noise nor event."""
        return self._plan

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data."""
        return True

    @cached_property
    def options(self) -> Mapping[str, object]:
        """Options by name, to which a request id is bound."""
        return {
            "evaluate": True,
            "model": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "target": self.target,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "groups": None if self.groups is None else groups_text(self.groups),
            "positive": self.positive,
            "bins": self.bins,
            "level": self.level,
            "seed": self.seed,
            "separator": self.separator,
        }

    @property
    def largest_size(self) -> int:
        """Bytes to reserve for the file, from public numbers."""
        return _PAGE_SIZE + _CELL_SIZE * self._plan.cells

    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> "FinishedEvaluation":
        """Read the records, charge the budget, and return the metrics."""
        from dperm.cli.encoding import model_input
        from dperm.data.files import read_raw_table, read_table

        data, column = files[0], None if self.groups is None else next(iter(self.groups))
        raw = dict.fromkeys([self.target, *([] if column is None else [column])])
        with progress_bar(f"Reading {data.name}") as progress, content.reading() as watch:
            exact = read_raw_table(data, raw, progress, watch, separator=self.separator)
        columns = self.schema.encoder.columns
        with progress_bar(f"Reading {data.name}") as progress, content.reading() as watch:
            table = read_table(data, columns, progress, watch, unseen="other", separator=self.separator)
        with spinner("Evaluating ..."):
            features = model_input(self.schema, table)
            done = self.metrics.set_params(ledger=budget)._measure(
                self.estimator,
                features,
                exact[self.target],
                groups=None if column is None else exact[column],
                facts={"sha256_of_file": self.options["model"]},
                name=self.target,
            )
        return FinishedEvaluation(done.release_, type(self.estimator).__name__)

    def stored_entry(self, path: Path) -> tuple[object, object]:
        """Return request id and digest of the receipt in an evaluation file; None without one."""
        try:
            text = path.read_text(encoding="utf-8")
            if path.suffix.lower() == ".json":
                found = _known(json.loads(text)["fields"]["ledger_entry"])
            else:
                line = _RECEIPT.search(text)
                found = json.loads(line[1]) if line else {}
            return found.get("request_id"), found.get("digest")
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None, None


def _known(entry: Any) -> Any:
    """Return the facts of the run in a statement's ledger entry, which a curator may have added text to."""
    return entry["known"] if "known" in entry else entry


@dataclass(frozen=True)
class FinishedEvaluation:
    """Released metrics of a model.

    Attributes
    ----------
    release
        Release of the metrics.
    model
        Class of the evaluated model.
    """

    release: "Release[Metrics]"
    model: str

    @property
    def failure(self) -> None:
        """Error that ended the run after a release; an evaluation has none."""

    def save(self, path: Path, *, overwrite: bool, allocated: Path | None = None) -> None:
        """Write statement and metrics: a page with plots, Markdown or JSON, by the suffix of the file."""
        from dperm.report.whole_file import whole_file

        with whole_file(path, overwrite=overwrite, allocated=allocated) as file:
            file.write(self._content(path.suffix.lower()).encode())

    def _content(self, suffix: str) -> str:
        from dperm.report import page, statement

        found = statement(self.release)
        if suffix == ".json":
            return found.to_json(indent=1) + "\n"
        if suffix == ".md":
            text = found.to_markdown()
        else:
            text = page(found, self.release.profile if self.release.record.is_private else None)
        return f"{text}{self._receipt_line}"

    @property
    def _receipt_line(self) -> str:
        """Comment with request id and digest, by which a repeated request finds its file; empty without a ledger."""
        receipt = self.release.record.ledger
        if not receipt:
            return ""
        plain = json.dumps({name: receipt.get(name) for name in ("request_id", "digest")})
        return f"<!-- receipt: {plain.replace('<', chr(92) + 'u003c').replace('>', chr(92) + 'u003e')} -->\n"

    def show(self, out: Path, account: "Account | None", *, as_json: bool) -> None:
        """Print the facts of the evaluation and its metrics."""
        from dperm.cli.fit_report import (
            charge_data,
            format_budget,
            format_guarantee,
            print_metrics,
            protection_data,
            weak_protection,
        )
        from dperm.cli.output import print_facts, print_json
        from dperm.privacy.guarantee import guarantee_as_dict

        release, record, metrics = self.release, self.release.record, self.release.value
        private, receipt = record.is_private, dict(record.ledger)
        profile = release.profile if private else None
        if as_json:
            print_json(
                {
                    "file": str(out),
                    "model": self.model,
                    "private": private,
                    "guarantee": guarantee_as_dict(record.guarantee) if private else None,
                    "protection": protection_data(profile),
                    "adjacency": record.guarantee.adjacency.value,
                    "noise": record.noise,
                    "noise_standard_deviation": metrics.plan.noise_deviation,
                    "theorems": list(record.theorems),
                    "metrics": metrics.to_dict(),
                    "ledger": receipt,
                    **charge_data(account),
                }
            )
            return
        typer.echo(f"Written: {out}")
        print_facts(
            [
                ("model", self.model),
                ("guarantee", format_guarantee(record.guarantee) if private else SEEDED),
                ("noise", f"standard deviation {metrics.plan.noise_deviation:.3g} on each released number"),
                *weak_protection(profile),
                *format_budget(account, receipt),
            ]
        )
        print_metrics(metrics)


def checked_output(path: Path) -> Path:
    """Return the path of an evaluation file; raise ParameterError for another suffix."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"-o: {path} must end in {', '.join(SUFFIXES)}, which sets the format.")
    return path
