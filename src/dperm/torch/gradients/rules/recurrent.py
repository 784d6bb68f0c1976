# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: LSTM, GRU and RNN, with several layers, in one or both directions.

Each matrix is applied to a sequence of inputs, as in a linear layer: the inputs of the layer, or its states one step
earlier. torch's own forward passes do not expose the gradients at the gates; the scans in this package do. Packed
sequences are processed like padded sequences, and values after the end of a sequence are never read.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from dperm.errors import AssumptionError
from dperm.torch.gradients.precision import without_autocast
from dperm.torch.gradients.rules.gates import ScanDirection
from dperm.torch.gradients.tape import Tape


def unpack(packed: PackedSequence) -> tuple[Tensor, Tensor]:
    """Return values (T, B, D) in the order of the batch, and the sequence lengths."""
    values, lengths = pad_packed_sequence(packed)
    return values, lengths.to(values.device)


def repack(values: Tensor, lengths: Tensor, like: PackedSequence) -> PackedSequence:
    """Return values (T, B, D) packed in the order of ``like``."""
    if like.sorted_indices is not None:
        values, lengths = values.index_select(1, like.sorted_indices), lengths[like.sorted_indices]
    data = pack_padded_sequence(values, lengths.cpu()).data
    return PackedSequence(data, like.batch_sizes, like.sorted_indices, like.unsorted_indices)


def padding_mask(values: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask (T, B, 1) of the steps after the end of each sequence."""
    return (torch.arange(len(values), device=values.device)[:, None] >= lengths)[:, :, None]


def reverse_sequences(values: Tensor, lengths: Tensor) -> Tensor:
    """Return values (T, B, D) with each sequence reversed within its length."""
    time = torch.arange(len(values), device=values.device)[:, None]
    index = torch.where(time < lengths, lengths - 1 - time, time)
    return values.gather(0, index[:, :, None].expand_as(values))


def last_states(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the last state of each sequence, from states (T, B, H)."""
    return states.gather(0, (lengths - 1)[None, :, None].expand(1, -1, states.shape[2]))[0]


class Scan(Protocol):
    """Forward pass of one layer in one direction of time that records the uses of its matrices."""

    def __call__(
        self, way: ScanDirection, inputs: Tensor, states: tuple[Tensor, ...], module: nn.RNNBase, tape: Tape
    ) -> tuple[Tensor, ...]:
        """Return the states after each step (T, B, H), the output first."""


def in_training(module: nn.Module) -> bool:
    """Return whether a forward pass is part of training."""
    return torch.is_grad_enabled() and any(parameter.requires_grad for parameter in module.parameters())


def recurrent(scan: Scan) -> Callable[[Any, Tape], Callable[..., Any]]:
    """Return a factory of forward passes that apply ``scan``, for recurrent layers."""

    def make(module: nn.RNNBase, tape: Tape) -> Callable[..., Any]:
        original = module.forward

        def forward(input: Tensor | PackedSequence, hx: Any = None) -> Any:
            if not in_training(module):
                return original(input, hx)
            given = _states(hx)
            if isinstance(input, PackedSequence):
                values, lengths = unpack(input)
                output, states = _run(scan, module, tape=tape, values=values, given=given, lengths=lengths)
                return repack(output, lengths, input), states
            _check(module, input)
            values = input.transpose(0, 1) if module.batch_first else input
            output, states = _run(scan, module, tape=tape, values=values, given=given, lengths=None)
            return output.transpose(0, 1) if module.batch_first else output, states

        return forward

    return make


def _states(hx: Any) -> tuple[Tensor, ...]:
    if hx is None:
        return ()
    return (hx,) if isinstance(hx, Tensor) else tuple(hx)


def _check(module: nn.RNNBase, values: Tensor) -> None:
    if values.dim() == 2:
        raise AssumptionError(
            f"{type(module).__name__} got a sequence without a batch dimension: a single example.",
            remedy="Pass inputs with three dimensions.",
        )
    module.check_input(values, None)


def _run(
    scan: Scan,
    module: nn.RNNBase,
    *,
    tape: Tape,
    values: Tensor,
    given: tuple[Tensor, ...],
    lengths: Tensor | None,
) -> tuple[Tensor, Any]:
    """Return the results of `_layers` in the precision of the weights. Scans do not support autocast."""
    dtype = next(module.parameters()).dtype
    with without_autocast(values.device.type):
        given = tuple(state.to(dtype) for state in given)
        return _layers(scan, module, tape=tape, values=values.to(dtype), given=given, lengths=lengths)


def _layers(
    scan: Scan,
    module: nn.RNNBase,
    *,
    tape: Tape,
    values: Tensor,
    given: tuple[Tensor, ...],
    lengths: Tensor | None,
) -> tuple[Tensor, Any]:
    """Return the output (T, B, H) of all layers for inputs (T, B, D), and their last states in torch's format."""
    states = given or _zeros(module, values)
    _check_states(module, states, values.shape[1])
    ends: list[tuple[Tensor, ...]] = []
    for layer in range(module.num_layers):
        outputs = []
        for reverse in (False, True) if module.bidirectional else (False,):
            way = ScanDirection.of(module, layer, reverse=reverse)
            first = tuple(state[len(ends)] for state in states)
            output, last = _one(scan, way, values=values, first=first, lengths=lengths, module=module, tape=tape)
            outputs.append(output)
            ends.append(last)
        values = torch.cat(outputs, 2) if module.bidirectional else outputs[0]
        if module.dropout and module.training and layer + 1 < module.num_layers:
            values = F.dropout(values, module.dropout)
    if not module.bidirectional:
        values = values.clone()  # later in-place operations must not change the saved tensors of the scan
    stacked = tuple(torch.stack(part) for part in zip(*ends, strict=True))
    return values, stacked if len(stacked) > 1 else stacked[0]


def _one(
    scan: Scan,
    way: ScanDirection,
    *,
    values: Tensor,
    first: tuple[Tensor, ...],
    lengths: Tensor | None,
    module: nn.RNNBase,
    tape: Tape,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return output and last states of one layer in one direction."""
    if lengths is None:
        found = scan(way, values, first, module, tape)
        return found[0], tuple(states[0 if way.reverse else -1] for states in found)
    # a packed sequence is reversed within its own length, and then read forwards
    onward = replace(way, reverse=False, padding=padding_mask(values, lengths))
    values = onward.mask_padding(values)
    found = scan(onward, reverse_sequences(values, lengths) if way.reverse else values, first, module, tape)
    output = reverse_sequences(found[0], lengths) if way.reverse else found[0]
    return output, tuple(last_states(states, lengths) for states in found)


def _widths(module: nn.RNNBase) -> tuple[int, ...]:
    """Return the widths of the states: hidden, and for an LSTM also cell."""
    hidden = module.proj_size or module.hidden_size
    return (hidden, module.hidden_size) if module.mode == "LSTM" else (hidden,)


def _zeros(module: nn.RNNBase, values: Tensor) -> tuple[Tensor, ...]:
    count = module.num_layers * (2 if module.bidirectional else 1)
    return tuple(values.new_zeros(count, values.shape[1], width) for width in _widths(module))


def _check_states(module: nn.RNNBase, states: tuple[Tensor, ...], examples: int) -> None:
    count = module.num_layers * (2 if module.bidirectional else 1)
    for state, width in zip(states, _widths(module), strict=True):
        module.check_hidden_size(state, (count, examples, width))
