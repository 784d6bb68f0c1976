# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The private step as one compiled graph, for micro-batches of one size (T46).

The forward pass, the losses, the pass back through activations, norms, weights and weighted sums are traced once and
compiled by torch's inductor. The numbers are those of the engine; Python and memory for what lies between are saved.
"""

from dperm.torch.compiled.noise import CompiledNoise as CompiledNoise
from dperm.torch.compiled.steps import CompiledStep as CompiledStep
from dperm.torch.compiled.sums import CompiledSum as CompiledSum
