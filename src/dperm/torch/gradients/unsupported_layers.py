# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Refusal of models that cannot have per-example gradients, without running them.

`ParameterGuard` watches the first forward pass of an unchecked model for parameters used outside recorded layers.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError
from dperm.torch.gradients.layers import SITES_REMEDY, describe_layer
from dperm.torch.gradients.lifting import is_gradless
from dperm.torch.gradients.rules.embedding import check_table


def check_compiled(model: nn.Module) -> None:
    """Refuse modules changed by ``torch.compile`` or ``compile()``: their inner calls cannot be recorded."""
    for name, module in model.named_modules():
        is_made = type(module).__name__ == "OptimizedModule" and "_orig_mod" in module._modules
        if is_made or getattr(module, "_compiled_call_impl", None) is not None:
            raise AssumptionError(
                f"{describe_layer(name)} is compiled by torch.compile, so the operations inside cannot be observed.",
                remedy="Pass the uncompiled model; private.compiled(loss) compiles the whole private step.",
            )


def check_parameters(model: nn.Module) -> None:
    """Refuse models without trained parameters, and parameters of unsupported types."""
    check_compiled(model)
    if any(is_lazy(parameter) for parameter in model.parameters()):
        raise AssumptionError(
            "the model has lazy layers: their parameters have no shape yet.",
            remedy="Run the model once on a batch of synthetic inputs.",
        )
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if not trained:
        raise AssumptionError(
            "all parameters of the model are frozen, so there is nothing to train.",
            remedy="Set requires_grad on some of them.",
        )
    for name, parameter in trained:
        if parameter.is_complex():
            raise AssumptionError(
                f"the parameter {name!r} is complex; clipping is defined for real gradients only.",
                remedy="Keep real and imaginary parts in two parameters, or freeze it.",
            )
        if parameter.dtype not in (torch.float32, torch.float64):
            raise AssumptionError(
                f"the parameter {name!r} is of type {_type(parameter.dtype)}: norms and sums of clipped gradients in "
                f"half precision are not supported, because rounding would break the bound.",
                remedy="Use model.float().",
            )


def check_layers(model: nn.Module) -> None:
    """Refuse layers that are known to mix examples in their current mode."""
    for name, module in model.named_modules():
        _check_layer(name, module)


def refusal_of(name: str, module: nn.Module) -> str:
    """Return the reason for refusing a layer in its current mode as one sentence; empty if it is supported."""
    try:
        _check_layer(name, module)
    except AssumptionError as error:
        return error.problem.removesuffix(".")
    return ""


def watched_layers(model: nn.Module) -> Callable[[], None]:
    """Install hooks that check normalization layers at every run, in their mode at that time.

    Returns a function that removes the hooks.
    """
    hooks = [
        module.register_forward_pre_hook(lambda layer, _, name=name: _check_layer(name, layer))
        for name, module in model.named_modules()
        if isinstance(module, _BatchNorm) or (isinstance(module, _InstanceNorm) and not _is_trained(module))
    ]

    def undo() -> None:
        for hook in hooks:
            hook.remove()

    return undo


def _check_layer(name: str, module: nn.Module) -> None:
    kind = type(module).__name__
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):  # frozen ones too, because a forward pass may change them
        check_table(module)
    if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None):
        raise AssumptionError(
            f"{describe_layer(name)} ({kind}) normalizes with statistics of the whole batch, so that no example has a "
            f"gradient of its own.",
            remedy="Replace it by nn.GroupNorm (nn.LayerNorm for vectors), or put it into eval mode, with running "
            "statistics from other data than the private data.",
        )
    if isinstance(module, _InstanceNorm) and module.training and module.track_running_stats:
        raise AssumptionError(
            f"{describe_layer(name)} ({kind}) keeps running statistics of the private data; they would be published "
            f"without noise.",
            remedy="Use track_running_stats=False.",
        )


def _is_trained(module: nn.Module) -> bool:
    """Return whether the layer has a site; sites have their own check."""
    return any(parameter.requires_grad for parameter in module.parameters())


def _type(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class ParameterGuard(TorchFunctionMode):
    """Torch function mode that watches the first forward pass of a model outside its recorded modules."""

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
        """Refuse a torch function that uses a trained parameter outside its layer."""
        result = func(*args, **(kwargs or {}))
        if self._inside or is_gradless(func):
            return result
        met = [
            leaf for leaf in tree_leaves((args, kwargs or {})) if isinstance(leaf, Tensor) and id(leaf) in self._names
        ]
        if met and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in tree_leaves(result)):
            raise AssumptionError(
                f"the parameter {self._names[id(met[0])]!r} is used outside its own layer, where its gradients are not "
                f"recorded.",
                remedy=SITES_REMEDY,
            )
        return result

    def remove(self) -> None:
        """Remove all hooks of the guard."""
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
        """Remove the guard. Not called after an error, while torch still iterates over the hooks."""
        if self._seen:
            self.remove()

    def _enter(self, *_: Any) -> None:
        self._inside += 1

    def _leave(self, *_: Any) -> None:
        self._inside -= 1
