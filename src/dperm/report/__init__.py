# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy statements as data, HTML pages, Markdown and JSON; plots of guarantees and audits; model files."""

from dperm.report.assembly import seeded, statement, unprotected
from dperm.report.output import write_statement
from dperm.report.page import page
from dperm.report.statement import Statement

__all__ = ["Statement", "page", "seeded", "statement", "unprotected", "write_statement"]
