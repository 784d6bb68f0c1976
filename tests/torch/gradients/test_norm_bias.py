# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Contributions in single precision against exact norms, for long rows, long sequences and terms that cancel.

T46b: in grade "fast" the gradient of an example, times its weight, has a norm of at most 1 + 2^-11 in exact arithmetic.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dperm.torch.compiled.tracing import branchless_squared_norms as branchless
from dperm.torch.gradients.clipping import Clipping, GradientNorms, clipping_weights
from dperm.torch.gradients.embedding_factors import TableRows, TiedTable
from dperm.torch.gradients.factors import Dense, GradientFactor, Outer, OuterSequence
from dperm.torch.gradients.per_example import PerExampleGradients

pytestmark = pytest.mark.usefixtures("both_ways")

ALLOWANCE = 2.0**-11
"""Bound of T46b on the excess of a contribution in single precision, in clip norms."""
CLIP = 1e-3
"""So short that every gradient here is clipped."""
KEPT = [1 / 60, 1 / 40, 1 / 16]
"""Parts of the first half of a sequence that its second half leaves; the floor of norms begins below 1/64."""


def constant(size: int) -> Tensor:
    """Every addition of its squares is rounded in the same direction."""
    return torch.full((size,), 0.7)


def one_big(size: int) -> Tensor:
    """Squares of the small entries vanish beside that of the first one in single precision."""
    return torch.cat([torch.ones(1), torch.full((size - 1,), 2.0**-12.1)])


def normal(size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(size))


ROWS: dict[str, Callable[[int], Tensor]] = {"constant": constant, "one big": one_big, "normal": normal}


