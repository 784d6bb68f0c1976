# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, one step of a recurrent layer. Their two products are linear layers; autograd handles the rest."""

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dperm.errors import AssumptionError
from dperm.torch.gradients.rules.linear import matrix_uses
from dperm.torch.gradients.rules.recurrent import in_training
from dperm.torch.gradients.tape import Tape, Uses

CellStep = Callable[[Tensor, Tensor, tuple[Tensor, ...], nn.RNNCellBase], tuple[Tensor, ...]]
"""Function from the products with inputs and states, and the states, to the next states."""


def cell(step: CellStep) -> Callable[[Any, Tape], Callable[..., Any]]:
    """Return a factory of forward passes that apply ``step``, for recurrent cells."""

    def make(module: nn.RNNCellBase, tape: Tape) -> Callable[..., Any]:
        original = module.forward

        def forward(input: Tensor, hx: Any = None) -> Any:
            if not in_training(module):
                return original(input, hx)
            states = _states(module, input, hx, 2 if step is lstm_step else 1)
            at_inputs = F.linear(input, module.weight_ih, module.bias_ih)
            at_states = F.linear(states[0], module.weight_hh, module.bias_hh)
            tape.record(_inputs_rule, module, (input,), at_inputs)
            tape.record(_states_rule, module, (states[0],), at_states)
            found = step(at_inputs, at_states, states, module)
            return found if len(found) > 1 else found[0]

        return forward

    return make


def lstm_step(inputs: Tensor, hidden: Tensor, states: tuple[Tensor, ...], module: nn.RNNCellBase) -> tuple[Tensor, ...]:
    """Return hidden and cell state (h, c) of an LSTM cell."""
    i, f, g, o = (inputs + hidden).chunk(4, 1)
    c = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(inputs: Tensor, hidden: Tensor, states: tuple[Tensor, ...], module: nn.RNNCellBase) -> tuple[Tensor, ...]:
    """Return the hidden state (h,) of a GRU cell."""
    (a_r, a_z, a_n), (s_r, s_z, s_n) = inputs.chunk(3, 1), hidden.chunk(3, 1)
    n = (a_n + (a_r + s_r).sigmoid() * s_n).tanh()
    return (torch.lerp(n, states[0], (a_z + s_z).sigmoid()),)


def elman_step(
    inputs: Tensor, hidden: Tensor, states: tuple[Tensor, ...], module: nn.RNNCellBase
) -> tuple[Tensor, ...]:
    """Return the hidden state (h,) of a simple recurrent cell."""
    total = inputs + hidden
    return (total.tanh() if cast(nn.RNNCell, module).nonlinearity == "tanh" else total.relu(),)


def _states(module: nn.RNNCellBase, values: Tensor, hx: Any, count: int) -> tuple[Tensor, ...]:
    if values.dim() == 1:
        raise AssumptionError(
            f"{type(module).__name__} got an input without a batch dimension: a single example.",
            remedy="Pass inputs with two dimensions.",
        )
    if hx is None:
        return (values.new_zeros(len(values), module.hidden_size),) * count
    return (hx,) if isinstance(hx, Tensor) else tuple(hx)


def _inputs_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    own = cast(Any, module)
    return matrix_uses(own.weight_ih, own.bias_ih, inputs[0], grad)


def _states_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    own = cast(Any, module)
    return matrix_uses(own.weight_hh, own.bias_hh, inputs[0], grad)
