# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private empirical risk minimisation: each method plans from public constants, then runs."""

from dperm.methods.choose import choose as choose
from dperm.methods.gradient import GradientPerturbation as GradientPerturbation
from dperm.methods.objective import ObjectivePerturbation as ObjectivePerturbation
from dperm.methods.output import OutputPerturbation as OutputPerturbation
from dperm.methods.plan import Method as Method
from dperm.methods.plan import Plan as Plan
