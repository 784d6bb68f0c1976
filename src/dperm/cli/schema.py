# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm schema draft``, ``check`` and ``fit``: declarations of a table, public or found privately."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli import model_options as options
from dperm.cli.model_options import TABLE_HELP, Data, Force, Separator
from dperm.cli.options import AsJson
from dperm.cli.outcome import note_nothing_charged
from dperm.cli.running import reported_errors

if TYPE_CHECKING:
    from dperm.data.schema import AnySchema

HELP = """Draft, check or privately find the schema of a table: bounds, categories and classes in a TOML file.

\b
Examples:
  dperm schema draft data.csv --target income -o draft.toml
  dperm schema check schema.toml data.csv
  dperm schema fit data.csv --epsilon 3 --target income -o found.toml
"""
DRAFT_HELP = """Draft a schema from the column names and types of DATA, for you to fill in. No values are read.

For CSV files only the header line is read; the draft offers a numeric and a categorical declaration for each column.
For Parquet and Arrow files only the stored schema is read. A draft is not accepted as a schema until it is filled in.

\b
Examples:
  dperm schema draft data.csv
  dperm schema draft data.csv --target income -o draft.toml
  dperm schema draft data.csv --json
"""
CHECK_HELP = """Check a schema; with DATA, also check that the file has the columns of the schema.

Only names are compared; no values are read.

\b
Examples:
  dperm schema check schema.toml
  dperm schema check schema.toml data.csv
  dperm schema check schema.toml --json
"""
FIT_HELP = """Find a schema of DATA privately, charge its privacy cost to a ledger, and write the schema to a file.

The release contains the kinds (numbers or categories), ranges, bins and categories of the columns, the presence of
missing values in each column, and the labels of --target, all under one guarantee. Column names are public. Columns
declared in --schema are not read and cost nothing; --exclude leaves columns out. The output file can serve as the
schema of any number of later fits, each of which adds its own privacy cost. For a single model, "dperm fit --prepare"
finds the schema and fits the model under one guarantee. "dperm plan table" states the number of records needed.

Failures before the charge cost nothing. The charge is not refunded if a later step fails; the message states the amount
charged.

\b
Examples:
  dperm schema fit data.csv --epsilon 3 --target income --exclude name -o found.toml
  dperm schema fit data.csv --epsilon 3 --delta 1e-6 --target pay --task regression --ledger census.ledger -o pay.found
  dperm schema fit data.csv --epsilon 3 --adjacency add_remove --exclude name -o found.toml --json
"""
ADDITIVE = "additive only, because of keys that linear models do not have: dperm fit --model additive"

