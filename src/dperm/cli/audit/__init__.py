# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit``: attack what was released, and try to falsify what is claimed; one file per verb."""

from dperm.cli.audit.verbs import HELP, app

__all__ = ["HELP", "app"]
