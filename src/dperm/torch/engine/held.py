# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a model holds at one moment: parameters, buffers, and tensors and containers among its plain attributes.

Numbers are not looked at: a module may count. Neither are functions, modules in containers, and the insides of objects
of other classes.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import torch
from torch import Tensor, nn

DEEPEST = 8
"""Containers in containers that are looked into."""
INTERNAL = frozenset(vars(nn.Module()))
REGISTERED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
VALUES = (str, bytes, torch.device, torch.dtype, torch.layout)


@dataclass(frozen=True)
class Held:
    """A copy of what a model holds, from which it can be restored.

    Attributes
    ----------
    registered, plain
        By name, copies of parameters and buffers, and prints of attributes, by which they can be compared.
    tensors, containers
        All of them, with copies.
    """

    registered: dict[str, Tensor] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)
    tensors: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    containers: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def by(cls, model: nn.Module, *, attributes_only: bool = False) -> "Held":
        """What ``model`` holds now."""
        held = cls()
        for name, value in () if attributes_only else _registered(model):
            held.registered[name] = held._copy(value)
        for name, module in model.named_modules():
            own = vars(module)
            held.containers.extend([(own, dict(own)), *((own[key], own[key].copy()) for key in REGISTERED)])
            for key, value in own.items():
                if key not in INTERNAL:
                    held.plain[f"{name}.{key}" if name else key] = held._print(value, 0)
        return held

    def restore(self) -> None:
        """Make everything what it was."""
        for now, before in self.containers:
            _refill(now, before)
        with torch.no_grad():
            for tensor, value in self.tensors.values():
                if not same(tensor, value):
                    tensor.copy_(value)

    def changed(self, model: nn.Module) -> str | None:
        """The name of a parameter or buffer that is not what it was, or is new."""
        now = dict(_registered(model))
        names = {**self.registered, **now}
        return next((name for name in names if not self._has(name, now.get(name))), None)

    def differing(self, other: "Held") -> str | None:
        """The name of an attribute that is another one in ``other``."""
        names = {**self.plain, **other.plain}
        return next((name for name in names if not _alike(self.plain.get(name), other.plain.get(name))), None)

    def _has(self, name: str, value: Tensor | None) -> bool:
        before = self.registered.get(name)
        return before is not None and value is not None and same(value, before)

    def _copy(self, value: Tensor) -> Tensor:
        if id(value) not in self.tensors:
            # Sparse ones, which cannot be compared quickly, stand for themselves.
            copy = value.detach().clone() if value.layout is torch.strided else value
            self.tensors[id(value)] = (value, copy)
        return self.tensors[id(value)][1]

    def _print(self, value: Any, depth: int) -> Any:
        """A copy of what matters of an attribute; None for numbers, and for what is not looked at."""
        if isinstance(value, Tensor):
            return value if isinstance(value, nn.Parameter) else self._copy(value)
        if isinstance(value, list | tuple | dict | set | frozenset | deque) and depth < DEEPEST:
            if not isinstance(value, tuple | frozenset):
                self.containers.append((value, value.copy()))
            inner = value.values() if isinstance(value, dict) else () if isinstance(value, set | frozenset) else value
            return (len(value), [self._print(part, depth + 1) for part in inner])
        if value is None or isinstance(value, Number | nn.Module) or callable(value):
            return None
        return value


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same values, NaN where NaN."""
    if one is other:
        return True
    if (one.shape, one.dtype, one.device) != (other.shape, other.dtype, other.device):
        return False
    if one.layout is not torch.strided or other.layout is not torch.strided:
        return False
    return torch.equal(one, other) or bool(((one == other) | ((one != one) & (other != other))).all())


def _registered(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_buffers()
    yield from model.named_parameters()


def _alike(one: Any, other: Any) -> bool:
    """Whether two prints are the same; objects that are neither tensors nor values have to be identical."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return same(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return bool(one[0] == other[0]) and all(map(_alike, one[1], other[1]))
    return one is other or (isinstance(one, VALUES) and type(one) is type(other) and bool(one == other))


def _refill(now: Any, before: Any) -> None:
    """The contents of a container as they were; nothing is done if they are."""
    if isinstance(now, set):
        same_parts = now == before
    elif isinstance(now, dict):
        same_parts = list(now) == list(before) and all(now[key] is value for key, value in before.items())
    else:
        same_parts = len(now) == len(before) and all(one is other for one, other in zip(now, before, strict=True))
    if not same_parts:
        now.clear()
        now.update(before) if isinstance(now, dict | set) else now.extend(before)
