# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a model holds at one moment: parameters, buffers, and tensors and containers among its plain attributes.

Numbers are not looked at: a module may count. Neither are functions, modules in containers, and the insides of objects
of other classes.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from dperm.errors import AssumptionError
from dperm.torch.model_checks.synthetic_inputs import EXAMPLES, Examples

DEEPEST = 8
"""Containers in containers that are looked into."""
INTERNAL = frozenset(vars(nn.Module()))
REGISTERED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
VALUES = (str, bytes, torch.device, torch.dtype, torch.layout)


@dataclass(frozen=True)
class ModelSnapshot:
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
    def of(cls, model: nn.Module, *, attributes_only: bool = False) -> "ModelSnapshot":
        """What ``model`` holds now."""
        held = cls()
        for name, value in () if attributes_only else _registered(model):
            held.registered[name] = held._copy(value)
        for name, module in model.named_modules():
            own = vars(module)
            held.containers.extend([(own, dict(own)), *((own[key], own[key].copy()) for key in REGISTERED)])
            for key, value in own.items():
                if key not in INTERNAL:
                    held.plain[f"{name}.{key}" if name else key] = held._fingerprint(value, 0)
        return held

    def restore(self) -> None:
        """Make everything what it was."""
        for now, before in self.containers:
            _restore_container(now, before)
        with torch.no_grad():
            for tensor, value in self.tensors.values():
                if not same_values(tensor, value):
                    tensor.copy_(value)

    def first_change(self, model: nn.Module) -> str | None:
        """The name of a parameter or buffer that is not what it was, or is new."""
        now = dict(_registered(model))
        names = {**self.registered, **now}
        return next((name for name in names if not self._has(name, now.get(name))), None)

    def first_difference(self, other: "ModelSnapshot") -> str | None:
        """The name of an attribute that is another one in ``other``."""
        names = {**self.plain, **other.plain}
        return next(
            (name for name in names if not _same_fingerprint(self.plain.get(name), other.plain.get(name))), None
        )

    def _has(self, name: str, value: Tensor | None) -> bool:
        before = self.registered.get(name)
        return before is not None and value is not None and same_values(value, before)

    def _copy(self, value: Tensor) -> Tensor:
        if id(value) not in self.tensors:
            # Sparse ones, which cannot be compared quickly, stand for themselves.
            copy = value.detach().clone() if value.layout is torch.strided else value
            self.tensors[id(value)] = (value, copy)
        return self.tensors[id(value)][1]

    def _fingerprint(self, value: Any, depth: int) -> Any:
        """A copy of what matters of an attribute; None for numbers, and for what is not looked at."""
        if isinstance(value, Tensor):
            return value if isinstance(value, nn.Parameter) else self._copy(value)
        if isinstance(value, list | tuple | dict | set | frozenset | deque) and depth < DEEPEST:
            if not isinstance(value, tuple | frozenset):
                self.containers.append((value, value.copy()))
            inner = value.values() if isinstance(value, dict) else () if isinstance(value, set | frozenset) else value
            return (len(value), [self._fingerprint(part, depth + 1) for part in inner])
        if value is None or isinstance(value, Number | nn.Module) or callable(value):
            return None
        return value


def same_values(one: Tensor, other: Tensor) -> bool:
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


def _same_fingerprint(one: Any, other: Any) -> bool:
    """Whether two prints are the same; objects that are neither tensors nor values have to be identical."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return same_values(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return bool(one[0] == other[0]) and all(map(_same_fingerprint, one[1], other[1]))
    return one is other or (isinstance(one, VALUES) and type(one) is type(other) and bool(one == other))


def _restore_container(now: Any, before: Any) -> None:
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


SEED = 20_260_101
"""Of torch's own generators during a check: dropout must drop the same every time."""


@contextmanager
def preserve_state(model: nn.Module) -> Iterator[ModelSnapshot]:
    """Restore what runs of the model change: torch's generators, parameters, buffers, and its attributes."""
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    held = ModelSnapshot.of(model)
    with torch.random.fork_rng(devices):
        try:
            yield held
        finally:
            held.restore()


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Nothing is dropped by the layers of torch, which stay in the mode in which they are."""
    kept = list(_dropout_rates(model))
    for module, name, _ in kept:
        setattr(module, name, 0.0)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def has_dropout(model: nn.Module) -> bool:
    """Whether a layer of torch in training mode drops values."""
    return any(module.training for module, _, _ in _dropout_rates(model))


def _dropout_rates(model: nn.Module) -> Iterator[tuple[nn.Module, str, float]]:
    """Layers that drop values, each with the attribute that holds its positive rate."""
    for module in model.modules():
        name = "p" if isinstance(module, _DropoutNd) else "dropout"
        value = getattr(module, name, None)
        if isinstance(value, float) and value > 0:
            yield module, name, value


def reseed() -> None:
    """Begin again with the same random numbers; only inside of `untouched`."""
    torch.default_generator.manual_seed(SEED)
    if torch.cuda.is_initialized():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(SEED)


def check_no_retained_data(model: nn.Module, examples: Examples, start: ModelSnapshot) -> None:
    """Refuse a model that keeps something of examples; ``start`` is what it held before it was run at all."""
    one = _snapshot_after_run(model, examples, start, shift=0)
    other = _snapshot_after_run(model, examples, start, shift=1)
    reseed()
    args, kwargs = examples.batch(EXAMPLES)
    model(*args, **kwargs)
    again = ModelSnapshot.of(model, attributes_only=True)
    # Where the rows of both batches are not all different, nothing is shown by what they leave.
    before = other if examples.has_distinct_rows(EXAMPLES) else start
    name = before.first_difference(one) or other.first_difference(again)
    if name is not None:
        raise AssumptionError(
            f"the attribute {name!r} is changed by the forward pass (a tensor, or a list or dict with other contents): "
            f"it would hold private data, without noise, and carry examples from one batch into the next. Keep it in a "
            f"local variable, or return it; what depends on no example, make in __init__."
        )


def check_unchanged_buffers(model: nn.Module, start: ModelSnapshot) -> None:
    """Refuse a model whose parameters or buffers are not what they were."""
    name = start.first_change(model)
    if name is not None:
        raise AssumptionError(
            f"the buffer or parameter {name!r} is changed by the forward pass: it would hold private data, without "
            f"noise, and carry examples from one batch into the next. Use a layer without running statistics "
            f"(track_running_stats=False, nn.GroupNorm), or put it into eval mode; keep nothing of a batch in a buffer."
        )


def _snapshot_after_run(model: nn.Module, examples: Examples, start: ModelSnapshot, *, shift: int) -> ModelSnapshot:
    """What a run leaves behind."""
    start.restore()
    reseed()
    args, kwargs = examples.batch(EXAMPLES, shift=shift)
    model(*args, **kwargs)
    check_unchanged_buffers(model, start)
    return ModelSnapshot.of(model, attributes_only=True)
