# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data with public bounds on features and labels, and readers of tables and files."""

from dperm.data.columns import Categorical as Categorical
from dperm.data.columns import Numeric as Numeric
from dperm.data.encoder import PublicEncoder as PublicEncoder
