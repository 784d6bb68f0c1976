# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences as padded ones: past the end of a sequence are zeros, or what follows from them, never read."""

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence


def unpacked(packed: PackedSequence) -> tuple[Tensor, Tensor]:
    """Values (T, B, D) in the order of the batch, and lengths."""
    values, lengths = pad_packed_sequence(packed)
    return values, lengths.to(values.device)


def packed_again(values: Tensor, lengths: Tensor, like: PackedSequence) -> PackedSequence:
    """Values (T, B, D) packed in the order of ``like``."""
    if like.sorted_indices is not None:
        values, lengths = values.index_select(1, like.sorted_indices), lengths[like.sorted_indices]
    data = pack_padded_sequence(values, lengths.cpu()).data
    return PackedSequence(data, like.batch_sizes, like.sorted_indices, like.unsorted_indices)


def ended(values: Tensor, lengths: Tensor) -> Tensor:
    """(T, B, 1): where sequences of values (T, B, D) are over."""
    return (torch.arange(len(values), device=values.device)[:, None] >= lengths)[:, :, None]


def turned(values: Tensor, lengths: Tensor) -> Tensor:
    """Values (T, B, D) with each sequence read backwards."""
    time = torch.arange(len(values), device=values.device)[:, None]
    index = torch.where(time < lengths, lengths - 1 - time, time)
    return values.gather(0, index[:, :, None].expand_as(values))


def state_at(states: Tensor, lengths: Tensor) -> Tensor:
    """The last states of the sequences, of states (T, B, H)."""
    return states.gather(0, (lengths - 1)[None, :, None].expand(1, -1, states.shape[2]))[0]
