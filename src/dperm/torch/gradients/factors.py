# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Per-example gradients of one parameter, stored in their cheapest form.

The gradient of a matrix W in y_t = W a_t is, for one example, sum_t g_t a_t' with g_t the gradient of the loss at y_t.
Inputs and output gradients determine it, and its norm needs no tensor of the shape of W. A *factor* holds such a pair,
or the gradients themselves, for all examples of a batch. It provides three quantities:

- the squared norm of each example's gradient,
- the weighted sum of all gradients with one weight per example, as used for clipping,
- the *spread*, an upper bound on the norm obtained by adding absolute values. Rounding errors are bounded by a fraction
  of the spread (T46b).

The gradient of a parameter with several uses is the sum over its uses (`combine`).
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
"""Largest memory of the dense gradients of a sequence, as a multiple of the memory of its inputs and output gradients.

A larger value would more than double the memory of ordinary training of a transformer; a smaller value is slower
(measured).
"""
TRAFFIC = 13
"""Multiplications that take as long as writing one entry of a dense gradient and reading it twice (measured)."""
SPREAD = 2.0**7
"""A norm counts as at least 1/SPREAD of its spread, so the rounding errors of sums have a public bound (T46b)."""
LONGEST_ROW, SHORT_ROW = 2**20, 2**12
"""Largest number of terms in one sum of squares, in double and in single precision."""
LONGEST_GRAM, WIDEST_GRAM = 2**12, 2**23
"""Largest number of sequence steps, and of entries of inputs and gradients together, for Gram matrices with a proved
error bound (T46b).
"""
PIECE = 2**18
"""Numbers converted to double precision at a time (measured)."""
TINY = {torch.float32: 2.0**-108, torch.float64: 2.0**-960}
"""Squares of entries far from underflow. A shorter vector counts as one with such entries."""


class GradientFactor(Protocol):
    """Gradients of one parameter, one for each example of a batch."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter, without the example dimension."""

    def squared_norms(self) -> Tensor:
        """Return the squared norm of each example's gradient.

        Callers must not change the result in place.

        Notes
        -----
        *Guarantees.* In double precision, the result plus `dperm.torch.gradients.clipping.GRAM_SLACK` times the squared
        spread is at least the exact squared norm of the stored values (T46b). In single precision, the relative error
        of the square is at most 2^-11.

        *Edge cases.*

        ========================  ====================================================
        gradient                  squared norm
        ========================  ====================================================
        all zeros                 0, or the square of a vector of tiny entries
        underflowing squares      at least the square of a vector of tiny entries
        an infinite or NaN entry  infinite or NaN; clipping gives the example weight 0
        empty batch               a tensor of shape (0,)
        ========================  ====================================================
        """

    def spread(self) -> Tensor | None:
        """Return an upper bound on the sum of the norms of the added terms, one number per example.

        None means "equal to the norm": each example adds a single term.
        """

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the sum of the gradients, each multiplied by its weight, in the shape of the parameter.

        Notes
        -----
        *Guarantees.* In double precision each sum has at most 2^13 terms at a time, so its rounding error obeys the
        bound of T46b. The caller supplies weights from `dperm.torch.gradients.clipping.clipping_weights`; this method
        does not clip.

        *Edge cases.*

        ========================================  ========================
        input                                     result
        ========================================  ========================
        weight 0 and a finite gradient            the example adds 0
        weight 0 and an infinite or NaN gradient  NaN: call `masked` first
        empty batch                               zeros
        ========================================  ========================
        """

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the sum of `weighted` to an existing tensor. Single precision only."""

    def dense(self) -> Tensor:
        """Return the gradients themselves: examples first, then the shape of the parameter."""

    def masked(self, keep: Tensor) -> "GradientFactor":
        """Return a factor with zeros for all examples outside ``keep``, even where they are not finite."""


@dataclass(frozen=True, slots=True)
class Dense:
    """Stored gradients: ``values`` has the examples first, then the shape of the parameter.

    ``squares`` holds the squared norms if they are known already.
    """

    values: Tensor
    squares: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter, without the example dimension."""
        return tuple(self.values.shape[1:])

    def squared_norms(self) -> Tensor:
        """Return the sums of squares of each row."""
        return row_squares(_flat(self.values)) if self.squares is None else self.squares

    def spread(self) -> None:
        """Return None: each example adds one term."""
        return None

    def weighted(self, weights: Tensor) -> Tensor:
        """Return one product of the weights with the gradients."""
        if self.values.dim() == 2:
            return weighted_rows(weights, self.values)
        return weighted_rows(weights, _flat(self.values)).reshape(self.shape)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the weighted sum to an existing tensor."""
        onto.rows(weights, self.values if self.values.dim() == 2 else _flat(self.values))

    def dense(self) -> Tensor:
        """Return the stored gradients without a copy."""
        return self.values

    def masked(self, keep: Tensor) -> "Dense":
        """Return gradients with zeros outside ``keep``."""
        return Dense(_masked(self.values, keep))


