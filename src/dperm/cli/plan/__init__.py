# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan``: the plan of a fit, expected accuracy, and numbers of records, from public numbers alone."""

from dperm.cli.plan.commands import HELP, HELPS, app

__all__ = ["HELP", "HELPS", "app"]
