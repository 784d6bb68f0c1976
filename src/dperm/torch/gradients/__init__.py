# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example gradients of PyTorch models and their clipped sums (T46).

`per_example` holds `PerExampleGradients`, the entry point. A forward pass is recorded on a `tape`; the layer rules in
`rules` turn each entry of the tape into gradients of parameters, stored as `factors`; `clipping` computes the weights
of the examples. `sites` chooses the method for each layer: a rule, `lifting` or `recompute`.
"""
