# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sequences whose terms nearly cancel, in single precision: no example contributes more than 1 but for last bits."""

import pytest
import torch
from torch import nn

from dperm.torch.gradients.clipping import Clipping
from dperm.torch.gradients.per_example import PerExampleGradients


@pytest.mark.parametrize(("width", "steps"), [(1, 2), (64, 8), (64, 40)])
def test_contributions_are_at_most_one(width, steps):
    """The second half of a sequence takes back the first, up to a part between 1/128 and 1/8 of it."""
    torch.manual_seed(0)
    layer = nn.Linear(width, width, bias=False)
    part = torch.logspace(-2.2, -0.9, 60)[:, None, None]
    inputs = torch.randn(60, steps // 2, width)
    inputs = torch.cat([inputs, inputs * (1 - part)], 1) * 1e3
    signs = torch.cat([torch.ones(steps // 2), -torch.ones(steps // 2)])[:, None]
    direction = torch.randn(steps // 2, width).repeat(2, 1) * signs
    with PerExampleGradients(layer) as gradients:
        losses = (layer(inputs) * direction).flatten(1).sum(1)
        found = gradients.unclipped(losses, Clipping.FLAT, 1e-3).weigh()
    ((_, _, weights),) = found
    exact = torch.einsum("ntp,ntd->npd", direction.double().expand(60, -1, -1), inputs.double())
    worst = float((exact.flatten(1).norm(dim=1) * weights.double()).max())
    assert worst <= 1 + 1e-5