def cancelling(row: Tensor, steps: int, kept: float) -> Tensor:
    """(1, steps, size): ``row`` in the first half, and in the second half the part of it that does not cancel."""
    return torch.cat([row.repeat(steps // 2, 1), (1 - kept) * row.repeat(steps // 2, 1)])[None]


def signs(width: int, steps: int) -> Tensor:
    """(1, steps, width): gradients at outputs, of the opposite sign in the second half."""
    half = normal(width).repeat(steps // 2, 1)
    return torch.cat([half, -half])[None]


def exact_norm(factor: GradientFactor) -> float:
    """The norm of the first example's gradient, from the stored numbers in double precision."""
    match factor:
        case OuterSequence() | Outer():
            inputs, grads = (part[0].reshape(-1, part.shape[-1]).double() for part in (factor.inputs, factor.grads))
            return math.sqrt(sum(float((grads.T @ part).square().sum()) for part in inputs.split(2**14, 1)))
        case TableRows():
            return float(TableRows(factor.indices[:1], factor.grads[:1].double(), factor.shape).dense().norm())
        case TiedTable():
            rows = TableRows(factor.rows.indices, factor.rows.grads.double(), factor.shape)
            rest = OuterSequence(factor.rest.inputs.double(), factor.rest.grads.double(), factor.shape)
            return float((rows.dense() + rest.dense()).norm())
    return float(factor.dense()[:1].double().norm())


def contribution(
    factor: GradientFactor, norms: Callable[[GradientFactor], Tensor] = lambda factor: factor.squared_norms()
) -> float:
    """The norm of an example's clipped gradient, in clip norms."""
    (weight,) = clipping_weights(Clipping.FLAT, CLIP, [GradientNorms(norms(factor))]).layers
    return float(weight[0].double()) * exact_norm(factor)


def sequence(kind: str, size: int, steps: int, kept: float) -> GradientFactor:
    return OuterSequence(cancelling(ROWS[kind](size), steps, kept), signs(4, steps), (4, size))


def table(kind: str, size: int, steps: int, kept: float) -> GradientFactor:
    """One word with a large gradient, many that vanish beside it, and one that takes back most of the first."""
    grads = torch.full((1, steps, size), 2.0**-25) * ROWS[kind](size).sign()
    grads[0, 0], grads[0, -1] = ROWS[kind](size), (kept - 1) * ROWS[kind](size)
    return TableRows(torch.zeros(1, steps, dtype=torch.long), grads, (2, size))


def tied(kind: str, size: int, steps: int, kept: float) -> GradientFactor:
    """The gradient as a table takes back most of that as a matrix."""
    row, at = ROWS[kind](size), torch.zeros(1, steps, dtype=torch.long)
    matrix = OuterSequence(row.repeat(steps, 1)[None], torch.ones(1, steps, 1), (1, size))
    return TiedTable(TableRows(at, ((kept - 1) * row).repeat(steps, 1)[None], (1, size)), matrix)


def row(kind: str, size: int, steps: int, kept: float) -> GradientFactor:
    return Dense(ROWS[kind](size)[None])


def pair(kind: str, size: int, steps: int, kept: float) -> GradientFactor:
    return Outer(ROWS[kind](size)[None], ROWS[kind](4)[None], (4, size))


FACTORS = {"sequence": sequence, "table": table, "tied": tied, "row": row, "pair": pair}


def in_range(value: float) -> bool:
    """Not above the bound; and not far below it, for a gradient that is clipped."""
    return 1 - 2 * ALLOWANCE <= value <= 1 + ALLOWANCE


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("size", "steps"), [(2**20, 2), (2**16, 4), (2**12, 2), (4, 2048)])
@pytest.mark.parametrize("kind", FACTORS)
def test_contributions_have_norm_one(kind: str, size: int, steps: int, rows: str) -> None:
    """T46b; once more than 4 clip norms: constant rows of 2^20 entries whose halves nearly cancel."""
    for kept in KEPT:
        factor = FACTORS[kind](rows, size, steps, kept)
        assert in_range(contribution(factor))
        if steps < 100:  # the compiled step compares all places with each other
            assert in_range(contribution(factor, branchless))


def sequences_have_norm_one(module: Any) -> None:
    """The check above for constant rows, on a module in the place of the factors."""
    own = sequence("constant", 2**16, 2, KEPT[0])
    norms = module.OuterSequence(own.inputs, own.grads, own.shape).squared_norms()
    assert in_range(contribution(own, lambda factor: norms))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return part.double() if part.is_floating_point() else part", "return part"),
        ("products.sum((1, 2)), spread)", "products.diagonal(dim1=1, dim2=2).sum(1), spread)"),
    ],
    ids=["single precision", "no products of different steps"],
)
def test_mutants_of_norms_are_killed(old: str, new: str, assert_killed: Callable[..., None]) -> None:
    assert_killed(sequences_have_norm_one, "dperm.torch.gradients.factors", old, new)


def modules() -> Iterator[tuple[str, nn.Module, tuple[int, ...]]]:
    """Every rule whose norms are not those of stored gradients, with the shape of its input for one example."""
    for size in (2**12, 2**16, 2**20):
        yield f"Linear({size:,}), 2 steps", nn.Linear(size, 4, bias=False), (2, size)
        yield f"Conv1d, patches of {size:,}", nn.Conv1d(1, 4, size, stride=size, bias=False), (1, 4 * size)
    yield "Linear(16), 2,048 steps", nn.Linear(16, 4096, bias=False), (2048, 16)
    yield "Conv2d, 2,048 places", nn.Conv2d(64, 512, (1, 8), stride=(1, 8), bias=False), (64, 32, 512)
    yield "MultiheadAttention(2,048), 64 steps", nn.TransformerEncoderLayer(256, 2, 1024, 0.0), (64, 256)
    yield "LSTM(256), 64 steps", nn.LSTM(2048, 256, batch_first=True), (64, 2048)
    yield "GRU(256), 64 steps", nn.GRU(2048, 256, batch_first=True), (64, 2048)


def worst_of(model: nn.Module, shape: tuple[int, ...], rows: str) -> float:
    """The largest contribution of a layer's weight to one example, over parts that do not cancel."""
    worst, size = 0.0, math.prod(shape) // 2
    for kept in KEPT:
        half = ROWS[rows](size)
        inputs = torch.stack([half, (1 - kept) * half]).reshape(1, *shape)
        with PerExampleGradients(model) as gradients:
            found = model(inputs.swapaxes(0, 1) if isinstance(model, nn.TransformerEncoderLayer) else inputs)
            found = (found[0] if isinstance(found, tuple) else found).reshape(1, 2, -1)
            losses = 1e3 * (found[:, 0] - found[:, 1]).sum(1)
            for _, factor in gradients.factors(losses):
                if not isinstance(factor, Dense) and exact_norm(getattr(factor, "factor", factor)) > CLIP:
                    worst = max(worst, contribution(getattr(factor, "factor", factor)))
    return worst


@pytest.mark.slow
def test_table_of_contributions_by_layer() -> None:
    """Prints the largest contribution, less 1, of each layer and kind of row."""
    torch.manual_seed(0)
    print(f"\n{'layer':40s}", *(f"{name:>12s}" for name in ROWS))
    for name, model, shape in modules():
        found = [worst_of(model, shape, rows) for rows in ROWS]
        print(f"{name:40s}", *(f"{value - 1:12.1e}" if value else f"{'stored':>12s}" for value in found))
        assert max(found) <= 1 + ALLOWANCE


@pytest.mark.slow
def test_table_of_contributions_by_length() -> None:
    """Prints the largest contribution, less 1, for each kind of factor, length of rows and number of steps."""
    print(f"\n{'factor':10s} {'entries':>10s} {'steps':>6s}", *(f"{name:>12s}" for name in ROWS))
    for kind in FACTORS:
        for size, steps in [(2**6, 2048), (2**9, 2048), (2**12, 64), (2**16, 16), (2**18, 4), (2**20, 2)]:
            found = [max(contribution(FACTORS[kind](rows, size, steps, kept)) for kept in KEPT) for rows in ROWS]
            print(f"{kind:10s} {size:10,d} {steps:6d}", *(f"{value - 1:12.1e}" for value in found))
            assert max(found) <= 1 + ALLOWANCE