@dataclass(frozen=True, slots=True)
class Outer:
    """Gradients g a' of a matrix used once per example: ``inputs`` (examples, d), ``grads`` (examples, p).

    ``bias`` holds the gradients g of the added vector if it is trained too.
    """

    inputs: Tensor
    grads: Tensor
    shape: tuple[int, ...]
    bias: Dense | None = None

    def squared_norms(self) -> Tensor:
        """Return |a|^2 |g|^2. Neither factor underflows to 0, because the other factor may be large."""
        return _no_less(row_squares(self.inputs), self.inputs).mul_(self._grad_squares())

    def squared_norms_with_bias(self) -> Tensor:
        """Return (|a|^2 + 1) |g|^2, for matrix and bias together. An underflowed |a|^2 is negligible beside 1."""
        grads = self._grad_squares()
        return torch.addcmul(grads, row_squares(self.inputs), grads)

    def spread(self) -> None:
        """Return None: each example adds one term."""
        return None

    def weighted(self, weights: Tensor) -> Tensor:
        """Return one matrix product, as in ordinary training."""
        return _shaped(weighted_products(weights, self.grads, self.inputs), self.shape)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the weighted product to an existing tensor."""
        onto.products(weights, self.grads, self.inputs)

    def dense(self) -> Tensor:
        """Return the outer product of each example."""
        return (self.grads[:, :, None] * self.inputs[:, None, :]).reshape(-1, *self.shape)

    def masked(self, keep: Tensor) -> "Outer":
        """Return a pair with zeros outside ``keep``."""
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
        """Return sum_st (a_s a_t)(g_s g_t), from two Gram matrices in double precision in every grade (T46b).

        Cancellation leaves rounding errors, so a norm counts as at least 1/128 of its spread.
        """
        return in_double(_sequence_squares, self.inputs, self.grads, extra=2 * self.inputs.shape[1] ** 2)

    def spread(self) -> Tensor:
        """Return sum_t |a_t| |g_t| for each example."""
        lengths: Tensor = torch.linalg.vector_norm(self.inputs, dim=2) * torch.linalg.vector_norm(self.grads, dim=2)
        return lengths.sum(1)

    def weighted(self, weights: Tensor) -> Tensor:
        """Return one matrix product, as in ordinary training."""
        return _shaped(weighted_products(weights, self.grads, self.inputs), self.shape)

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the weighted product to an existing tensor."""
        onto.products(weights, self.grads, self.inputs)

    def dense(self) -> Tensor:
        """Return the summed outer products of each example."""
        return torch.bmm(self.grads.transpose(1, 2), self.inputs).reshape(-1, *self.shape)

    def masked(self, keep: Tensor) -> "OuterSequence":
        """Return sequences with zeros outside ``keep``."""
        return OuterSequence(_masked(self.inputs, keep), _masked(self.grads, keep), self.shape)


def outer(inputs: Tensor, grads: Tensor, shape: Sequence[int]) -> GradientFactor:
    """Return the cheapest factor of a matrix with inputs (examples, ..., d) and output gradients (examples, ..., p)."""
    if inputs.dim() == 2:
        return Outer(inputs, grads, tuple(shape))
    examples, steps = inputs.shape[0], math.prod(inputs.shape[1:-1])
    sequence = OuterSequence(
        inputs.reshape(examples, steps, inputs.shape[-1]), grads.reshape(examples, steps, grads.shape[-1]), tuple(shape)
    )
    return Dense(sequence.dense()) if prefers_dense(steps, inputs.shape[-1], grads.shape[-1]) else sequence


def affine(inputs: Tensor, grads: Tensor, shape: Sequence[int]) -> tuple[GradientFactor, GradientFactor]:
    """Return the factors of W and b in y_t = W a_t + b.

    The factor of W refers to the factor of b, because their norms are computed together.
    """
    if inputs.dim() == 2:
        bias = Dense(grads)
        return Outer(inputs, grads, tuple(shape), bias), bias
    return outer(inputs, grads, shape), Dense(grads.flatten(1, -2).sum(1))


