# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A rehearsal of the user's loop, which tells whether one record acts on the losses or gradients of others.

A model is checked on synthetic inputs, but what a loop does with a batch before the model, and what it makes of its
outputs, no check can see. So now and then a batch is given to the loop twice more: as it is, and in another order
without its first record. The losses of all other records and the norms of their gradients have to be the same: whatever
mixes records, or looks at their number or order, moves them. Nothing of a rehearsal is added to a sum.

Dropout is off meanwhile. Where random numbers of torch are drawn all the same, the second batch has the same rows in
the same order, with the first one replaced by the second.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from dperm.errors import AssumptionError, DpermWarning
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.tape import refuse_second_backward
from dperm.torch.engine.untouched import without_dropout
from dperm.torch.records import Batch

TOLERANCE = 2e-3
"""Relative: rounding is far smaller, one record among a thousand is larger if it is as long as the others."""
SMALL = 1e-5
"""Of the clip norm: differences below it do not count."""
FIRST = (0, 1, 10, 100, 1000)
"""Steps before which there is a rehearsal: at the first parameters, and when they have moved."""


@dataclass
class Rehearsal:
    """What was seen in the rehearsal that is under way.

    Attributes
    ----------
    gradients
        The engine.
    parameters
        What is trained, with names.
    clip_norm
        That of the plan.
    enabled
        Whether there are rehearsals at all.
    """

    gradients: PerExampleGradients
    parameters: Sequence[tuple[str, nn.Parameter]]
    clip_norm: float
    enabled: bool = True
    _seen: list[tuple[Tensor, dict[str, Tensor]]] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)
    _exchanged: bool = False

    def is_due(self, draws: int, batch: Batch, rows: int) -> bool:
        """Whether to rehearse with this batch before the next step: it needs two rows, all of them in tensors."""
        due = self.enabled and draws in FIRST and draws not in self._done and rows > 1
        return due and all(_has_rows(leaf, rows) for leaf in pytree.tree_leaves(batch))

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing is dropped, and torch's random numbers go on afterwards as if nothing had been."""
        state = torch.random.get_rng_state()
        try:
            with without_dropout(self.gradients.model):
                yield
        finally:
            torch.random.set_rng_state(state)

    def batches(self, batch: Batch, rows: int, draws: int) -> Iterator[tuple[Batch, int]]:
        """The batch as it is, and another one; each with its number of rows."""
        self._seen, start = [], torch.random.get_rng_state()
        yield batch, rows
        is_random = not torch.equal(torch.random.get_rng_state(), start)
        torch.random.set_rng_state(start)
        order = [1, *range(1, rows)] if is_random else _order(rows)
        self._exchanged = is_random and any(_differ(leaf) for leaf in pytree.tree_leaves(batch))
        yield pytree.tree_map_only(Tensor, lambda values: values[order], batch), len(order)
        self._judge(order, skip=is_random)
        self._done.add(draws)

    def note(self, losses: Tensor) -> None:
        """Look at the losses of a batch of the rehearsal, and at the gradients of its records."""
        values = [parameter for _, parameter in self.parameters]
        plain = None
        if not self._seen:
            plain = _plain(losses, values)
        lifted = self.gradients.lifted()
        factors = {id(parameter): factor for parameter, factor in self.gradients.factors(losses)}
        norms = {}
        with torch.no_grad():
            for place, (name, parameter) in enumerate(self.parameters):
                factor = factors.get(id(parameter))
                if plain is not None and id(parameter) not in lifted:
                    total = None if factor is None else factor.weighted(torch.ones_like(losses, dtype=parameter.dtype))
                    _check_use(name, total, plain[place])
                if factor is not None:
                    norms[name] = factor.squared_norms().clamp(min=0).sqrt()
        self._seen.append((losses.detach(), norms))

    def _judge(self, order: list[int], *, skip: bool) -> None:
        """Refuse a loop in which records act on each other."""
        (losses, norms), (again, changed) = self._seen
        kept = slice(1 if skip else 0, None)
        moved = [not _same(losses[order][kept], again[kept], 1.0)]
        moved += [not _same(norms[name][order][kept], changed[name][kept], self.clip_norm) for name in changed]
        if self._exchanged and _is_ignored(losses, again, norms, changed):
            warnings.warn(
                "the loss of a record did not change when another record was put in its place. If the loop takes rows "
                "from elsewhere than the batch that it is given, such as random rows of its own, the guarantee does "
                "not cover them: use the batch of the loop.",
                DpermWarning,
                stacklevel=2,
            )
        if any(moved):
            raise AssumptionError(
                "one record acts on the losses or gradients of others: they moved when it was left out and the others "
                "were given in another order. Look for means, sums, counts, sorting or the length of the batch in the "
                "loop, in the loss (loss / len(x), a shape (n, 1) beside (n,)) and in the model, and make each loss "
                "one of its own record. If the loop draws random numbers that torch does not know, attach with "
                "rehearsal=False."
            )


def _differ(leaf: Tensor) -> bool:
    """Whether the first two rows are different."""
    return not torch.equal(leaf[0], leaf[1])


def _is_ignored(losses: Tensor, again: Tensor, norms: dict[str, Tensor], changed: dict[str, Tensor]) -> bool:
    """Whether the loss of the first record, which is not 0, and all its gradients are the same to the last bit."""
    kept = [float(norms[name][0]) == float(changed[name][0]) for name in changed if name in norms]
    return bool(losses[0] != 0) and bool(losses[0] == again[0]) and all(kept)


def _order(rows: int) -> list[int]:
    """All rows but the first, each in a place of the other parity: backwards, or the second half before the first."""
    if rows % 2 == 0:
        return list(range(rows - 1, 0, -1))
    middle = rows // 2 | 1
    return [*range(middle, rows), *range(1, middle)]


def _plain(losses: Tensor, values: list[nn.Parameter]) -> tuple[Tensor | None, ...]:
    """The gradient of the sum of the losses, as ``backward()`` finds it."""
    try:
        return torch.autograd.grad(losses.sum(), values, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        refuse_second_backward(error)
        raise


def _check_use(name: str, total: Tensor | None, plain: Tensor | None) -> None:
    """The sum of all examples' gradients is the gradient of the sum."""
    if plain is None or (total is not None and _close(total, plain)):
        return
    if total is None and not bool(plain.any()):
        return
    raise AssumptionError(
        f"the gradients of the examples do not add up to that of the parameter {name!r}. Either the loss mixes "
        f"examples (a mean, a sum or a softmax over the batch): make each loss one of its own example. Or the "
        f"parameter is used outside of the model's forward pass, or hooked: use it in the model, and put penalties "
        f"(weight decay) into the optimizer."
    )


def _close(one: Tensor, other: Tensor) -> bool:
    if not (bool(one.isfinite().all()) and bool(other.isfinite().all())):
        return True  # a row that is not finite makes both so; it will count for nothing
    scale = float(torch.linalg.vector_norm(one) + torch.linalg.vector_norm(other))
    return float(torch.linalg.vector_norm(one - other)) <= TOLERANCE * scale + 1e-12


def _same(one: Tensor, other: Tensor, unit: float) -> bool:
    """Whether numbers agree to rounding; those that are not finite have to be so in both."""
    finite = one.isfinite() & other.isfinite()
    if not torch.equal(one.isfinite(), other.isfinite()):
        return False
    near = (one - other).abs() <= TOLERANCE * (one.abs() + other.abs()) + SMALL * unit
    return bool((near | ~finite).all())


def _has_rows(leaf: object, rows: int) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0 and leaf.shape[0] == rows
