# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Independence of an example's output from the other examples, their number and their order.

One example is replaced, and the results for the others must not change. All runs have the same shapes and random
numbers, so the same kernels run. A kernel that treats rows alike returns the same bits, or nearly so. Outputs are also
compared between batches of different sizes and orders.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError
from dperm.torch.gradients.layers import describe_layer
from dperm.torch.model_checks.model_state import reseed, without_dropout
from dperm.torch.model_checks.synthetic_inputs import EXAMPLES, Call, Examples, is_large
from dperm.torch.model_checks.trials import Trial

SIZES = (EXAMPLES, EXAMPLES + 2, 1)
"""Batch sizes supported by a usable model. Samples have any size; an empty sample is padded to one row."""
ROUNDINGS = 2.0**8
"""Tolerance in roundings, for kernels that do not treat rows alike."""
KERNELS = 2.0**14
"""Tolerance in roundings between batch sizes: another kernel may add in another order."""
GAP = 10
"""Difference of binary exponents between groups of magnitudes."""


def nearly_equal(one: Tensor, two: Tensor, roundings: float = ROUNDINGS) -> bool:
    """Return whether two tensors agree up to rounding. Values that are not finite must be identical."""
    if one.shape != two.shape or not one.is_floating_point():
        return torch.equal(one, two)
    if torch.equal(one, two):
        return True
    finite = one.isfinite()
    same = (one == two) | (one.isnan() & two.isnan())
    close = (one - two).abs() <= roundings * torch.finfo(one.dtype).eps * _scales(one)
    return bool((same | (close & finite & two.isfinite())).all())


def _scales(values: Tensor) -> Tensor:
    """Return the largest value of the magnitude group of each entry.

    A mask entry of -1e9 says nothing about the rounding of logits. A new group starts where a value exceeds all smaller
    ones by a factor of 2^10.
    """
    counts = values.isfinite() & (values != 0)
    if not bool(counts.any()):
        return torch.zeros_like(values)
    exponents = torch.where(counts, values, 1).frexp().exponent.long()
    present: list[int] = sorted(exponents[counts].unique().tolist())
    exponents = torch.where(counts, exponents, present[0])
    tops: dict[int, int] = {}
    for exponent, above in zip(reversed(present), [None, *reversed(present)], strict=False):
        tops[exponent] = exponent if above is None or above - exponent > GAP else tops[above]
    kinds = torch.tensor([2.0 ** tops[exponent] for exponent in present], dtype=torch.float64, device=values.device)
    return kinds[torch.searchsorted(torch.tensor(present, device=values.device), exponents)].to(values.dtype)


@dataclass
class ModuleTrace:
    """Inputs and outputs of all modules in the order of a run: (module, parent, whether input, values)."""

    events: list[tuple[nn.Module, nn.Module | None, bool, list[Tensor]]] = field(default_factory=list)
    stack: list[nn.Module] = field(default_factory=list)

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record the start of a module call and its inputs."""
        self.events.append((module, self.stack[-1] if self.stack else None, True, _tensor_copies((args, kwargs))))
        self.stack.append(module)

    def after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Record the end of a module call and its outputs."""
        self.stack.pop()
        self.events.append((module, self.stack[-1] if self.stack else None, False, _tensor_copies(output)))


def check_independent_outputs(model: nn.Module, trial: Trial) -> None:
    """Refuse a model whose outputs, or inner results, for one example depend on another example."""
    examples = trial.examples
    call = examples.batch(EXAMPLES)
    brief = is_large(model)
    base = _trace(model, call)
    larger = None if brief and trial.replaces_parameters else _trace_or_none(model, examples.batch(SIZES[1]))
    rows = ((0, 2) if trial.replaces_parameters else (1,)) if brief else range(EXAMPLES)
    for row in rows:
        changes = [examples.with_other_row(EXAMPLES, row)]
        changes += [examples.replace_row(call, row, other.batch(EXAMPLES)) for other in trial.others]
        if row == 1 and not examples.public:
            changes.append(examples.with_nan_row(call, row))
        for change in changes:
            other = _trace_or_none(model, change)
            if other is None:
                continue
            if _other_rows_differ(base.events[-1][3], other.events[-1][3], row) or _inner_rows_differ(
                base, other, larger
            ):
                raise _dependence_error(model, base, other, row)


