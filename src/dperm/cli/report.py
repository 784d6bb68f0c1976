# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm report``: one page that says what a model's guarantee is."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.model_options import Force, Model
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.schema import Schema

SUFFIXES = (".html", ".md", ".json")
HELP = """The privacy statement of MODEL: what is promised, to whom, from what, and what is not.

A page (.html, without any outside request), Markdown (.md) or data (.json), by the end of the name. What only you can
know, such as the curator and the intended use, comes from --fields, a TOML file with a line for each; what is missing
is marked as a gap.

\b
Examples:
  dperm report model.dperm -o statement.html
  dperm report model.dperm -o statement.md --fields fields.toml
  dperm report model.dperm -o statement.json --json
"""


def report(
    model: Model,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", show_default=False, help="A .html, .md or .json.")
    ],
    fields: Annotated[
        Path | None, typer.Option("--fields", metavar="FILE", show_default=False, help="Your own fields, as TOML.")
    ] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Write the statement of a model."""
    with reported_errors():
        from dperm.cli.output import print_json
        from dperm.cli.paths import require_free
        from dperm.report import write_statement
        from dperm.sklearn.files import load_stored

        if output.suffix.lower() not in SUFFIXES:
            raise ParameterError(f"-o: {output} must end in {', '.join(SUFFIXES)}: that says what is written.")
        require_free("-o", output, force=force, inputs=(model, *([fields] if fields else [])))
        stated = {} if fields is None else _stated(fields)
        stored = load_stored(model)
        known = {} if stored.schema is None else {"data_domain": _domain(stored.schema)}
        statement = stored.estimator.statement_.filled({**known, **stated})
        write_statement(output, statement, stored.estimator.profile_)
        if json:
            print_json({"file": str(output), "private": statement.is_private})
        else:
            typer.echo(f"Written: {output}. {statement['status']}")


def _stated(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ParameterError(f"--fields: {path} must be a TOML file in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"--fields: {path} is not TOML: {error}.") from None


def _domain(schema: "Schema") -> str:
    """The domain of the data, as it was declared."""
    from dperm.data.columns import Numeric

    def of(name: str) -> str:
        column = schema.encoder.columns[name]
        if isinstance(column, Numeric):
            return f"{name}: a number in [{column.low:g}, {column.high:g}]"
        return f"{name}: one of {', '.join(map(str, column.categories))}{', or another value' * column.other}"

    target = schema.target
    rest = [] if target is None else [_target(target.name, target.classes, target.range)]
    return "as the schema declares it, enforced: " + "; ".join([*map(of, schema.encoder.columns), *rest])


def _target(name: str, classes: object, interval: object) -> str:
    ends = interval if isinstance(interval, tuple) else (0.0, 0.0)
    labels = classes if isinstance(classes, tuple) else ()
    return (
        f"{name}: one of {', '.join(map(str, labels))}" if labels else f"{name}: a number in [{ends[0]:g}, {ends[1]:g}]"
    )
