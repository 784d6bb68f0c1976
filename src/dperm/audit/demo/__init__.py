# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Content of ``dperm audit demo``: three attacks on models with and without differential privacy.

The data are synthetic. Methods and random bits are the same as in production, so results with noise differ from run to
run for any seed.
"""

from dperm.audit.demo.demonstration import run as run
from dperm.audit.demo.result import DemoAttack as DemoAttack
from dperm.audit.demo.result import DemoResult as DemoResult
from dperm.audit.demo.result import ResultTable as ResultTable
