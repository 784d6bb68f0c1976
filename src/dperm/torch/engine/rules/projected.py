# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LSTM layers with projected states (``proj_size``): h_t = P (o tanh(c_t)). Step by step, left to autograd."""

import torch
from torch import Tensor, nn

from dperm.torch.engine.rules.gates import Marker
from dperm.torch.engine.rules.steps import Direction, products
from dperm.torch.engine.tape import Tape


def projected_scan(
    way: Direction, inputs: Tensor, states: tuple[Tensor, ...], module: nn.RNNBase, tape: Tape
) -> tuple[Tensor, ...]:
    """Hidden and cell states after each step."""
    projection = way.projection
    assert projection is not None
    shape = inputs.shape[:2]
    gates = Marker.of((*shape, 4 * module.hidden_size), way.inputs, way.states)
    outputs = Marker.of((*shape, module.proj_size), (projection, None))
    hidden, before, wide, cells = [], [], [], []
    h, c = states
    fixed = products(way.inputs, inputs, way.states[1]) + gates.gates
    for step, (gate, output) in enumerate(zip(way.in_order(fixed), way.in_order(outputs.gates), strict=True)):
        if way.ended is not None:
            h, c = h.masked_fill(way.ended[step], 0), c.masked_fill(way.ended[step], 0)
        before.append(h)
        i, f, g, o = (gate + h @ way.states[0].detach().t()).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        wide.append(o.sigmoid() * c.tanh())
        h = wide[-1] @ projection.detach().t() + output
        hidden.append(h)
        cells.append(c)
    turned = [torch.stack(part[::-1] if way.reverse else part) for part in (before, wide, hidden, cells)]
    gates.record(tape, module, inputs, turned[0])
    outputs.record(tape, module, turned[1])
    return turned[2], turned[3]
