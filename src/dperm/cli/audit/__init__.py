# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit``: attacks on models and methods, and lower bounds on epsilon; one module per verb."""

from dperm.cli.audit.verbs import HELP, app

__all__ = ["HELP", "app"]