def prefers_dense(steps: int, wide: int, high: int) -> bool:
    """Return whether storing the gradients of a sequence is faster than Gram matrices and fits in memory.

    Gram matrices take T^2 (d + p) multiplications, and the weighted sum is a second product. Stored gradients take only
    the multiplications of one product, but write d p numbers and read them twice. For sizes without a proved error
    bound for Gram matrices, the answer is always True.
    """
    entries, ends = wide * high, wide + high
    if steps > LONGEST_GRAM or ends > WIDEST_GRAM:
        return True
    return entries <= LARGEST * steps * ends and steps * steps * ends >= TRAFFIC * entries


def combine(factors: Sequence[GradientFactor]) -> GradientFactor:
    """Return the factor of a parameter with several uses: the gradients of its uses, added example by example."""
    if len(factors) == 1:
        return factors[0]
    pairs = [pair for factor in factors if (pair := _as_sequence(factor))]
    if len(pairs) == len(factors):
        inputs, grads = (torch.cat(parts, dim=1) for parts in zip(*pairs, strict=True))
        return outer(inputs, grads, factors[0].shape)
    return Dense(torch.stack([factor.dense() for factor in factors]).sum(0))


def row_squares(rows: Tensor) -> Tensor:
    """Return the squared norms of rows, computed in one pass.

    Very long rows are split. In double precision, a sum of 2^20 squares in any order has a relative error of at most
    2^-32 (T46b). In single precision rows are split at 2^12 entries, and the partial sums are added in double
    precision, as in the native kernels. A single-precision sum of 2^20 squares could lose half a percent on an
    adversarial record.

    Parameters
    ----------
    rows
        Tensor of shape (examples, k).

    Returns
    -------
    Tensor
        Shape (examples,), in the precision of ``rows``. NaN and infinite entries give NaN or infinity; rows without
        entries give 0.
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
    """Return squared norms raised to at least (spread / 128)^2.

    A smaller remainder of cancelled terms may be rounding error.
    """
    return torch.maximum(squares, spread.mul(1 / SPREAD).square_())


def in_double(function: Callable[..., Tensor], *parts: Tensor, extra: int = 0) -> Tensor:
    """Return ``function(*parts)`` computed in double precision, in the precision of the first part.

    Sums with cancellation need double precision in every grade: an error of a small fraction of the spread may exceed
    the norm (T46b). The examples, the first dimension of each part, are processed in small groups to save memory. A
    trace processes all of them at once.

    Parameters
    ----------
    function
        Function that returns one number for each example.
    extra
        Numbers needed by ``function`` for each example, in addition to copies of the parts.
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
    """Return the squared norms of sums of outer products, after `floor_norms`."""
    products = _gram(inputs).mul_(_gram(grads))
    spread = products.diagonal(dim1=1, dim2=2).sqrt().sum(1)
    return floor_norms(products.sum((1, 2)), spread)


def _gram(rows: Tensor) -> Tensor:
    """Return the Gram matrices (examples, T, T) of ``rows`` (examples, T, k), with a lower limit on the diagonal."""
    products = torch.bmm(rows, rows.transpose(1, 2))
    _no_less(products.diagonal(dim1=1, dim2=2), rows)
    return products


def _no_less(squares: Tensor, rows: Tensor) -> Tensor:
    """Raise squared norms in place to at least those of rows of tiny entries. Longer rows are not changed."""
    return squares.clamp_min_(rows.shape[-1] * TINY.get(rows.dtype, 0.0))


def _as_sequence(factor: GradientFactor) -> tuple[Tensor, Tensor] | None:
    """Return inputs and gradients of an outer factor as sequences, or None for other factors."""
    if isinstance(factor, Outer):
        return factor.inputs[:, None, :], factor.grads[:, None, :]
    return (factor.inputs, factor.grads) if isinstance(factor, OuterSequence) else None


def _shaped(matrix: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the matrix in the shape of its parameter."""
    return matrix if matrix.shape == shape else matrix.reshape(shape)


def _masked(values: Tensor, keep: Tensor) -> Tensor:
    """Return ``values`` with zeros outside ``keep``. A product with 0 would keep NaN."""
    return torch.where(keep.reshape(-1, *[1] * (values.dim() - 1)), values, 0)


def _flat(values: Tensor) -> Tensor:
    """Return one row for each example, also for a parameter with a single number."""
    return values.flatten(1) if values.dim() > 1 else values[:, None]
