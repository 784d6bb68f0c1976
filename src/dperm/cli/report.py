# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm report``: one page that says what a model's guarantee is."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.model_options import Force, ModelFile
from dperm.cli.options import AsJson
from dperm.cli.running import VIOLATION, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.schema import Schema
    from dperm.privacy import PrivacyProfile
    from dperm.report import Statement

SUFFIXES = (".html", ".md", ".json")
HELP = """The privacy statement of MODEL: what is promised, to whom, from what, and what is not.

A page (.html, without any outside request), Markdown (.md) or data (.json), by the end of the name. What only you can
know, such as the curator and the reason for epsilon, comes from --fields, a TOML file with a line for each; what is
missing is marked as a gap. --draft-fields writes such a file to be filled in, with a hint for every gap. The statement
rates the protection as strong, moderate or weak by the success of the best attacker, once every required field is
stated. --audit puts what dperm audit model has found into the statement, whatever it is; audits of other models are
refused. If an audit has refuted the claim, the statement says so first, and the exit code is 5.

\b
Examples:
  dperm report model.dperm -o statement.html
  dperm report model.dperm -o statement.md --fields fields.toml --audit audit.json
  dperm report model.dperm --draft-fields draft.toml --json
"""


def report(
    model: ModelFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", show_default=False, help="A .html, .md or .json.")
    ] = None,
    fields: Annotated[
        Path | None, typer.Option("--fields", metavar="FILE", show_default=False, help="Your own fields, as TOML.")
    ] = None,
    draft_fields: Annotated[
        Path | None,
        typer.Option("--draft-fields", metavar="FILE", show_default=False, help="Write a draft for --fields."),
    ] = None,
    audit: Annotated[
        list[Path] | None,
        typer.Option(
            "--audit", metavar="FILE", show_default=False, help="What dperm audit model --out wrote; may be repeated."
        ),
    ] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Write the statement of a model."""
    with reported_errors():
        from dperm.cli.fields_draft import fields_draft as drafted
        from dperm.cli.output import print_json
        from dperm.cli.paths import require_free
        from dperm.report import write_statement
        from dperm.report.whole_file import write_text

        inputs = (model, *([fields] if fields else []), *(audit or ()))
        for option, path in {"-o": output, "--draft-fields": draft_fields}.items():
            if path is not None:
                require_free(option, path, force=force, inputs=inputs)
        _require_outputs(output, draft_fields)
        statement, profile = _statement(model, {} if fields is None else _stated(fields), audit or ())
        if draft_fields is not None:
            write_text(draft_fields, drafted(statement.gaps))
        if output is not None:
            write_statement(output, statement, profile, overwrite=True)  # require_free has asked
        if json:
            print_json(_as_data(output, draft_fields, statement))
        else:
            _say(output, draft_fields, statement)
        if statement.is_refuted:
            raise typer.Exit(VIOLATION)


def _require_outputs(output: Path | None, draft: Path | None) -> None:
    if output is None and draft is None:
        raise ParameterError("-o is missing: the statement to write, such as -o statement.html; or --draft-fields.")
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"-o: {output} must end in {', '.join(SUFFIXES)}: that says what is written.")


def _statement(
    model: Path, stated: Mapping[str, object], audits: Sequence[Path]
) -> "tuple[Statement, PrivacyProfile | None]":
    """The statement of a model, with what was declared in its schema, what the user states, and audits of it."""
    from dperm.cli.audit.files import read_audits
    from dperm.sklearn.files import load_stored

    stored = load_stored(model)
    declared = None if stored.schema is None else _domain(stored.schema)
    statement = stored.estimator.statement_.filled(stated, declared=declared)
    return statement.audited(read_audits(audits, stored.estimator)), stored.estimator.profile_


def _as_data(output: Path | None, draft: Path | None, statement: "Statement") -> dict[str, object]:
    drafted = {} if draft is None else {"fields": str(draft)}
    file = None if output is None else str(output)
    verdict = {"private": statement.is_private, "refuted": statement.is_refuted, "status": statement["status"]}
    rating = {"headline": statement.headline.as_dict(), "required_gaps": list(statement.required_gaps)}
    return {"file": file, **drafted, **verdict, **rating, "gaps": list(statement.gaps)}


def _say(output: Path | None, draft: Path | None, statement: "Statement") -> None:
    """What was written, and what is left to state."""
    from dperm.report.audits_in_short import refutation

    if draft is not None:
        typer.echo(f"Written: {draft}. Fill it in, then give it to --fields.")
    if output is None:
        return
    typer.echo(f"Written: {output}. {_headline(statement)}")
    if statement.is_refuted:
        typer.echo(refutation(statement.fields))
    gaps = statement.gaps
    if gaps:
        count = f"{len(gaps)} gap{'s' if len(gaps) > 1 else ''}"
        typer.echo(f"{count} that only you can fill, in --fields (--draft-fields writes a draft): {', '.join(gaps)}.")


def _headline(statement: "Statement") -> str:
    """Protection level with the attacker's success; of other statements, the status."""
    from dperm.report.headline import headline_sentences, headline_title

    if not statement.is_private:
        return str(statement["status"])
    return f"{headline_title(statement.fields)}. {' '.join(headline_sentences(statement.fields))}"


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
