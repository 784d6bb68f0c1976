# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm report``: privacy statement of a model, and a draft of its fields."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.model_options import Force
from dperm.cli.options import AsJson
from dperm.cli.running import VIOLATION, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.privacy import PrivacyProfile
    from dperm.report import Statement

SUFFIXES = (".html", ".md", ".json")
DRAFT_HEAD = """\
# Fields that only you can fill in for this model, for: dperm report MODEL -o statement.html --fields FILE
# Remove the "# " before a line and complete it. Lines that stay commented out are marked as gaps in the statement.
# The statement rates the protection only when every line marked REQUIRED is filled in.
"""
HELP = """Write the privacy statement of MODEL: guarantee, mechanism, data, attack success and limitations.

MODEL is a model file, or a statement in JSON, such as the evaluation.json that dperm evaluate writes.

The suffix of the output file sets the format: a self-contained web page (.html), Markdown (.md) or JSON (.json).
--fields is a TOML file with the fields that only you can fill in, such as the curator and the reason for epsilon;
missing fields are marked as gaps. --draft-fields writes a draft of this file, with a hint for every gap. Once all
required fields are filled in, the statement rates the protection as strong, moderate or weak, based on an upper
bound on the success of any attack.
--audit adds the results of dperm audit model; audits of other models are rejected. If an audit has refuted the claim,
the statement begins with the refutation, and the exit code is 5.

\b
Examples:
  dperm report model.dperm -o statement.html
  dperm report model.dperm -o statement.md --fields fields.toml --audit audit.json
  dperm report model.dperm --draft-fields draft.toml --json
"""


