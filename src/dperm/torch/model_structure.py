# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Structure of a model at the start of training: layers, modes, hooks, trained parameters and buffers."""

import warnings
from operator import attrgetter, methodcaller

import torch
from torch import nn

from dperm.errors import DpermWarning, ParameterError

_MODE, _TRAINED = attrgetter("training"), attrgetter("requires_grad")
_FORWARD = methodcaller("get", "forward")


class ModelStructure:
    """Structure of ``model`` as it was checked, compared before every step."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._modules, self._parameters = list(model.modules()), list(model.parameters())
        self._parents = [module._modules for module in self._modules if module._modules]
        self._own = [vars(module) for module in self._modules]
        self._hooks = [
            hooks for module in self._modules for hooks in (module._forward_pre_hooks, module._forward_hooks)
        ]
        self._modes = list(map(_MODE, self._modules))
        self._trained = list(map(_TRAINED, self._parameters))
        self._classes, self._children = list(map(type, self._modules)), list(map(_members, self._parents))
        self._forwards = list(map(_FORWARD, self._own))
        self.note_hooks()
        self._buffers = {name: value.detach().clone() for name, value in model.named_buffers()}

    def note_hooks(self) -> None:
        """Accept the current hooks as checked, after dperm changed its own hooks."""
        self._hooked = list(map(tuple, self._hooks))

    def check(self) -> None:
        """Refuse a step of a model whose structure changed since it was checked.

        Raises
        ------
        ParameterError
            If layers were switched between training and evaluation, exchanged or hooked, or parameters frozen or
            unfrozen.
        """
        if list(map(_MODE, self._modules)) != self._modes:
            raise ParameterError(
                "the model was attached in another mode (train or eval) of its layers than it is in now, and was "
                "checked in that mode.",
                remedy="Call model.train() or model.eval() before attach, and again before step after an evaluation "
                "in the loop.",
            )
        if list(map(_TRAINED, self._parameters)) != self._trained:
            raise ParameterError(
                "parameters were frozen or unfrozen since the training was attached.",
                remedy="Set requires_grad before attach. To unfreeze layers later, train in two runs with a plan each.",
            )
        if (
            list(map(tuple, self._hooks)) != self._hooked
            or list(map(_members, self._parents)) != self._children
            or list(map(_FORWARD, self._own)) != self._forwards
            or list(map(type, self._modules)) != self._classes
        ):
            raise ParameterError(
                "layers of the model, their hooks or their forward functions were changed since the training was "
                "attached. The model was checked before these changes.",
                remedy="Change and hook a model before attach.",
            )

    def warn_of_buffers(self) -> None:
        """Warn of changed buffers: they are part of the model's state, and have no noise."""
        now = dict(self._model.named_buffers())
        changed = [name for name, value in self._buffers.items() if name in now and not torch.equal(now[name], value)]
        if changed:
            warnings.warn(
                f"buffers of the model changed during the training: {', '.join(changed[:5])}. If they were computed "
                f"from the data, the guarantee does not cover them: do not publish them.",
                DpermWarning,
                stacklevel=3,
            )


def _members(modules: dict[str, nn.Module | None]) -> tuple[nn.Module | None, ...]:
    """Child modules of a module; tuples of modules compare by identity."""
    return tuple(modules.values())
