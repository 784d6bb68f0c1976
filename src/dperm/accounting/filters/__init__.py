# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Valid filters for adaptively chosen events (T14): rules, event costs, and refusals."""

from dperm.accounting.filters.charge import left as left
from dperm.accounting.filters.charge import price as price
from dperm.accounting.filters.charge import require as require
from dperm.accounting.filters.charge import total as total
from dperm.accounting.filters.filter import Amounts as Amounts
from dperm.accounting.filters.filter import Cost as Cost
from dperm.accounting.filters.filter import Filter as Filter
from dperm.accounting.filters.rules import filter_of as filter_of
