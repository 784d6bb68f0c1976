# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The private step as one compiled graph, for micro-batches of one size (T46).

Forward pass, losses, backward pass through activations, norms, weights and weighted sums are traced once and compiled
by torch's inductor. The results agree with `dperm.torch.gradients`. Compilation saves Python overhead and memory for
intermediate results.
"""

from dperm.torch.compiled.noise import CompiledNoise as CompiledNoise
from dperm.torch.compiled.steps import CompiledStep as CompiledStep
from dperm.torch.compiled.sums import CompiledSum as CompiledSum
