# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger``: open, look at, verify and approve budgets that outlive a process; one file per verb."""

from dperm.cli.ledger.verbs import HELP, app

__all__ = ["HELP", "app"]
