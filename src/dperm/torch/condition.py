# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The condition in which a model was checked: its layers' modes, what is trained, and its buffers."""

import warnings

import torch
from torch import nn

from dperm.errors import DpermWarning, ParameterError


class Condition:
    """Of a model, when its training began."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._modules, self._parameters = list(model.modules()), list(model.parameters())
        self._modes = [module.training for module in self._modules]
        self._trained = [value.requires_grad for value in self._parameters]
        self._buffers = {name: value.detach().clone() for name, value in model.named_buffers()}

    def check(self) -> None:
        """Refuse a step in another condition: it is not the model that was checked.

        Raises
        ------
        ParameterError
            If layers were switched between training and evaluation, or parameters frozen or unfrozen.
        """
        if [module.training for module in self._modules] != self._modes:
            raise ParameterError(
                "the model was attached in another mode (train or eval) of its layers than it is in now, and was "
                "checked in that one. Call model.train() or model.eval() before attach, and again before step after "
                "an evaluation in the loop."
            )
        if [value.requires_grad for value in self._parameters] != self._trained:
            raise ParameterError(
                "parameters were frozen or unfrozen since the training was attached. Set requires_grad before attach; "
                "train in two runs, with a plan each, to unfreeze layers later."
            )

    def warn_of_buffers(self) -> None:
        """Warn of buffers that changed: they are in the state of the model, and get no noise."""
        now = dict(self._model.named_buffers())
        changed = [name for name, value in self._buffers.items() if name in now and not torch.equal(now[name], value)]
        if changed:
            warnings.warn(
                f"buffers of the model changed during the training: {', '.join(changed[:5])}. If they were computed "
                f"from the data, the guarantee does not cover them: do not publish them.",
                DpermWarning,
                stacklevel=3,
            )
