# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Request of ``dperm schema fit``: a schema found privately, charged to a ledger, and its file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from dperm.cli.prepared_fit import require_noise
from dperm.cli.running import spinner
from dperm.errors import AssumptionError, EventFormatError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.cli.charging import Account, ContentCheck
    from dperm.cli.prepared_columns import PreparedColumns
    from dperm.data.schema import Schema
    from dperm.preparation import PreparationPlan, PreparedTable
    from dperm.privacy import Release

RELEASE = "# release: "
"""Start of the line of a schema file with the facts of its release: guarantee, seed, ledger entry."""
RECEIPT = "# receipt: "
"""Start of the line of a schema file with the receipt of its charge."""
SEEDED = "none: NOT PRIVATE, because the noise was drawn from a seed"
MOST_CLASSES = 100
HEAD = """\
# Schema found privately by "dperm schema fit": kinds, ranges, bins, categories and labels of the prepared columns.
# It is a separate release, with the guarantee below. A later fit with this schema has another guarantee, and both
# add up. You may edit the comments, except the lines of the release and the receipt, which later commands read.
#
"""

HEAD_WITHOUT_MODEL = """\
# Schema found privately by "dperm fit --prepare": kinds, ranges, bins and categories of the prepared columns.
# The labels did not stand out from the noise, so there is no model. The guarantee below was charged for schema and
# model together. A later fit with this schema has another guarantee, and both add up. You may edit the comments,
# except the lines of the release and the receipt, which later commands read.
#
"""


@dataclass(frozen=True, kw_only=True)
class SchemaFitRequest:
    """A private preparation of a table.

    Attributes
    ----------
    columns
        Public names of the columns, with the declared ones.
    task
        "classification" or "regression" for a target to prepare; None without one.
    most_classes
        Upper limit on the number of classes; it must be public. None for `MOST_CLASSES`.
    seed
        Makes the result reproducible and NOT PRIVATE; None for noise from the operating system.
    """

    noun: ClassVar[str] = "schema"
    output: ClassVar[str] = "-o"
    columns: "PreparedColumns"
    task: str | None
    epsilon: float
    delta: float
    adjacency: str
    most_classes: int | None
    n: int | None = None
    seed: int | None = None

    @cached_property
    def _plan(self) -> "PreparationPlan":
        from dperm import checks
        from dperm.preparation import PreparationPlan, TargetKind
        from dperm.sklearn.parameters import goal_of

        require_noise(self.epsilon)
        columns = self.columns
        goal = goal_of(self.epsilon, self.delta, self.adjacency)
        assert goal is not None  # epsilon is finite
        most = MOST_CLASSES if self.most_classes is None else self.most_classes
        rule = "It is the upper limit on the number of classes, at least 2, and must be public."
        return PreparationPlan.for_goal(
            [name for name in columns.features if name not in columns.declared],
            goal,
            target=None if self.task is None else columns.target,
            task=None if self.task is None else TargetKind(self.task),
            declared=columns.declared,
            most_classes=checks.count("most_classes", most, rule, least=2, most=1000),
        )

    def plan(self) -> "PreparationPlan":
        """Return the plan, which needs no data."""
        return self._plan

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data."""
        return True

    @property
    def options(self) -> Mapping[str, object]:
        """Options by name, to which a request id is bound."""
        columns = self.columns
        return {
            "schema": None if columns.schema is None else columns.schema.digest,
            "target": columns.target,
            "columns": list(columns.features),
            "task": self.task,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "estimator": "PrivateTableEncoder",
            "most-classes": self.most_classes,
            "seed": self.seed,
            "separator": self.columns.separator,
        }

    @property
    def largest_size(self) -> int:
        """Bytes to reserve for the schema file, from public numbers."""
        return self.columns.largest_size

    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> "FittedSchema":
        """Read the prepared columns, charge the budget, and return the schema."""
        from dperm.data.canonical import row_count
        from dperm.noise import NotPrivateBits
        from dperm.preparation.plan import warn_few_records
        from dperm.privacy.public_rows import public_rows
        from dperm.sklearn import parameters

        table = self.columns.read_prepared(files[0], content)
        plan, seed = self._plan, parameters.seed_of(self.seed)
        rows = row_count(table, list(table))
        warn_few_records(plan, public_rows(plan.adjacency, self.n, rows), stacklevel=1)
        with spinner("Preparing ..."):
            release = plan.run(table, None, budget, bits=None if seed is None else NotPrivateBits(seed))
        return FittedSchema(release, self.columns)

    def stored_entry(self, path: Path) -> tuple[object, object]:
        """Return request id and digest of the receipt in a schema file; None without one."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            found = next(json.loads(line.removeprefix(RECEIPT)) for line in lines if line.startswith(RECEIPT))
            return found.get("request_id"), found.get("digest")
        except (OSError, ValueError, AttributeError, StopIteration):
            return None, None


