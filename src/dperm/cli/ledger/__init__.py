# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger``: open, show, verify and approve privacy budgets in files or databases; one module per verb."""

from dperm.cli.ledger.verbs import HELP, app

__all__ = ["HELP", "app"]
