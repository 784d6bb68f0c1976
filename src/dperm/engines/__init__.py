# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Engines that hold row groups in the processes of a cluster, and run functions on them.

An engine implements `dperm.data.passes.TableEngine`. It knows nothing of privacy, noise and budgets. Checks of its
answers, and everything that is private about a release, are in the driver.
"""

from dperm.engines.dask import DaskEngine as DaskEngine
from dperm.engines.dask_tables import is_dask as is_dask
from dperm.engines.dask_tables import row_groups_of as row_groups_of
