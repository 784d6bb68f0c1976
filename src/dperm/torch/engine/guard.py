# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Refuses a forward pass that uses a trained parameter where nothing notes it: for models that were not checked."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError
from dperm.torch.engine.bare import gradless


class Guard(TorchFunctionMode):
    """Watches the first forward pass of a model, outside of the modules that treat their own parameters."""

    def __init__(self, model: nn.Module, modules: Iterable[nn.Module]) -> None:
        super().__init__()
        self._names = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
        self._inside = 0
        self._entered = self._seen = False
        self._hooks = [
            model.register_forward_pre_hook(self._begin, prepend=True),
            model.register_forward_hook(self._end, always_call=True),
            model.register_forward_hook(self._finish),
        ]
        for module in modules:
            self._hooks.append(module.register_forward_pre_hook(self._enter, prepend=True))
            self._hooks.append(module.register_forward_hook(self._leave, always_call=True))

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Any function of torch."""
        result = func(*args, **(kwargs or {}))
        if self._inside or gradless(func):
            return result
        met = [
            leaf for leaf in tree_leaves((args, kwargs or {})) if isinstance(leaf, Tensor) and id(leaf) in self._names
        ]
        if met and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in tree_leaves(result)):
            raise AssumptionError(
                f"the parameter {self._names[id(met[0])]!r} is used outside of the layer that it belongs to, where its "
                f"gradients are not noted. Give PerExampleGradients(model, sites=check_model(model, inputs))."
            )
        return result

    def remove(self) -> None:
        """Watch no longer."""
        while self._hooks:
            self._hooks.pop().remove()

    def _begin(self, *_: Any) -> None:
        if torch.is_grad_enabled() and not self._entered:
            self._entered = True
            self.__enter__()  # type: ignore[no-untyped-call]

    def _end(self, *_: Any) -> None:
        if self._entered:
            self._entered = False
            self._seen = True
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def _finish(self, *_: Any) -> None:
        """Not called after an error, when torch is still going through the hooks."""
        if self._seen:
            self.remove()

    def _enter(self, *_: Any) -> None:
        self._inside += 1

    def _leave(self, *_: Any) -> None:
        self._inside -= 1