def describe_shared_lookup(model: nn.Module, examples: Examples) -> str:
    """Return a remedy for an embedding with one slow lookup for all examples; empty if there is none."""
    names = {module: name for name, module in model.named_modules()}
    for module, _, into, values in _trace(model, examples.batch(EXAMPLES)).events:
        if (
            into
            and isinstance(module, nn.Embedding)
            and values
            and (values[0].dim() == 0 or len(values[0]) != EXAMPLES)
        ):
            return (
                f"{describe_layer(names[module])} is looked up once for all examples; a row of indices for each, as in "
                f"pos(torch.arange(T).expand(len(x), T)), is fast"
            )
    return ""


def outputs(model: nn.Module, examples: Examples, size: int) -> list[Tensor]:
    """Return all output tensors for a batch of this size."""
    return output_tensors(model, examples.batch(size))


def output_tensors(model: nn.Module, call: Call) -> list[Tensor]:
    """Return all output tensors for a call."""
    reseed()
    return [leaf for leaf in tree_leaves(model(*call[0], **call[1])) if isinstance(leaf, Tensor)]


def _trace(model: nn.Module, call: Call) -> ModuleTrace:
    trace = ModuleTrace()
    hooks: list[Any] = []
    for module in model.modules():
        hooks.append(module.register_forward_pre_hook(trace.before, with_kwargs=True))
        hooks.append(module.register_forward_hook(trace.after))
    try:
        reseed()
        model(*call[0], **call[1])
    finally:
        for hook in hooks:
            hook.remove()
    return trace


def _trace_or_none(model: nn.Module, call: Call) -> ModuleTrace | None:
    """Return a trace, or None if the model does not accept such rows."""
    try:
        return _trace(model, call)
    except Exception:  # a forward pass may raise any exception
        return None


