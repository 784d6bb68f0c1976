# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Losses and per-example gradients of a trial batch, and the comparison of two such observations.

Differences are relative to the norm of an example's whole gradient. The true gradient of a single parameter, such as
the key bias of attention, may be 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from dperm.errors import AssumptionError
from dperm.torch.gradients.factors import GradientFactor
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.tape import refuse_second_backward

Parameters = Sequence[tuple[str, nn.Parameter]]
Factors = list[tuple[nn.Parameter, GradientFactor]]
SMALL = 1e-5
"""Differences below this multiple of the clip norm count as equal."""


class Tolerances(NamedTuple):
    """Largest relative differences attributed to rounding, by the precision of the forward pass.

    Between single and double precision, gradients of 12 layers of ReLU and of attention with enlarged weights differ by
    up to 6e-3 of their norm, mostly by 1e-7. Batches of the same shape run through the same kernels, row by row.
    """

    alone: float
    same_shape: float
    summed: float


SINGLE, DOUBLE, HALF = Tolerances(2e-2, 1e-3, 2e-3), Tolerances(1e-4, 1e-6, 1e-6), Tolerances(2e-1, 2e-2, 2e-2)


@dataclass(frozen=True)
class Observation:
    """Losses and gradients of one batch.

    Attributes
    ----------
    losses
        One loss for each row.
    norms
        Gradient norms of shape (parameters, rows).
    combination
        Sum of the gradients of the compared rows, for each parameter. None stands for a missing gradient.
    tolerances
        Tolerances for the precision of the forward pass.
    """

    losses: Tensor
    norms: Tensor
    combination: list[Tensor | None]
    tolerances: Tolerances

    @property
    def totals(self) -> Tensor:
        """Norm of each row's whole gradient; NaN becomes infinity."""
        norms: Tensor = torch.linalg.vector_norm(self.norms, dim=0)
        return norms.nan_to_num(math.inf, math.inf)


def observation_of(
    losses: Tensor, factors: Factors, *, parameters: Parameters, rows: list[int], tolerances: Tolerances
) -> Observation:
    """Return the observation of a batch from the gradient factors of its losses.

    ``rows`` are the compared rows. Rows with a gradient norm of infinity or NaN contribute nothing to the combination.
    """
    by_id = {id(parameter): factor for parameter, factor in factors}
    found = [by_id.get(id(parameter)) for _, parameter in parameters]
    zeros = torch.zeros(len(losses), dtype=torch.float64, device=losses.device)
    squares = [zeros if factor is None else factor.squared_norms() for factor in found]
    norms = torch.stack([values.double().clamp(min=0).sqrt() for values in squares])
    finite = norms.isfinite().all(0)
    weights = torch.zeros_like(zeros)
    weights[rows] = 1
    weights *= finite
    combined: list[Tensor | None] = []
    for factor, values in zip(found, squares, strict=True):
        kept = factor if factor is None or bool(finite.all()) else factor.masked(finite)
        combined.append(None if kept is None else kept.weighted(weights.to(values.dtype)))
    return Observation(losses.detach().double(), norms, combined, tolerances)


def tolerances_of(gradients: PerExampleGradients, losses: Tensor) -> Tolerances:
    """Return the tolerances for the coarsest precision among outputs, losses and inputs of layers."""
    leaves = [*pytree.tree_leaves(gradients.outputs), losses]
    leaves += [value for entry in gradients.tape.entries for value in entry.inputs]
    kinds = {leaf.dtype for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()}
    if kinds & {torch.float16, torch.bfloat16}:
        return HALF
    return DOUBLE if kinds == {torch.float64} else SINGLE


def agree(
    one: Observation,
    other: Observation,
    tolerance: float,
    *,
    rows: Sequence[int],
    compared: Sequence[int],
    clip_norm: float,
) -> bool:
    """Return whether two observations agree up to rounding.

    Losses and gradient norms must agree in ``rows``, and the combinations of the rows ``compared``.

    *Edge cases.* A loss or norm of infinity or NaN must be non-finite in both observations. Rows with a non-finite
    gradient add nothing to the allowed difference of the combinations.
    """
    kept, small, totals = list(rows), SMALL * clip_norm, one.totals
    same = _same(one.losses[kept], other.losses[kept], tolerance * one.losses[kept].abs() + tolerance)
    same &= _same(one.norms[:, kept], other.norms[:, kept], tolerance * totals[kept] + small)
    allowed = tolerance * float(totals[list(compared)].nan_to_num(0, 0).sum()) + small
    return same and _distance(one.combination, other.combination) <= allowed


def plain_gradients(losses: Tensor, values: list[nn.Parameter]) -> tuple[Tensor | None, ...]:
    """Return the gradients of the summed losses, as ``backward()`` computes them."""
    try:
        return torch.autograd.grad(losses.sum(), values, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        refuse_second_backward(error)
        raise


def check_sums(
    seen: Observation,
    factors: Factors,
    *,
    parameters: Parameters,
    plain: tuple[Tensor | None, ...],
    lifted: set[int],
) -> None:
    """Check that the per-example gradients of every parameter add up to the gradient of the summed losses.

    Parameters in ``lifted`` (by id) and parameters without a plain gradient are skipped.

    Raises
    ------
    AssumptionError
        If a sum differs: the loss mixes examples, or a parameter is used outside the model's forward pass.
    """
    whole = float(torch.linalg.vector_norm(seen.totals.nan_to_num(0, 0)))
    by_id = {id(parameter): factor for parameter, factor in factors}
    for (name, parameter), grad in zip(parameters, plain, strict=True):
        if id(parameter) in lifted or grad is None:
            continue
        factor = by_id.get(id(parameter))
        ones = torch.ones(len(seen.losses), dtype=parameter.dtype, device=parameter.device)
        total = torch.zeros_like(grad) if factor is None else factor.weighted(ones)
        if not _close(total, grad, seen.tolerances.summed, whole):
            raise AssumptionError(
                f"the per-example gradients do not add up to the gradient of the parameter {name!r}.",
                remedy="Either the loss mixes examples (a mean, a sum or a softmax over the batch): compute each loss "
                "from its own example. Or the parameter is used outside of the model's forward pass, or hooked: use "
                "the parameter in the model, and put penalties (weight decay) into the optimizer.",
            )


def _close(one: Tensor, other: Tensor, tolerance: float, whole: float) -> bool:
    """Whether two sums agree, relative to themselves and to ``whole``, the norm of all gradients of the batch."""
    if not (bool(one.isfinite().all()) and bool(other.isfinite().all())):
        return True  # one non-finite row makes both sums non-finite; the row will have weight 0
    scale = float(torch.linalg.vector_norm(one) + torch.linalg.vector_norm(other))
    return float(torch.linalg.vector_norm(one - other)) <= tolerance * (scale + 0.1 * whole) + 1e-12


def _same(one: Tensor, other: Tensor, allowed: Tensor) -> bool:
    """Whether numbers differ by ``allowed`` at most; infinity and NaN must be in the same places of both tensors."""
    finite = one.isfinite()
    if not torch.equal(finite, other.isfinite()):
        return False
    return bool((((one - other).abs() <= allowed) | ~finite).all())


def _distance(one: Sequence[Tensor | None], other: Sequence[Tensor | None]) -> float:
    """Norm of the difference between two lists of gradients; None counts as 0."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None or b is not None]
    parts = [a if b is None else b if a is None else a - b for a, b in pairs]
    return math.sqrt(sum(float(torch.linalg.vector_norm(part)) ** 2 for part in parts if part is not None))
