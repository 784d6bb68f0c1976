# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""State of a model: snapshots, runs without side effects, and the check for retained data.

A snapshot covers parameters, buffers, and tensors and containers among plain attributes. Snapshots ignore numbers,
because a module may count. They also ignore functions, modules in containers, and the inside of other objects.

A model must not keep data of its examples. It runs on two batches without common rows, each time from its first state.
Parameters and buffers must not change at all. Other attributes may change if both batches leave the same values and one
more run leaves them unchanged: a mask or a table of positions built in the first run is not data.
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
"""Largest nesting depth of inspected containers."""
INTERNAL = frozenset(vars(nn.Module()))
"""Attributes of every module."""
REGISTERED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
"""Containers of registered parameters, buffers and modules."""
VALUES = (str, bytes, torch.device, torch.dtype, torch.layout)
"""Types compared by value."""


@dataclass(frozen=True)
class ModelSnapshot:
    """Copy of the state of a model, from which it can be restored.

    Attributes
    ----------
    registered, plain
        Copies of parameters and buffers, keyed by name, and fingerprints of attributes for comparison.
    tensors, containers
        All tensors and containers, with copies.
    """

    registered: dict[str, Tensor] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)
    tensors: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    containers: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, model: nn.Module, *, attributes_only: bool = False) -> "ModelSnapshot":
        """Return a snapshot of the current state of ``model``."""
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

    def restore(self, *, attributes_only: bool = False) -> None:
        """Restore all tensors and containers to the snapshot, or only those that are not parameters or buffers."""
        for now, before in self.containers:
            _restore_container(now, before)
        kept = {id(value) for value in self.registered.values()} if attributes_only else set()
        with torch.no_grad():
            for tensor, value in self.tensors.values():
                if id(value) not in kept and not same_values(tensor, value):
                    tensor.copy_(value)

    def first_change(self, model: nn.Module) -> str | None:
        """Return the name of a parameter or buffer that is changed or new, or None."""
        now = dict(_registered(model))
        names = {**self.registered, **now}
        return next((name for name in names if not self._has(name, now.get(name))), None)

    def first_difference(self, other: "ModelSnapshot") -> str | None:
        """Return the name of an attribute that has another value in ``other``, or None."""
        names = {**self.plain, **other.plain}
        return next(
            (name for name in names if not _same_fingerprint(self.plain.get(name), other.plain.get(name))), None
        )

    def _has(self, name: str, value: Tensor | None) -> bool:
        before = self.registered.get(name)
        return before is not None and value is not None and same_values(value, before)

    def _copy(self, value: Tensor) -> Tensor:
        if id(value) not in self.tensors:
            # Sparse tensors are not copied: comparing them is slow.
            copy = value.detach().clone() if value.layout is torch.strided else value
            self.tensors[id(value)] = (value, copy)
        return self.tensors[id(value)][1]

    def _fingerprint(self, value: Any, depth: int) -> Any:
        """Return a comparable copy of an attribute; None for numbers and ignored objects."""
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
    """Return whether two tensors hold the same values, with NaN equal to NaN."""
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
    """Return whether two fingerprints agree. Other objects must be identical."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return same_values(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return bool(one[0] == other[0]) and all(map(_same_fingerprint, one[1], other[1]))
    return one is other or (isinstance(one, VALUES) and type(one) is type(other) and bool(one == other))


def _restore_container(now: Any, before: Any) -> None:
    """Restore the contents of a container if they have changed."""
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
"""Seed of torch's generators during a check, so dropout is the same in every run."""


@contextmanager
def preserve_state(model: nn.Module) -> Iterator[ModelSnapshot]:
    """Restore torch's generators, parameters, buffers and attributes after the block."""
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    held = ModelSnapshot.of(model)
    with torch.random.fork_rng(devices):
        try:
            yield held
        finally:
            held.restore()


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Set the rates of all dropout layers to 0 inside the block; their modes stay."""
    kept = list(_dropout_rates(model))
    for module, name, _ in kept:
        setattr(module, name, 0.0)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def has_dropout(model: nn.Module) -> bool:
    """Return whether a layer in training mode applies dropout."""
    return any(module.training for module, _, _ in _dropout_rates(model))


def _dropout_rates(model: nn.Module) -> Iterator[tuple[nn.Module, str, float]]:
    """Yield layers with dropout, and the name and value of the attribute that holds the rate."""
    for module in model.modules():
        name = "p" if isinstance(module, _DropoutNd) else "dropout"
        value = getattr(module, name, None)
        if isinstance(value, float) and value > 0:
            yield module, name, value


def reseed() -> None:
    """Reset torch's generators to the same seed. Use only inside `preserve_state`."""
    torch.default_generator.manual_seed(SEED)
    if torch.cuda.is_initialized():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(SEED)


def check_no_retained_data(model: nn.Module, examples: Examples, start: ModelSnapshot) -> None:
    """Refuse a model that keeps data of examples in its attributes. ``start`` is its state before any run."""
    one = _snapshot_after_run(model, examples, start, shift=0)
    other = _snapshot_after_run(model, examples, start, shift=1)
    reseed()
    args, kwargs = examples.batch(EXAMPLES)
    model(*args, **kwargs)
    again = ModelSnapshot.of(model, attributes_only=True)
    # If the batches share rows, equal results of both runs prove nothing.
    before = other if examples.has_distinct_rows(EXAMPLES) else start
    name = before.first_difference(one) or other.first_difference(again)
    if name is not None:
        raise AssumptionError(
            f"the forward pass changes the attribute {name!r} (a tensor, or the contents of a list or dict): it would "
            f"hold private data without noise, and carry examples from one batch into the next.",
            remedy="Use a local variable, or return the value. Create values independent of the examples in __init__.",
        )


def check_unchanged_buffers(model: nn.Module, start: ModelSnapshot) -> None:
    """Refuse a model that has changed its parameters or buffers since ``start``."""
    name = start.first_change(model)
    if name is not None:
        raise AssumptionError(
            f"the forward pass changes the buffer or parameter {name!r}: it would hold private data without noise, and "
            f"carry examples from one batch into the next.",
            remedy="Use a layer without running statistics (track_running_stats=False, nn.GroupNorm), or put it into "
            "eval mode; keep nothing of a batch in a buffer.",
        )


def _snapshot_after_run(model: nn.Module, examples: Examples, start: ModelSnapshot, *, shift: int) -> ModelSnapshot:
    """Return the attributes after a run from the first state.

    Parameters and buffers need no restoring: a change is refused, whichever run made it.
    """
    start.restore(attributes_only=True)
    reseed()
    args, kwargs = examples.batch(EXAMPLES, shift=shift)
    model(*args, **kwargs)
    check_unchanged_buffers(model, start)
    return ModelSnapshot.of(model, attributes_only=True)
