# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The content of ``dperm audit demo``: three attacks on models without and with differential privacy.

Data are made up, the noise is real: the methods and the random bits are those that users get. So numbers with noise
differ from run to run, whatever the seed.
"""

from dperm.audit.demo.demonstration import run as run
from dperm.audit.demo.result import DemoAttack as DemoAttack
from dperm.audit.demo.result import DemoResult as DemoResult
from dperm.audit.demo.result import ResultTable as ResultTable
