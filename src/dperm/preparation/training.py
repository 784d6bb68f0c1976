# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Deprecated module: its content is in `dperm.pipeline.plan`."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(__name__, {"TablePlan": "dperm.pipeline:TablePlan"})
