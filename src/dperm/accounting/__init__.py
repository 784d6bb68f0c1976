# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What was spent: events, their composition, and the profile that follows."""

from dperm.accounting.account import account as account
from dperm.accounting.calibrate import calibrate as calibrate
from dperm.accounting.events import Approximate as Approximate
from dperm.accounting.events import Gaussian as Gaussian
from dperm.accounting.events import Laplace as Laplace
from dperm.accounting.events import Pure as Pure
from dperm.accounting.events import RandomizedResponse as RandomizedResponse
from dperm.accounting.sampled import Poisson as Poisson
from dperm.accounting.sampled import WithoutReplacement as WithoutReplacement
