# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Layer rules, indexed by forward pass. Subclasses with the same forward pass share the rule."""

from collections.abc import Callable
from typing import Any

from torch import nn

from dperm.torch.gradients.rules.attention import attention
from dperm.torch.gradients.rules.cells import cell, elman_step, gru_step, lstm_step
from dperm.torch.gradients.rules.convolution import convolution_rule, transposed_convolution_rule
from dperm.torch.gradients.rules.elman import elman_scan
from dperm.torch.gradients.rules.embedding import embedding, embedding_bag
from dperm.torch.gradients.rules.gru import gru_scan
from dperm.torch.gradients.rules.linear import bilinear_rule, linear_rule, prelu_rule
from dperm.torch.gradients.rules.lstm import lstm_scan
from dperm.torch.gradients.rules.normalization import group_norm_rule, instance_norm, layer_norm_rule, rms_norm_rule
from dperm.torch.gradients.rules.recurrent import recurrent
from dperm.torch.gradients.tape import LayerRule, Tape

RULES: dict[Callable[..., Any] | None, LayerRule] = {
    nn.Linear.forward: linear_rule,
    nn.Bilinear.forward: bilinear_rule,
    nn.Conv1d.forward: convolution_rule,
    nn.Conv2d.forward: convolution_rule,
    nn.Conv3d.forward: convolution_rule,
    nn.ConvTranspose1d.forward: transposed_convolution_rule,
    nn.ConvTranspose2d.forward: transposed_convolution_rule,
    nn.ConvTranspose3d.forward: transposed_convolution_rule,
    nn.LayerNorm.forward: layer_norm_rule,
    nn.RMSNorm.forward: rms_norm_rule,
    nn.GroupNorm.forward: group_norm_rule,
    nn.PReLU.forward: prelu_rule,
}
"""Rules by forward function."""
SUBSTITUTES: dict[Callable[..., Any] | None, Callable[[Any, Tape], Callable[..., Any]]] = {
    nn.Embedding.forward: embedding,
    nn.EmbeddingBag.forward: embedding_bag,
    nn.InstanceNorm1d.forward: instance_norm,  # 1d, 2d and 3d share one forward pass
    nn.LSTM.forward: recurrent(lstm_scan),
    nn.GRU.forward: recurrent(gru_scan),
    nn.RNN.forward: recurrent(elman_scan),
    nn.LSTMCell.forward: cell(lstm_step),
    nn.GRUCell.forward: cell(gru_step),
    nn.RNNCell.forward: cell(elman_step),
    nn.MultiheadAttention.forward: attention,
}
"""Factories of forward passes with the same results that record the uses of parameters on a tape."""
