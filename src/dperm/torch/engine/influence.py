# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether examples influence each other in a forward pass, and where this begins.

One example is replaced, and what the model makes of the others must not move. All runs have the same shapes, so that
the same kernels run, and the same random numbers; a kernel that treats rows alike returns the same bits. The tolerance,
some hundred roundings of the largest number, is for kernels that do not.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError
from dperm.torch.engine.recompute import in_words
from dperm.torch.engine.synthetic import Call, Examples
from dperm.torch.engine.untouched import seeded, without_dropout

EXAMPLES = 3
SIZES = (EXAMPLES, EXAMPLES + 2, 1)
"""Of batches that a model must know: samples are of any size, and one without examples is padded to one row."""
ROUNDINGS = 2.0**8
KERNELS = 2.0**14
"""The same for batches of different sizes, which other kernels may treat, with sums in another order."""


@dataclass
class Trace:
    """What goes into modules and comes out, in the order of the run: (module, its parent, whether into it, values)."""

    events: list[tuple[nn.Module, nn.Module | None, bool, list[Tensor]]] = field(default_factory=list)
    stack: list[nn.Module] = field(default_factory=list)

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module begins."""
        self.events.append((module, self.stack[-1] if self.stack else None, True, _rows((args, kwargs))))
        self.stack.append(module)

    def after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """It ends."""
        self.stack.pop()
        self.events.append((module, self.stack[-1] if self.stack else None, False, _rows(output)))


def check_influence(model: nn.Module, examples: Examples) -> None:
    """Refuse a model in which one example moves what comes out for another."""
    base = _traced(model, examples.batch(EXAMPLES))
    for row in range(EXAMPLES):
        other = _traced(model, examples.changed(EXAMPLES, row))
        if _moved(base.events[-1][3], other.events[-1][3], row):
            raise _refusal(model, base, other, row)


def check_sizes(model: nn.Module, examples: Examples) -> None:
    """Refuse a model whose output for an example depends on how many there are; random ones cannot be compared."""
    with without_dropout(model):
        seeded()
        state = torch.get_rng_state()
        found = {size: outputs(model, examples, size) for size in SIZES}
        if not torch.equal(torch.get_rng_state(), state):
            return
    for size in SIZES[1:]:
        rows = min(size, EXAMPLES)
        pairs = [(one, two) for one, two in zip(found[EXAMPLES], found[size], strict=True) if one.requires_grad]
        if not all(_near(one[:rows].detach(), two[:rows].detach(), KERNELS) for one, two in pairs):
            raise AssumptionError(
                "the output for an example depends on the number of examples in the batch, which is private. Divide by "
                "nothing that has this size, and write the forward pass for each example alone."
            )


def outputs(model: nn.Module, examples: Examples, size: int) -> list[Tensor]:
    """All tensors that the model returns for a batch of this size."""
    seeded()
    args, kwargs = examples.batch(size)
    return [leaf for leaf in tree_leaves(model(*args, **kwargs)) if isinstance(leaf, Tensor)]


def _traced(model: nn.Module, call: Call) -> Trace:
    trace = Trace()
    hooks: list[Any] = []
    for module in model.modules():
        hooks.append(module.register_forward_pre_hook(trace.before, with_kwargs=True))
        hooks.append(module.register_forward_hook(trace.after))
    try:
        seeded()
        model(*call[0], **call[1])
    finally:
        for hook in hooks:
            hook.remove()
    return trace


def _rows(values: Any) -> list[Tensor]:
    """Copies of all tensors: modules may overwrite what they are given."""
    return [leaf.detach().clone() for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _moved(base: list[Tensor], other: list[Tensor], row: int) -> bool:
    """Whether rows other than the one that was changed differ; tensors without a row for each example do not count."""
    if len(base) != len(other):
        return True
    return any(_differs(one, two, row) for one, two in zip(base, other, strict=True))


def _differs(one: Tensor, two: Tensor, row: int) -> bool:
    if one.dim() == 0 or len(one) != EXAMPLES or one.shape != two.shape:
        return one.shape != two.shape
    keep = [i for i in range(EXAMPLES) if i != row]
    return not _near(one[keep], two[keep], ROUNDINGS)


def _near(one: Tensor, two: Tensor, roundings: float) -> bool:
    if one.shape != two.shape or not one.is_floating_point():
        return torch.equal(one, two)
    scale = float(one.abs().nan_to_num(0, 0, 0).max()) if one.numel() else 0.0
    tolerance = roundings * torch.finfo(one.dtype).eps * scale
    return torch.allclose(one, two, rtol=0, atol=tolerance, equal_nan=True)


def _refusal(model: nn.Module, base: Trace, other: Trace, row: int) -> AssumptionError:
    """The refusal, with the first place at which another example moves."""
    names = {module: name for name, module in model.named_modules()}
    where, culprit = in_words(""), model
    for (module, parent, into, one), (_, _, _, two) in zip(base.events, other.events, strict=False):
        if _moved(one, two, row):
            culprit = (parent or model) if into else module
            where = in_words(names[culprit])
            if into and parent is not None:
                where = f"the forward pass of {where}, before {in_words(names[module])}"
            break
    return AssumptionError(
        f"the output for an example depends on other examples of the batch, from {where} "
        f"({type(culprit).__name__}) on: no example has a gradient of its own, and clipping would bound nothing. "
        f"{_remedy(culprit)}"
    )


def _remedy(module: nn.Module) -> str:
    if getattr(module, "batch_first", None) is False:
        return "It takes the second dimension for the examples: use batch_first=True."
    return (
        "Work along other dimensions than the first, that of the examples: means, norms and softmax within an example."
    )
