# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan``: what a fit would do, what to expect of it, and how many records it takes; no data."""

from dperm.cli.plan.command import HELP, plan

__all__ = ["HELP", "plan"]