def schema_release(path: Path) -> dict[str, object] | None:
    """Return the facts of the release in a schema file: guarantee, seed, ledger entry; None for declarations alone.

    They are comments of the file, so they are as trustworthy as the declarations in it.

    Raises
    ------
    ParameterError
        If the line of the release was edited and cannot be read.
    """
    from dperm.privacy.guarantee import guarantee_from_dict

    lines = path.read_text(encoding="utf-8").splitlines()
    text = next((line.removeprefix(RELEASE) for line in lines if line.startswith(RELEASE)), None)
    if text is None:
        return None
    try:
        found = json.loads(text)
        guarantee_from_dict(found["guarantee"])
        if not isinstance(found["is_private"], bool) or not isinstance(found.get("ledger_entry"), dict | None):
            raise ValueError
    except (ValueError, KeyError, TypeError, EventFormatError):
        raise ParameterError(
            f'{path}: the line "{RELEASE.strip()} ..." states the guarantee of this schema, and was edited: restore it.'
        ) from None
    return dict(found)


@dataclass(frozen=True)
class FittedSchema:
    """Privately found schema.

    Attributes
    ----------
    release
        Release of the preparation.
    columns
        Public names of the columns, with the declared ones.
    failure
        Error that ended a fit after the release; None if the schema is the whole result.
    """

    release: "Release[PreparedTable]"
    columns: "PreparedColumns"
    failure: AssumptionError | None = None

    @property
    def schema(self) -> "Schema":
        """Schema with declared and prepared columns, and the target if it is declared or was found."""
        from dperm.data.schema import Schema

        found = self.release.value.schema
        return Schema(found.encoder, self.columns.declared_target or found.target)

    def save(self, path: Path, *, overwrite: bool, allocated: Path | None = None) -> None:
        """Write the schema file."""
        from dperm.report.whole_file import whole_file

        with whole_file(path, overwrite=overwrite, allocated=allocated) as file:
            file.write(self.text.encode())

    @property
    def text(self) -> str:
        """Content of the schema file: comments on the release, and the schema."""
        from dperm.cli.fit_report import LEFT_OUT
        from dperm.cli.option_names import describe_reason
        from dperm.sklearn.release_facts import release_facts

        found, record = self.release.value, self.release.record
        declared = [*self.columns.declared, *([self._declared_target] if self._declared_target else [])]
        facts = {
            "guarantee": self._guarantee,
            "prepared": ", ".join(self.columns.prepared),
            "declared": ", ".join(declared),
            "left out": f"{', '.join(found.constant)}; {LEFT_OUT}" if found.constant else "",
            "WARNING": " ".join(map(describe_reason, found.warnings)),
            "records": f"about {max(found.records, 0):.0f} records, by a noisy count",
            "noise": record.noise,
            "theorems": ", ".join(record.theorems),
        }
        lines = [f"# {name}: {value}" for name, value in facts.items() if value]
        released = release_facts(record, schema_digest=self.schema.digest)
        lines.append(f"{RELEASE}{json.dumps(released, sort_keys=True)}")
        if record.ledger:
            lines.append(f"{RECEIPT}{json.dumps(dict(record.ledger), sort_keys=True)}")
        head = HEAD if self.failure is None else HEAD_WITHOUT_MODEL
        return "\n".join([f"{head}{lines[0]}", *lines[1:], "", self.schema.to_toml()])

    @property
    def _declared_target(self) -> str | None:
        target = self.columns.declared_target
        return None if target is None else target.name

    @property
    def _guarantee(self) -> str:
        from dperm.cli.fit_report import format_guarantee

        return format_guarantee(self.release.record.guarantee) if self.release.record.is_private else SEEDED

    def show(self, out: Path, account: "Account | None", *, as_json: bool) -> None:
        """Print the facts of the release."""
        from dperm.cli.fit_report import charge_data, format_budget, prepared_data, prepared_facts
        from dperm.cli.output import print_facts, print_json
        from dperm.privacy.guarantee import guarantee_as_dict

        found, record = self.release.value, self.release.record
        private, receipt = record.is_private, dict(record.ledger)
        if as_json:
            print_json(
                {
                    "file": str(out),
                    "private": private,
                    "guarantee": guarantee_as_dict(self.release.record.guarantee) if private else None,
                    "theorems": list(record.theorems),
                    "prepared": prepared_data(found),
                    "target": None if self.schema.target is None else self.schema.target.to_data(),
                    "ledger": receipt,
                    **charge_data(account),
                }
            )
            return
        typer.echo(f"Written: {out}")
        print_facts([("guarantee", self._guarantee), *prepared_facts(found), *format_budget(account, receipt)])
        if self.columns.target is not None and self.schema.target is None:
            typer.echo(f"\nThe file declares no target: {self._missing_labels}")

    @property
    def _missing_labels(self) -> str:
        return (
            "its labels do not stand out from the noise. If it is a number, use --task regression; otherwise "
            "declare its classes in the file, in a [target] table."
        )
