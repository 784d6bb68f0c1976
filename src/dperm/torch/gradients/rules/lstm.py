# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scan of an LSTM: only h W' runs step by step, most other operations for all steps at once.

With gates i, f, g, o of z = W x + U h + b, sigmoid except g = tanh:  c_t = f c_{t-1} + i g,  h_t = o tanh(c_t).
Backward, with d and e the gradients at h_t and c_t:  e += d o (1 - tanh^2 c_t), then dz = (e g i(1 - i), e c_{t-1} f(1
- f), e i(1 - g^2), d tanh(c_t) o(1 - o)), and d = U' dz, e = e f for the previous step.

Layers with projected states (``proj_size``), h_t = P (o tanh(c_t)), run step by step under autograd.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dperm.torch.gradients.rules.gates import Marker, ScanDirection, products
from dperm.torch.gradients.tape import Tape


def projected_scan(
    way: ScanDirection, inputs: Tensor, states: tuple[Tensor, ...], module: nn.RNNBase, tape: Tape
) -> tuple[Tensor, ...]:
    """Return hidden and cell states after each step, for projected states."""
    projection = way.projection
    assert projection is not None
    shape = inputs.shape[:2]
    gates = Marker.of((*shape, 4 * module.hidden_size), way.inputs, way.states)
    outputs = Marker.of((*shape, module.proj_size), (projection, None))
    hidden, before, wide, cells = [], [], [], []
    h, c = states
    fixed = products(way.inputs, inputs, way.states[1]) + gates.gates
    for step, (gate, output) in enumerate(zip(way.time_slices(fixed), way.time_slices(outputs.gates), strict=True)):
        if way.padding is not None:
            h, c = h.masked_fill(way.padding[step], 0), c.masked_fill(way.padding[step], 0)
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


class _LSTMScan(torch.autograd.Function):
    """Hidden and cell states (T, B, H) of inputs (T, B, D), and the hidden states before each step."""

    @staticmethod
    def forward(
        ctx: Any, marker: Tensor, inputs: Tensor, start: Tensor, cell: Tensor, way: ScanDirection
    ) -> tuple[Tensor, Tensor, Tensor]:
        steps, width = inputs.shape[0], start.shape[1]
        gates = products(way.inputs, inputs, way.states[1])
        hidden, cells = way.allocate_states(start, steps), way.allocate_states(cell, steps)
        tanhs = torch.empty_like(way.after(cells))
        _forward(gates, hidden, cells, tanhs, way)
        ctx.way, ctx.width = way, width
        ctx.save_for_backward(gates, hidden, cells, tanhs)
        ctx.set_materialize_grads(False)
        before = way.before(hidden)
        ctx.mark_non_differentiable(before)
        return way.after(hidden), way.after(cells), before

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        gates, hidden, cells, tanhs = ctx.saved_tensors
        way = ctx.way
        local = _local(gates, way.after(hidden), way.before(cells))
        through = torch.addcmul(gates[..., 3 * ctx.width :], way.after(hidden), tanhs, value=-1)
        forget = gates[..., ctx.width : 2 * ctx.width]
        ends = _backward(local, through, forget=forget, hidden=grads[0], cells=grads[1], way=way)
        found = local.flatten(0, 1) @ way.inputs[0].detach() if ctx.needs_input_grad[1] else None
        return local, None if found is None else found.view(*local.shape[:2], -1), *ends, None


def _forward(gates: Tensor, hidden: Tensor, cells: Tensor, tanhs: Tensor, way: ScanDirection) -> None:
    """Fill the states, and turn products with inputs into gates in place."""
    width = hidden.shape[2]
    weight = way.states[0].detach().t().contiguous()
    gate = way.time_slices(gates)
    soft = way.time_slices(gates[..., : 2 * width])
    i, f, g, o = (way.time_slices(part) for part in gates.split(width, 2))
    h, c, tanh = way.time_slices(hidden), way.time_slices(cells), way.time_slices(tanhs)
    for t in range(len(gate)):
        gate[t].addmm_(h[t], weight)
        way.mask_padding_(t, gate[t])
        soft[t].sigmoid_()
        g[t].tanh_()
        o[t].sigmoid_()
        torch.mul(f[t], c[t], out=c[t + 1]).addcmul_(i[t], g[t])
        torch.tanh(c[t + 1], out=tanh[t])
        torch.mul(o[t], tanh[t], out=h[t + 1])


def _local(gates: Tensor, hidden: Tensor, before: Tensor) -> Tensor:
    """Return the factors from e (for o: from d) to dz, for all steps. ``hidden`` is o tanh(c), ``before`` the cells."""
    local = torch.empty_like(gates)
    width = hidden.shape[2]
    (i, f, g, o), (at_i, at_f, at_g, at_o) = gates.split(width, 2), local.split(width, 2)
    product = i * g
    torch.addcmul(product, product, i, value=-1, out=at_i)
    torch.addcmul(i, product, g, value=-1, out=at_g)
    torch.mul(f, before, out=product)
    torch.addcmul(product, product, f, value=-1, out=at_f)
    torch.addcmul(hidden, hidden, o, value=-1, out=at_o)
    return local


def _backward(
    local: Tensor, through: Tensor, forget: Tensor, hidden: Tensor | None, cells: Tensor | None, way: ScanDirection
) -> tuple[Tensor, Tensor]:
    """Turn ``local`` into gradients at the gates. Return the gradients at the first states."""
    steps, examples, width = through.shape
    weight = way.states[0].detach()
    into = way.time_slices(local)
    three = way.time_slices(local.view(steps, examples, 4, width)[:, :, :3])
    last = way.time_slices(local[..., 3 * width :])
    through_, forget_ = way.time_slices(through), way.time_slices(forget)
    at_hidden = way.time_slices(hidden) if hidden is not None else None
    at_cells = way.time_slices(cells) if cells is not None else None
    d = at_hidden[-1] if at_hidden is not None else through.new_zeros(examples, width)
    e = through.new_zeros(examples, width)
    spread = e[:, None]
    for t in range(steps - 1, -1, -1):
        if at_cells is not None:
            e.add_(at_cells[t])
        e.addcmul_(d, through_[t])
        three[t].mul_(spread)
        last[t].mul_(d)
        e.mul_(forget_[t])
        d = torch.addmm(at_hidden[t - 1], into[t], weight) if at_hidden is not None and t else into[t] @ weight
    return d, e


def lstm_scan(
    way: ScanDirection, inputs: Tensor, states: tuple[Tensor, ...], module: nn.RNNBase, tape: Tape
) -> tuple[Tensor, ...]:
    """Return hidden and cell states after each step."""
    if module.proj_size:
        return projected_scan(way, inputs, states, module, tape)
    marker = Marker.of((*inputs.shape[:2], 4 * module.hidden_size), way.inputs, way.states)
    hidden, cells, before = _LSTMScan.apply(marker.gates, inputs, *states, way)  # type: ignore[no-untyped-call]
    marker.record(tape, module, inputs, way.mask_padding(before))
    return hidden, cells