app = typer.Typer(name="schema", help=HELP, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Show the help if no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(help=DRAFT_HELP, short_help="Draft a schema from column names and types.")
def draft(
    data: Data,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", show_default=False, help="Column to predict.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", show_default="stdout", help="File for the draft.")
    ] = None,
    separator: Separator = ",",
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Draft the schema of a file."""
    with reported_errors():
        from dperm.cli.output import print_json
        from dperm.cli.output_files import require_free
        from dperm.data.files import table_file
        from dperm.data.schema_draft import draft as drafted
        from dperm.report.whole_file import write_text

        if output is not None:
            require_free("-o", output, force=force, inputs=(data,))
        types = table_file(data, separator=separator).types()
        text = drafted(types, target)
        if output is not None:
            write_text(output, text)
        if json:
            print_json({"file": None if output is None else str(output), "types": types, "draft": text})
        elif output is None:
            typer.echo(text, nl=False)
        else:
            typer.echo(f"Written: {output}. Fill it in, then run: dperm schema check {output}")


@app.command(help=CHECK_HELP, short_help="Check a schema and, optionally, the columns of a file.")
def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", show_default=False, help="Schema file (TOML).")],
    data: Annotated[Path | None, typer.Argument(metavar="DATA", show_default=False, help=TABLE_HELP)] = None,
    separator: Separator = ",",
    json: AsJson = False,
) -> None:
    """Check a schema, and the columns of a file."""
    with reported_errors():
        from dperm.cli.output import print_json
        from dperm.data.schema import load_schema

        found = load_schema(schema)
        unused = [] if data is None else _compared(found, data, separator)
        if json:
            print_json(_as_data(found, unused))
        else:
            _print_facts(schema, found, data, unused)


@app.command(help=FIT_HELP, short_help="Find a schema privately, and charge it to a ledger.")
def fit(
    data: Data,
    epsilon: options.Epsilon = None,
    delta: options.PositiveDelta = None,
    adjacency: options.Relation = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="COLUMN", show_default=False, help="Column to predict; its labels are found privately."
        ),
    ] = None,
    task: options.TaskName = None,
    most_classes: Annotated[
        int | None,
        typer.Option(
            "--most-classes",
            metavar="K",
            show_default="100",
            help="Upper limit on the number of classes of --target; it must be public. Only the K most frequent "
            "classes are kept.",
        ),
    ] = None,
    schema: options.SchemaFile = None,
    exclude: options.Exclude = None,
    ledger: options.LedgerPlace = None,
    account: options.AccountName = None,
    request_id: options.RequestId = None,
    separator: Separator = ",",
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File for the schema.")] = Path(
        "schema.toml"
    ),
    seed: options.Seed = None,
    not_private: Annotated[bool, typer.Option("--not-private", help="Allow --seed, which gives no guarantee.")] = False,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Find a schema, charge it and write it."""
    with reported_errors():
        from dperm.cli.interrupts import Interrupts

        with Interrupts() as interrupts, note_nothing_charged(interrupts, "schema"):
            from dperm.cli.charged_run import RunFiles, run_charged
            from dperm.cli.charging import Account, delta_of, relation_of
            from dperm.cli.fit_request import checked_privacy
            from dperm.cli.prepared_columns import prepared_columns
            from dperm.cli.prepared_fit import checked_most_classes, checked_task, refuse_options, require_noise
            from dperm.cli.schema_fit import SchemaFitRequest

            size = checked_privacy(epsilon, seed, not_private=not_private, noun="schema")
            require_noise(size)
            columns = prepared_columns(
                data, target=target, schema=schema, exclude=exclude or (), predicts=False, separator=separator
            )
            if columns.target is None:
                labels = {"--task": task, "--most-classes": most_classes}
                refuse_options(labels, "belongs to --target, which is missing.")
            kind = None if columns.target is None else checked_task(task, columns)
            charged = Account.of(ledger, account, request_id)
            request = SchemaFitRequest(
                columns=columns,
                task=None if columns.declared_target is not None else kind,
                epsilon=size,
                delta=delta_of(charged, delta),
                adjacency=relation_of(charged, adjacency),
                most_classes=None if kind is None else checked_most_classes(most_classes, kind, columns),
                seed=seed,
            )
            inputs = (data, *([schema] if schema else []), *([Path(ledger)] if ledger else []))
            files = RunFiles((data,), output, account=charged, force=force, json=json, inputs=inputs)
            run_charged(request, files, interrupts, repeatable=request_id is not None)


def _compared(schema: "AnySchema", data: Path, separator: str) -> list[str]:
    """Return the unused columns of a file; refuses a file without a declared column."""
    from dperm.data.files import require_columns, table_file

    names = list(table_file(data, separator=separator).types())
    target = {} if schema.target is None else {schema.target.name: schema.target}
    wanted = {**schema.encoder.columns, **target}
    require_columns(data, names, wanted)
    return [name for name in names if name not in wanted]


def _as_data(schema: "AnySchema", unused: list[str]) -> dict[str, object]:
    from json import loads

    known = loads(schema.to_json())
    return {
        "columns": known["encoder"]["columns"],
        "target": known["target"],
        "features": list(schema.encoder.feature_names),
        "norm": schema.encoder.norm,
        "unused": unused,
    }


def _print_facts(path: Path, schema: "AnySchema", data: Path | None, unused: list[str]) -> None:
    from dperm.cli.output import print_facts
    from dperm.data.schema import AdditiveSchema

    target, encoder = schema.target, schema.encoder
    typer.echo(f"{path} is a valid schema.")
    print_facts(
        [
            ("columns", ", ".join(encoder.columns)),
            *([("model", ADDITIVE)] if isinstance(schema, AdditiveSchema) else []),
            ("target", "not declared; a fit needs one" if target is None else _format_target(schema)),
            ("features", str(len(encoder.feature_names))),
            ("norm", f"at most {encoder.norm:.6g} for every row"),
            *([] if data is None else [(data.name, "has these columns"), ("not used", ", ".join(unused) or "none")]),
        ]
    )


def _format_target(schema: "AnySchema") -> str:
    target = schema.target
    assert target is not None
    if target.range is not None:
        return f"{target.name}, a number in [{target.range[0]:g}, {target.range[1]:g}]"
    return f"{target.name}, one of {', '.join(map(repr, target.classes or ()))}"
