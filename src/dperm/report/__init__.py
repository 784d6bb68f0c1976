# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""For the reader: statements of what was released and promised, and files of models."""

from dperm.report.statement import Statement, seeded, statement, unprotected

__all__ = ["Statement", "seeded", "statement", "unprotected"]
