# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements to files, in the form that the name of the file asks for; whole or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.record import Release
from dperm.report.assemble import statement as statement_of
from dperm.report.page import page
from dperm.report.stated import kind_of
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
    """Write ``statement`` as a page (.html), as Markdown (.md) or as JSON (.json), by the suffix of ``path``.

    Parameters
    ----------
    path
        The file; a new one, unless ``overwrite``.
    statement
        What is said; or a release, which has its statement and its profile.
    profile
        For the plots of the page.
    fields
        What only you can know: curator, intended_use, ...; `Statement.gaps` names them.
    overwrite
        Whether a file that is there is replaced.

    Raises
    ------
    ParameterError
        If ``path`` has another suffix, or exists; nothing is written.
    """
    target = _target(path)
    if isinstance(statement, Release):
        profile = statement.profile if profile is None else profile
        statement = statement_of(statement)
    if not isinstance(statement, Statement):
        raise ParameterError(
            f"statement must be a Statement, such as model.statement_, or a Release, got {kind_of(statement)}."
        )
    content = _content(target, statement if fields is None else statement.filled(fields), profile)
    if target.exists() and not overwrite:
        raise ParameterError(
            f"path: {shown(target.name)} exists and is left as it is. Give another name, or overwrite=True."
        )
    write_text(target, content)


def _target(path: object) -> Path:
    """The file; the two arguments are easily taken for one another."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(
            f"path must be the name of a file, got {kind_of(path)}. The file comes first: "
            f'write_statement("statement.html", release).'
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
    raise ParameterError(f"path must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {shown(target.name)}.")
