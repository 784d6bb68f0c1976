# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact audits without sampling: each lower bound is attained by an explicit pair of neighbours (A8)."""

from dperm.audit.exact.median import median as median
from dperm.audit.exact.median import median_atom as median_atom
from dperm.audit.exact.objective import ObjectiveMinimiser as ObjectiveMinimiser
from dperm.audit.exact.objective import jmlr_2011 as jmlr_2011
from dperm.audit.exact.objective import nips08 as nips08
from dperm.audit.exact.objective import objective as objective
from dperm.audit.exact.output import output as output
from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(__name__, {"Perturbed": "dperm.audit.exact:ObjectiveMinimiser"})
