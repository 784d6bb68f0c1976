# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bug matrix: known bugs in private learning, caught by audits that accept the correct versions."""

from dperm.audit.bugs.bug import Bug as Bug
from dperm.audit.bugs.bug import ExactBug as ExactBug
from dperm.audit.bugs.bug import SimulatedBug as SimulatedBug
from dperm.audit.bugs.matrix import BUGS as BUGS
from dperm.audit.bugs.matrix import Row as Row
from dperm.audit.bugs.matrix import false_alarm_probability as false_alarm_probability
from dperm.audit.bugs.matrix import matrix as matrix
from dperm.audit.bugs.matrix import table as table
from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__, {"Computed": "dperm.audit.bugs:ExactBug", "Simulated": "dperm.audit.bugs:SimulatedBug"}
)