def report(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="Model file written by dperm fit or dperm search, or a statement in JSON, such as the evaluation.json "
            "of dperm evaluate.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", show_default=False, help="File for the statement: .html, .md or .json."
        ),
    ] = None,
    fields: Annotated[
        Path | None,
        typer.Option(
            "--fields", metavar="FILE", show_default=False, help="TOML file with the fields that only you can fill in."
        ),
    ] = None,
    draft_fields: Annotated[
        Path | None,
        typer.Option(
            "--draft-fields", metavar="FILE", show_default=False, help="File for a draft of the --fields file."
        ),
    ] = None,
    audit: Annotated[
        list[Path] | None,
        typer.Option(
            "--audit",
            metavar="FILE",
            show_default=False,
            help="File written by dperm audit model --out; may be repeated.",
        ),
    ] = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Write the statement of a model."""
    with reported_errors():
        from dperm.cli.output import print_json
        from dperm.cli.output_files import require_free
        from dperm.report import write_statement
        from dperm.report.whole_file import write_text

        inputs = (model, *([fields] if fields else []), *(audit or ()))
        for option, path in {"-o": output, "--draft-fields": draft_fields}.items():
            if path is not None:
                require_free(option, path, force=force, inputs=inputs)
        _require_outputs(output, draft_fields)
        statement, profile = _statement(model, {} if fields is None else _stated(fields), audit or ())
        if draft_fields is not None:
            write_text(draft_fields, draft_of_fields(statement.gaps))
        if output is not None:
            write_statement(output, statement, profile, overwrite=True)  # require_free has checked it
        if json:
            print_json(_as_data(output, draft_fields, statement))
        else:
            _print_result(output, draft_fields, statement)
        if statement.is_refuted:
            raise typer.Exit(VIOLATION)


def draft_of_fields(gaps: Iterable[str]) -> str:
    """Return a TOML draft with a commented line for each gap; it is valid and empty as it is."""
    from dperm.report.fields import FIELDS, HINTS, REQUIRED

    hints = {name: f"{'REQUIRED: ' if name in REQUIRED else ''}{HINTS.get(name, FIELDS[name])}" for name in gaps}
    return "\n".join([DRAFT_HEAD, *(f'# {hint}\n# {name} = ""\n' for name, hint in hints.items())])


def _require_outputs(output: Path | None, draft: Path | None) -> None:
    if output is None and draft is None:
        raise ParameterError("-o is missing: the file for the statement, such as -o statement.html; or --draft-fields.")
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"-o: {output} must end in {', '.join(SUFFIXES)}, which sets the format.")


def _statement(
    model: Path, stated: Mapping[str, object], audits: Sequence[Path]
) -> "tuple[Statement, PrivacyProfile | None]":
    """Return the statement of a model, completed with its schema, the fields of the user, and audits."""
    from dperm.cli.audit.audit_files import read_audits
    from dperm.sklearn.files import load_stored

    if model.suffix.lower() == ".json":
        return _stored_statement(model, stated, audits)
    stored = load_stored(model)
    statement = stored.estimator.statement_.filled(stated)  # it names the declared columns of the stored schema
    return statement.audited(read_audits(audits, stored.estimator)), stored.estimator.profile_


def _stored_statement(
    path: Path, stated: Mapping[str, object], audits: Sequence[Path]
) -> "tuple[Statement, PrivacyProfile | None]":
    """Return a statement in JSON, completed with the fields of the user, and the profile of its event."""
    from dperm.errors import DpermError
    from dperm.report import Statement

    if audits:
        raise ParameterError(f"--audit belongs to a model, and {path} is a statement. Leave it out.")
    try:
        statement = Statement.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ParameterError(f"{path} cannot be read: {reason}.") from None
    except DpermError as error:
        raise ParameterError(f"{path}: {error}") from None
    return statement.filled(stated), _profile_of(statement)


def _profile_of(statement: "Statement") -> "PrivacyProfile | None":
    """Return the privacy profile of the event in a statement; None without a guarantee."""
    from dperm.accounting.stored_release import release_from_record
    from dperm.privacy import Record
    from dperm.privacy.guarantee import guarantee_from_dict
    from dperm.report.field_values import as_mapping

    event = as_mapping(statement["mechanism"]).get("event")
    if not statement.is_private or event is None:
        return None
    guarantee = guarantee_from_dict(dict(as_mapping(statement["goal"])))
    return release_from_record(Record(guarantee, event), None).profile


def _as_data(output: Path | None, draft: Path | None, statement: "Statement") -> dict[str, object]:
    drafted = {} if draft is None else {"fields": str(draft)}
    file = None if output is None else str(output)
    verdict = {"private": statement.is_private, "refuted": statement.is_refuted, "status": statement["status"]}
    rating = {"headline": statement.headline.as_dict(), "required_gaps": list(statement.required_gaps)}
    return {"file": file, **drafted, **verdict, **rating, "gaps": list(statement.gaps)}


def _print_result(output: Path | None, draft: Path | None, statement: "Statement") -> None:
    """Print the files and the gaps of the statement."""
    from dperm.report.audits import refutation

    if draft is not None:
        typer.echo(f"Written: {draft}. Fill it in, then pass it to --fields.")
    if output is None:
        return
    typer.echo(f"Written: {output}. {_headline(statement)}")
    if statement.is_refuted:
        typer.echo(refutation(statement.fields))
    gaps = statement.gaps
    if gaps:
        count = f"{len(gaps)} gap{'s' if len(gaps) > 1 else ''}"
        verb = "are" if len(gaps) > 1 else "is"
        typer.echo(
            f"There {verb} {count} that only you can fill in, with --fields: {', '.join(gaps)}. --draft-fields writes "
            "a draft of the --fields file."
        )


def _headline(statement: "Statement") -> str:
    """Return the protection level with the attacker's success; the status of a statement without a guarantee."""
    from dperm.report.fields import PRIVATE, status_text
    from dperm.report.headline import headline_sentences, headline_title

    if statement["status"] != PRIVATE:
        return status_text(statement["status"])
    return f"{headline_title(statement.fields)}. {' '.join(headline_sentences(statement.fields))}"


def _stated(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ParameterError(f"--fields: {path} must be a TOML file in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"--fields: {path} is not TOML: {error}.") from None
