# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random bits from a CSPRNG, exact samplers on a power-of-two grid, and the grid (T10)."""

from dperm.noise.bits import Bits as Bits
from dperm.noise.bits import Stream as Stream
from dperm.noise.bits import SystemBits as SystemBits
from dperm.noise.simulation import NotPrivateBits as NotPrivateBits
