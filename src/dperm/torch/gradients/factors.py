# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example gradients of one parameter, kept in the form in which they are cheapest.

The gradient of a matrix W in y_t = W a_t is, for one example, sum_t g_t a_t' with g_t the gradient of the loss at y_t:
it is determined by the input and by the gradient at the output, and its norm needs no gradient of the shape of W. A
*factor* holds such a pair, or the gradients themselves, for all examples of a batch. It knows three things:

- the squared norm of every example's gradient,
- the sum of all examples' gradients with one weight each: what clipping makes of them,
- the *spread*, a bound on the norm of a gradient that adds up absolute values: rounding errors are shares of it (T46b).

Where a parameter is used more than once, its gradient is the sum of those of its uses (`combined`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from dperm.torch.gradients.weighted_sums import Accumulator, weighted_products, weighted_rows

LARGEST = 1.625
"""Gradients of all examples of a sequence take at most this many times the memory of its inputs and gradients. More
would need more than twice the memory of ordinary training for a transformer; less would be slower (measured)."""
TRAFFIC = 13
"""Multiplications that take as long as to write a number of such a gradient and to read it twice (measured)."""
SPREAD = 2.0**7
"""A norm counts as at least this part of its spread: rounding errors of sums then have a public bound (T46b)."""
LONGEST_ROW, SHORT_ROW = 2**20, 2**12
"""Terms of one sum of squares, in double and in single precision."""
LONGEST_GRAM, WIDEST_GRAM = 2**12, 2**23
"""Steps of a sequence, and entries of its inputs and gradients together, up to which Gram matrices are right (T46b)."""
PIECE = 2**18
"""Numbers that are converted to double precision at a time (measured)."""
TINY = {torch.float32: 2.0**-108, torch.float64: 2.0**-960}
"""Squares of entries that are far from underflow: a shorter vector counts as one of such entries."""


class GradientFactor(Protocol):
    """The gradients of one parameter, one for each example of a batch."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""

    def squared_norms(self) -> Tensor:
        """The squared norm of every example's gradient; not to be changed in place."""

    def spread(self) -> Tensor | None:
        """For every example a bound on the sum of the norms of what is added up; None if it is the norm itself."""

    def weighted(self, weights: Tensor) -> Tensor:
        """The sum of the gradients, each times its weight, in the shape of the parameter."""

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same sum, added to what is there; single precision only."""

    def dense(self) -> Tensor:
        """The gradients themselves: examples first, then the shape of the parameter."""

    def masked(self, keep: Tensor) -> "GradientFactor":
        """The same with zeros for the examples that are not kept, also where they are not finite."""


@dataclass(frozen=True, slots=True)
class Dense:
    """The gradients themselves: ``values`` has the examples first, then the shape of the parameter.

    ``squares`` are the squared norms, if somebody knows them already.
    """

    values: Tensor
    squares: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return tuple(self.values.shape[1:])

    def squared_norms(self) -> Tensor:
        """Sums of squares."""
        return row_squares(_flat(self.values)) if self.squares is None else self.squares

    def spread(self) -> None:
        """Every example is added once."""
        return None

    def weighted(self, weights: Tensor) -> Tensor:
        """One product of the weights with the gradients."""
        if self.values.dim() == 2:
            return weighted_rows(weights, self.values)
        return weighted_rows(weights, _flat(self.values)).reshape(self.shape)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.rows(weights, self.values if self.values.dim() == 2 else _flat(self.values))

    def dense(self) -> Tensor:
        """As they are."""
        return self.values

    def masked(self, keep: Tensor) -> "Dense":
        """Zeros where not kept."""
        return Dense(_masked(self.values, keep))


@dataclass(frozen=True, slots=True)
class Outer:
    """Gradients g a' of a matrix that every example meets once: ``inputs`` (examples, d), ``grads`` (examples, p).

    ``bias`` are the gradients g of what is added to the product, if that is trained too.
    """

    inputs: Tensor
    grads: Tensor
    shape: tuple[int, ...]
    bias: Dense | None = None

    def squared_norms(self) -> Tensor:
        """|a|^2 |g|^2, where none of both is so small that it may have been lost: the other one may be large."""
        return _no_less(row_squares(self.inputs), self.inputs).mul_(self._grad_squares())

    def squared_norms_with_bias(self) -> Tensor:
        """(|a|^2 + 1) |g|^2, those of both together; an |a|^2 that was lost is nothing beside 1."""
        grads = self._grad_squares()
        return torch.addcmul(grads, row_squares(self.inputs), grads)

    def spread(self) -> None:
        """Every example is added once."""
        return None

    def weighted(self, weights: Tensor) -> Tensor:
        """One product, as in ordinary training."""
        return _shaped(weighted_products(weights, self.grads, self.inputs), self.shape)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.products(weights, self.grads, self.inputs)

    def dense(self) -> Tensor:
        """All outer products."""
        return (self.grads[:, :, None] * self.inputs[:, None, :]).reshape(-1, *self.shape)

    def masked(self, keep: Tensor) -> "Outer":
        """Zeros where not kept."""
        return Outer(_masked(self.inputs, keep), _masked(self.grads, keep), self.shape)

    def _grad_squares(self) -> Tensor:
        return _no_less(row_squares(self.grads), self.grads)


@dataclass(frozen=True, slots=True)
class OuterSequence:
    """Gradients sum_t g_t a_t' of a matrix: ``inputs`` (examples, T, d), ``grads`` (examples, T, p)."""

    inputs: Tensor
    grads: Tensor
    shape: tuple[int, ...]

    def squared_norms(self) -> Tensor:
        """sum_st (a_s a_t)(g_s g_t), by two Gram matrices, in double precision in every grade (T46b).

        Where the terms cancel, rounding errors remain, so a norm counts as at least 1/128 of its spread.
        """
        return in_double(_sequence_squares, self.inputs, self.grads, extra=2 * self.inputs.shape[1] ** 2)

    def spread(self) -> Tensor:
        """sum_t |a_t| |g_t|."""
        lengths: Tensor = torch.linalg.vector_norm(self.inputs, dim=2) * torch.linalg.vector_norm(self.grads, dim=2)
        return lengths.sum(1)

    def weighted(self, weights: Tensor) -> Tensor:
        """One product, as in ordinary training."""
        return _shaped(weighted_products(weights, self.grads, self.inputs), self.shape)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.products(weights, self.grads, self.inputs)

    def dense(self) -> Tensor:
        """The gradients of all examples."""
        return torch.bmm(self.grads.transpose(1, 2), self.inputs).reshape(-1, *self.shape)

    def masked(self, keep: Tensor) -> "OuterSequence":
        """Zeros where not kept."""
        return OuterSequence(_masked(self.inputs, keep), _masked(self.grads, keep), self.shape)


def outer(inputs: Tensor, grads: Tensor, shape: Sequence[int]) -> GradientFactor:
    """The cheapest factor for a matrix: (examples, ..., d) met by (examples, ..., p)."""
    if inputs.dim() == 2:
        return Outer(inputs, grads, tuple(shape))
    examples, steps = inputs.shape[0], math.prod(inputs.shape[1:-1])
    sequence = OuterSequence(
        inputs.reshape(examples, steps, inputs.shape[-1]), grads.reshape(examples, steps, grads.shape[-1]), tuple(shape)
    )
    return Dense(sequence.dense()) if prefers_dense(steps, inputs.shape[-1], grads.shape[-1]) else sequence


def affine(inputs: Tensor, grads: Tensor, shape: Sequence[int]) -> tuple[GradientFactor, GradientFactor]:
    """The factors of W and b in y_t = W a_t + b; that of W knows the other one, for their norms are found together."""
    if inputs.dim() == 2:
        bias = Dense(grads)
        return Outer(inputs, grads, tuple(shape), bias), bias
    return outer(inputs, grads, shape), Dense(grads.flatten(1, -2).sum(1))


def prefers_dense(steps: int, wide: int, high: int) -> bool:
    """Whether to make the gradients of all examples of a sequence, once for norms and sum: quicker, and not too large.

    The Gram matrices take T^2 (d + p) multiplications, and the sum is a product of its own; gradients of all examples
    take the multiplications of that product, but d p numbers are written and read twice. Beyond the sizes for which
    Gram matrices are known to be right there is no choice.
    """
    entries, ends = wide * high, wide + high
    if steps > LONGEST_GRAM or ends > WIDEST_GRAM:
        return True
    return entries <= LARGEST * steps * ends and steps * steps * ends >= TRAFFIC * entries


def combine(factors: Sequence[GradientFactor]) -> GradientFactor:
    """The factor of a parameter that is used several times: gradients of its uses added, example by example."""
    if len(factors) == 1:
        return factors[0]
    pairs = [pair for factor in factors if (pair := _as_sequence(factor))]
    if len(pairs) == len(factors):
        inputs, grads = (torch.cat(parts, dim=1) for parts in zip(*pairs, strict=True))
        return outer(inputs, grads, factors[0].shape)
    return Dense(torch.stack([factor.dense() for factor in factors]).sum(0))


def row_squares(rows: Tensor) -> Tensor:
    """Squared norms of rows; one pass, where squares and their sums would be two.

    Very long rows are cut: a sum of 2^20 squares in any order is right to 2^-32 in double precision (T46b). In single
    precision they are cut at 2^12, and the parts are added in double precision, as the kernels do it: a sum of 2^20
    would lose up to half a percent of a record that is made for it.
    """
    if rows.dtype is torch.float32 and rows.shape[1] > SHORT_ROW:
        return _long_row_squares(rows)
    if rows.shape[1] > LONGEST_ROW:
        return torch.stack([row_squares(part) for part in rows.split(LONGEST_ROW, dim=1)]).sum(0)
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return norms.square_()


def _long_row_squares(rows: Tensor) -> Tensor:
    whole = rows.shape[1] // SHORT_ROW * SHORT_ROW
    parts = torch.linalg.vector_norm(rows[:, :whole].unflatten(1, (-1, SHORT_ROW)), dim=2)
    rest = torch.linalg.vector_norm(rows[:, whole:], dim=1, keepdim=True)
    squares: Tensor = torch.cat([parts, rest], dim=1).double().square_().sum(1)
    return squares.float()


def floor_norms(squares: Tensor, spread: Tensor) -> Tensor:
    """Squared norms, none of them below 1/128 of its spread: what is left of terms that cancel may be rounding."""
    return torch.maximum(squares, spread.mul(1 / SPREAD).square_())


def in_double(function: Callable[..., Tensor], *parts: Tensor, extra: int = 0) -> Tensor:
    """Return ``function(*parts)`` computed in double precision, in the precision of the first part.

    Sums of products that cancel need double precision in every grade: an error that is a small share of the spread may
    be larger than the norm (T46b). The examples, the first dimension of every part, are taken a few at a time to save
    memory, but for a trace.

    Parameters
    ----------
    function
        Returns one number for each example.
    extra
        Numbers that ``function`` needs for each example, beside copies of the parts.
    """
    dtype = parts[0].dtype
    if is_in_torch_dispatch_mode():
        return function(*map(_as_double, parts)).to(dtype)
    numbers = extra + sum([math.prod(part.shape[1:]) for part in parts])
    few = max(1, PIECE // max(1, numbers))
    split = zip(*[part.split(few) for part in parts], strict=True)
    found = [function(*map(_as_double, some)) for some in split]
    return (found[0] if len(found) == 1 else torch.cat(found)).to(dtype)


def _as_double(part: Tensor) -> Tensor:
    return part.double() if part.is_floating_point() else part


def _sequence_squares(inputs: Tensor, grads: Tensor) -> Tensor:
    """Squared norms of sums of outer products, floored."""
    products = _gram(inputs).mul_(_gram(grads))
    spread = products.diagonal(dim1=1, dim2=2).sqrt().sum(1)
    return floor_norms(products.sum((1, 2)), spread)


def _gram(rows: Tensor) -> Tensor:
    """Gram matrices (examples, T, T) of ``rows`` (examples, T, k), with squared norms that are not too small."""
    products = torch.bmm(rows, rows.transpose(1, 2))
    _no_less(products.diagonal(dim1=1, dim2=2), rows)
    return products


def _no_less(squares: Tensor, rows: Tensor) -> Tensor:
    """Squared norms of ``rows``, in place: at least those of rows of tiny entries. Of longer rows they are right."""
    return squares.clamp_min_(rows.shape[-1] * TINY.get(rows.dtype, 0.0))


def _as_sequence(factor: GradientFactor) -> tuple[Tensor, Tensor] | None:
    """Inputs and gradients of an outer factor, as sequences."""
    if isinstance(factor, Outer):
        return factor.inputs[:, None, :], factor.grads[:, None, :]
    return (factor.inputs, factor.grads) if isinstance(factor, OuterSequence) else None


def _shaped(matrix: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The matrix in the shape of its parameter; mostly it has it."""
    return matrix if matrix.shape == shape else matrix.reshape(shape)


def _masked(values: Tensor, keep: Tensor) -> Tensor:
    """Zeros for the examples that are not kept; a product would keep what is not a number."""
    return torch.where(keep.reshape(-1, *[1] * (values.dim() - 1)), values, 0)


def _flat(values: Tensor) -> Tensor:
    """One row for each example, also of a parameter that is a single number."""
    return values.flatten(1) if values.dim() > 1 else values[:, None]


@dataclass(frozen=True, slots=True)
class Permuted:
    """The gradients of ``factor``: dimension i of the parameter is dimension ``order[i]`` of what it holds."""

    factor: GradientFactor
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return tuple(self.factor.shape[dim] for dim in self.order)

    def squared_norms(self) -> Tensor:
        """The same in any order."""
        return self.factor.squared_norms()

    def spread(self) -> Tensor | None:
        """The same in any order."""
        return self.factor.spread()

    def weighted(self, weights: Tensor) -> Tensor:
        """The sum, rearranged."""
        return self.factor.weighted(weights).permute(self.order).contiguous()

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """All of them rearranged, as a view."""
        return self.factor.dense().permute(0, *[1 + dim for dim in self.order])

    def masked(self, keep: Tensor) -> "Permuted":
        """Zeros where not kept."""
        return Permuted(self.factor.masked(keep), self.order)


@dataclass(frozen=True)
class StackedBlocks:
    """Gradients whose rows are those of several factors, one below the other."""

    parts: tuple[GradientFactor, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter."""
        return sum(part.shape[0] for part in self.parts), *self.parts[0].shape[1:]

    def squared_norms(self) -> Tensor:
        """Sum of those of the parts."""
        return torch.stack([part.squared_norms() for part in self.parts]).sum(0)

    def spread(self) -> Tensor | None:
        """Sum of those of the parts, where the norm stands for one that is none."""
        spreads = [part.spread() for part in self.parts]
        if all(spread is None for spread in spreads):
            return None
        found = zip(self.parts, spreads, strict=True)
        return torch.stack([part.squared_norms().sqrt() if own is None else own for part, own in found]).sum(0)

    def weighted(self, weights: Tensor) -> Tensor:
        """Weighted sums of the parts."""
        return torch.cat([part.weighted(weights) for part in self.parts])

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """The same, added to what is there."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """The gradients of all examples."""
        return torch.cat([part.dense() for part in self.parts], 1)

    def masked(self, keep: Tensor) -> "StackedBlocks":
        """Zeros where not kept."""
        return StackedBlocks(tuple(part.masked(keep) for part in self.parts))
