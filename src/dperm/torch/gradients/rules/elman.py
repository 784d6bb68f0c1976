# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scan of a simple recurrent layer: h_t = f(W x + U h_{t-1} + b), f = tanh or relu. f' is computed from h_t."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dperm.torch.gradients.rules.gates import Marker, ScanDirection, products
from dperm.torch.gradients.tape import Tape


def elman_scan(
    way: ScanDirection, inputs: Tensor, states: tuple[Tensor, ...], module: nn.RNNBase, tape: Tape
) -> tuple[Tensor, ...]:
    """Return the hidden states after each step."""
    marker = Marker.of((*inputs.shape[:2], module.hidden_size), way.inputs, way.states)
    bent = module.mode == "RNN_TANH"
    hidden, before = _ElmanScan.apply(marker.gates, inputs, states[0], way, bent)  # type: ignore[no-untyped-call]
    marker.record(tape, module, inputs, way.mask_padding(before))
    return (hidden,)


class _ElmanScan(torch.autograd.Function):
    """Hidden states (T, B, H) of inputs (T, B, D), and the states before each step. ``bent`` means tanh."""

    @staticmethod
    def forward(
        ctx: Any, marker: Tensor, inputs: Tensor, start: Tensor, way: ScanDirection, bent: bool
    ) -> tuple[Tensor, Tensor]:
        gates = way.time_slices(products(way.inputs, inputs, way.states[1]))
        weight = way.states[0].detach().t().contiguous()
        hidden = way.allocate_states(start, len(inputs))
        h = way.time_slices(hidden)
        for t, gate in enumerate(gates):
            torch.addmm(gate, h[t], weight, out=h[t + 1])
            way.mask_padding_(t, h[t + 1])
            h[t + 1].tanh_() if bent else h[t + 1].relu_()
        ctx.way, ctx.bent = way, bent
        ctx.save_for_backward(hidden)
        before = way.before(hidden)
        ctx.mark_non_differentiable(before)
        return way.after(hidden), before

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        way, states = ctx.way, ctx.way.after(ctx.saved_tensors[0])
        local = torch.mul(states, states).neg_().add_(1) if ctx.bent else (states > 0).to(states.dtype)
        weight = way.states[0].detach()
        into, outside = way.time_slices(local), way.time_slices(grads[0])
        d = outside[-1]
        for t in range(len(into) - 1, -1, -1):
            into[t].mul_(d)
            d = torch.addmm(outside[t - 1], into[t], weight) if t else into[t] @ weight
        found = local @ way.inputs[0].detach() if ctx.needs_input_grad[1] else None
        return local, found, d, None, None
