# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements to files, in the form that the name of the file asks for; whole or not at all."""

import os
from pathlib import Path

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.profile import PrivacyProfile
from dperm.report.page import page
from dperm.report.stated import kind_of
from dperm.report.statement import Statement
from dperm.report.whole_file import write_text

SUFFIXES = (".html", ".md", ".json")


def write_statement(path: str | os.PathLike[str], statement: Statement, profile: PrivacyProfile | None = None) -> None:
    """Write ``statement`` as a page (.html), as Markdown (.md) or as JSON (.json), by the suffix of ``path``.

    ``profile`` is for the plots of the page. A file that is there is replaced.

    Raises
    ------
    ParameterError
        If ``path`` has another suffix; nothing is written.
    """
    target = Path(path)
    if not isinstance(statement, Statement):
        raise ParameterError(f"statement must be a Statement, such as model.statement_, got {kind_of(statement)}.")
    write_text(target, _content(target, statement, profile))


def _content(target: Path, statement: Statement, profile: PrivacyProfile | None) -> str:
    suffix = target.suffix.lower()
    if suffix == ".html":
        return page(statement, profile)
    if suffix == ".md":
        return statement.to_markdown()
    if suffix == ".json":
        return statement.to_json(indent=1) + "\n"
    raise ParameterError(f"path must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {shown(target.name)}.")
