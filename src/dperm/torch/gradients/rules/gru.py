# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scan of a GRU: only h W' runs step by step, most other operations for all steps at once.

With a = W x + b and s = U h_{t-1} + c:  r = sigmoid(a_r + s_r), z = sigmoid(a_z + s_z), n = tanh(a_n + r s_n) and h_t =
n + z (h_{t-1} - n). Backward, with d the gradient at h_t:  da_n = d (1 - z)(1 - n^2), ds_n = da_n r, da_r = ds_r = da_n
s_n r(1 - r), da_z = ds_z = d (h_{t-1} - n) z(1 - z), and d z + U' ds for the previous step.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dperm.torch.gradients.rules.gates import Marker, ScanDirection, products
from dperm.torch.gradients.tape import Tape


def gru_scan(
    way: ScanDirection, inputs: Tensor, states: tuple[Tensor, ...], module: nn.RNNBase, tape: Tape
) -> tuple[Tensor, ...]:
    """Return the hidden states after each step."""
    shape = (*inputs.shape[:2], 3 * module.hidden_size)
    at_inputs, at_states = (Marker.of(shape, matrix) for matrix in (way.inputs, way.states))
    found = _GRUScan.apply(at_inputs.gates, at_states.gates, inputs, states[0], way)  # type: ignore[no-untyped-call]
    at_inputs.record(tape, module, inputs)
    at_states.record(tape, module, way.mask_padding(found[1]))
    return (found[0],)


class _GRUScan(torch.autograd.Function):
    """Hidden states (T, B, H) of inputs (T, B, D), and the states before each step. Two markers, for a and for s."""

    @staticmethod
    def forward(
        ctx: Any, at_inputs: Tensor, at_states: Tensor, inputs: Tensor, start: Tensor, way: ScanDirection
    ) -> tuple[Tensor, Tensor]:
        gates = products(way.inputs, inputs, _shared(way, start.shape[1]))
        hidden = way.allocate_states(start, len(inputs))
        inner = torch.empty_like(way.after(hidden))
        _forward(gates, hidden, inner, way)
        ctx.way = way
        ctx.save_for_backward(gates, hidden, inner)
        before = way.before(hidden)
        ctx.mark_non_differentiable(before)
        return way.after(hidden), before

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        gates, hidden, inner = ctx.saved_tensors
        way = ctx.way
        at_states, new = _local(gates, way.before(hidden), inner)
        update = gates[..., new.shape[2] : 2 * new.shape[2]]
        end, along = _backward(at_states, update, grads[0], way)
        at_inputs = at_states.clone()
        torch.mul(new, along, out=at_inputs[..., 2 * new.shape[2] :])
        found = at_inputs @ way.inputs[0].detach() if ctx.needs_input_grad[2] else None
        return at_inputs, at_states, found, end, None


def _shared(way: ScanDirection, width: int) -> Tensor | None:
    """Return the vector c without its last third, because this part is multiplied by r."""
    bias = way.states[1]
    return None if bias is None else torch.cat([bias.detach()[: 2 * width], bias.new_zeros(width)])


def _forward(gates: Tensor, hidden: Tensor, inner: Tensor, way: ScanDirection) -> None:
    """Fill the states, and turn products with inputs into gates in place. ``inner`` is s_n."""
    width = hidden.shape[2]
    weight, bias = way.states[0].detach(), way.states[1]
    soft, fresh = weight[: 2 * width].t().contiguous(), weight[2 * width :].t().contiguous()
    added = hidden.new_zeros(width) if bias is None else bias.detach()[2 * width :]
    both = way.time_slices(gates[..., : 2 * width])
    r, z, n = (way.time_slices(part) for part in gates.split(width, 2))
    h, s = way.time_slices(hidden), way.time_slices(inner)
    for t in range(len(both)):
        both[t].addmm_(h[t], soft)
        way.mask_padding_(t, both[t])
        both[t].sigmoid_()
        torch.addmm(added, h[t], fresh, out=s[t])
        way.mask_padding_(t, s[t])
        n[t].addcmul_(r[t], s[t]).tanh_()
        torch.lerp(n[t], h[t], z[t], out=h[t + 1])


def _local(gates: Tensor, before: Tensor, inner: Tensor) -> tuple[Tensor, Tensor]:
    """Return the factors from d to ds and from d to da_n, for all steps."""
    reset, update, new = gates.split(inner.shape[2], 2)
    local = torch.addcmul(gates, gates, gates, value=-1)
    at_reset, at_update, at_new = local.split(inner.shape[2], 2)
    at_update.mul_(before - new)
    fresh = torch.mul(new, new).neg_().add_(1)
    fresh.addcmul_(fresh, update, value=-1)
    torch.mul(fresh, reset, out=at_new)
    at_reset.mul_(inner).mul_(fresh)
    return local, fresh


def _backward(local: Tensor, update: Tensor, grad: Tensor, way: ScanDirection) -> tuple[Tensor, Tensor]:
    """Turn ``local`` into gradients ds. Return the gradient at the first state and at all later states."""
    steps, examples, width = update.shape
    weight = way.states[0].detach()
    into, z = way.time_slices(local), way.time_slices(update)
    three = way.time_slices(local.view(steps, examples, 3, width))
    along = torch.empty_like(update, memory_format=torch.contiguous_format)
    d, outside = way.time_slices(along), way.time_slices(grad)
    d[-1].copy_(outside[-1])
    for t in range(steps - 1, 0, -1):
        three[t].mul_(d[t][:, None])
        torch.addcmul(outside[t - 1], d[t], z[t], out=d[t - 1]).addmm_(into[t], weight)
    three[0].mul_(d[0][:, None])
    return (d[0] * z[0]).addmm_(into[0], weight), along
