# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statement files: HTML, Markdown or JSON by the suffix of the file name, written atomically."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.record import Release
from dperm.report.assembly import statement as statement_of
from dperm.report.field_values import type_name
from dperm.report.page import page
from dperm.report.statement import Statement
from dperm.report.whole_file import write_text

SUFFIXES = (".html", ".md", ".json")


def write_statement(
    path: str | os.PathLike[str],
    statement: Statement | Release[Any],
    profile: PrivacyProfile | None = None,
    *,
    fields: Mapping[str, object] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a privacy statement as HTML, Markdown or JSON.

    The suffix of ``path`` selects the format: ".html", ".md" or ".json".

    Parameters
    ----------
    path
        File to write.
    statement
        Statement, or a release from which the statement and the profile are derived.
    profile
        Privacy profile for the plots of an HTML page; None uses the profile of the release, if a release is given.
    fields
        Values of the fields that only the user can know, such as curator and intended_use; `Statement.gaps` names the
        missing fields.
    overwrite
        Whether to replace an existing file.

    Raises
    ------
    ParameterError
        If the suffix of ``path`` is not one of the three suffixes, or if ``path`` exists and ``overwrite`` is False. In
        both cases, nothing is written.
    """
    target = _target(path)
    if isinstance(statement, Release):
        profile = statement.profile if profile is None else profile
        statement = statement_of(statement)
    if not isinstance(statement, Statement):
        raise ParameterError(
            argument="statement",
            rule="must be a Statement, such as model.statement_, or a Release",
            got=type_name(statement),
        )
    content = _content(target, statement if fields is None else statement.filled(fields), profile)
    if target.exists() and not overwrite:
        raise ParameterError(
            f"The file {shown(target.name)} exists and was not changed.",
            remedy=f"Choose another {arg('path')}, or set {arg('overwrite', True)}.",
        )
    write_text(target, content)


def _target(path: object) -> Path:
    """Return the path; the two first arguments are easily confused."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(
            argument="path",
            rule="must be the name of a file",
            got=type_name(path),
            remedy='The path is the first argument: write_statement("statement.html", release).',
        )
    return Path(path)


def _content(target: Path, statement: Statement, profile: PrivacyProfile | None) -> str:
    suffix = target.suffix.lower()
    if suffix == ".html":
        return page(statement, profile)
    if suffix == ".md":
        return statement.to_markdown()
    if suffix == ".json":
        return statement.to_json(indent=1) + "\n"
    raise ParameterError(
        argument="path", rule=f"must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}", got=shown(target.name)
    )
