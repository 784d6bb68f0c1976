# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""For the reader: statements of what was released and promised, and files of models."""

from dperm.report.assemble import seeded, statement, unprotected
from dperm.report.output import write_statement
from dperm.report.page import page
from dperm.report.statement import Statement

__all__ = ["Statement", "page", "seeded", "statement", "unprotected", "write_statement"]