def _tensor_copies(values: Any) -> list[Tensor]:
    """Return copies of all tensors, because modules may overwrite their inputs."""
    return [leaf.detach().clone() for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _other_rows_differ(base: list[Tensor], other: list[Tensor], row: int) -> bool:
    """Return whether rows other than the changed one differ. Tensors without one row per example do not count."""
    if len(base) != len(other):
        return True
    return any(_differs(one, two, row) for one, two in zip(base, other, strict=True))


def _differs(one: Tensor, two: Tensor, row: int) -> bool:
    if one.dim() == 0 or len(one) != EXAMPLES or one.shape != two.shape:
        return one.shape != two.shape
    keep = [i for i in range(EXAMPLES) if i != row]
    return not nearly_equal(one[keep], two[keep])


def _inner_rows_differ(base: ModuleTrace, other: ModuleTrace, larger: ModuleTrace | None) -> bool:
    """Return whether more than the changed row differs inside the model, where the three runs make the same calls.

    A tensor has one row per example if its length equals the batch size for both sizes. The rows may be in any order,
    because a model may sort them.
    """
    if larger is None:
        return False
    steps = [[(module, into, len(values)) for module, _, into, values in run.events] for run in (base, other, larger)]
    if not steps[0] == steps[1] == steps[2]:
        return False
    for (_, _, _, one), (_, _, _, two), (_, _, _, more) in zip(base.events, other.events, larger.events, strict=True):
        for mine, its, sized in zip(one, two, more, strict=True):
            rows = mine.dim() > 0 and sized.dim() > 0 and (len(mine), len(sized)) == SIZES[:2]
            if (
                rows
                and mine.shape == its.shape
                and mine.is_floating_point()
                and _matching_rows(mine, its) < EXAMPLES - 1
            ):
                return True
    return False


def _matching_rows(one: Tensor, two: Tensor) -> int:
    """Return the number of rows of the first tensor found in the second."""
    same = int((one == two).flatten(1).all(1).sum()) if one.dim() > 1 else int((one == two).sum())
    if same >= EXAMPLES - 1:  # the usual case, and fast
        return same
    return sum(any(nearly_equal(row, its) for its in two) for row in one)


def _dependence_error(model: nn.Module, base: ModuleTrace, other: ModuleTrace, row: int) -> AssumptionError:
    """Return the refusal, with the first module affected by another example."""
    names = {module: name for name, module in model.named_modules()}
    where, culprit = describe_layer(""), model
    for (module, parent, into, one), (_, _, _, two) in zip(base.events, other.events, strict=False):
        if _other_rows_differ(one, two, row):
            culprit = (parent or model) if into else module
            where = describe_layer(names[culprit])
            if into and parent is not None:
                where = f"the forward pass of {where}, before {describe_layer(names[module])}"
            break
    return AssumptionError(
        f"the output for an example depends on other examples of the batch, starting at {where} "
        f"({type(culprit).__name__}): no example has a gradient of its own, and clipping would bound nothing.",
        remedy=_remedy(culprit),
    )


def _remedy(module: nn.Module) -> str:
    if getattr(module, "batch_first", None) is False:
        return "It treats the second dimension as the examples: use batch_first=True."
    return "Compute means, norms and softmax within an example, not along the first dimension, the examples."


MANY, LARGEST = 40, 2**17
"""Examples of a larger batch, and the largest number of its values. Some models mix examples only in larger batches."""


def check_batch_size_independence(model: nn.Module, examples: Examples) -> None:
    """Refuse a model whose output for an example depends on the size or order of the batch.

    Models with random outputs cannot be compared and pass.
    """
    with without_dropout(model):
        reseed()
        state = torch.get_rng_state()
        brief = is_large(model)
        size = SIZES[1] if brief else _larger_size(model, examples)
        call = examples.batch(size)
        whole = [leaf.detach() for leaf in output_tensors(model, call)]
        found = {rows: output_tensors(model, examples.select_rows(call, rows)) for rows in _orders(size, brief=brief)}
        if not torch.equal(torch.get_rng_state(), state):
            return
    for rows, parts in found.items():
        pairs = [(one[list(rows)], two.detach()) for one, two in zip(whole, parts, strict=True) if two.requires_grad]
        if not all(nearly_equal(one, two, KERNELS) for one, two in pairs):
            raise _size_dependence_error(first=rows == tuple(range(len(rows))))


def _larger_size(model: nn.Module, examples: Examples) -> int:
    """Return `MANY`, or fewer examples if inputs and outputs of so many hold more than `LARGEST` values."""
    one = examples.batch(1)
    leaves = tree_leaves((one, output_tensors(model, one)))
    return MANY if MANY * sum(leaf.numel() for leaf in leaves if isinstance(leaf, Tensor)) <= LARGEST else SIZES[1]


def _orders(size: int, *, brief: bool) -> list[tuple[int, ...]]:
    """Return row selections: fewer rows, one alone, without the first, in another order, one row repeated.

    Repeated rows detect models with a limited capacity for examples of one kind.
    """
    if brief:
        return [(0,), (1, 2, 3), (size - 1, 3, 1, 0), (0,) * size]
    return [(0, 1, 2), (0,), (1, 2, 3), (size - 1, 3, 1, 0), (0,) * size, (1,) * size]


def _size_dependence_error(*, first: bool) -> AssumptionError:
    if first:
        return AssumptionError(
            "the output for an example depends on the number of examples in the batch, a private number.",
            remedy="Do not divide by the batch size, and write the forward pass for each example alone.",
        )
    return AssumptionError(
        "the output for an example depends on its position in the batch: without another example, or in another order, "
        "its output changes.",
        remedy="Do not use row numbers (x[::2], arange(len(x)), roll, cumsum), and write the forward pass for each "
        "example alone.",
    )
