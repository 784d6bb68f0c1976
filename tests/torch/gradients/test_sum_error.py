# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rounding errors of clipped sums stay within the bound assumed by the noise (T46b), against exact rationals."""

from fractions import Fraction

import pytest
import torch
from torch import Tensor

from dperm.torch.gradients import weighted_sums
from dperm.torch.gradients.clipping import Clipping, GradientNorms, clipping_weights
from dperm.torch.gradients.embedding_factors import TableRows
from dperm.torch.gradients.factors import Dense, Outer, OuterSequence
from dperm.torch.noise import sum_error

EXAMPLES, STEPS = 6, 5


def numbers(*shape: int, seed: int = 0) -> Tensor:
    """Numbers of very different magnitudes."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator) * 10.0 ** torch.randint(-6, 6, shape, generator=generator)


def cancelling(values: Tensor) -> Tensor:
    """Sequences whose last step cancels nearly all of the others."""
    values[:, -1] = -values[:, :-1].sum(1) * (1 + 1e-7)
    return values


def factor_of(kind: str):
    inputs, grads = numbers(EXAMPLES, STEPS, 3, seed=1), cancelling(numbers(EXAMPLES, STEPS, 2, seed=2))
    if kind == "outer":
        return Outer(inputs[:, 0].double(), grads[:, 0].double(), (2, 3))
    if kind == "sequence":
        return OuterSequence(inputs.double(), grads.double(), (2, 3))
    if kind == "sequence of one input":
        return OuterSequence(inputs[:, :1].expand(-1, STEPS, -1).double(), grads.double(), (2, 3))
    if kind == "rows":
        return TableRows(torch.tensor([[0, 1, 0, 2, 0]] * EXAMPLES), grads.double(), (3, 2))
    return Dense(numbers(EXAMPLES, 4, seed=3).double())


def exact_gradient(factor, example: int) -> list[Fraction]:
    """Gradient of stored numbers in exact arithmetic."""
    if isinstance(factor, Dense):
        return [Fraction(value) for value in factor.values[example].flatten().tolist()]
    total = [[Fraction(0)] * factor.shape[1] for _ in range(factor.shape[0])]
    if isinstance(factor, TableRows):
        for place, grad in zip(factor.indices[example].tolist(), factor.grads[example].tolist(), strict=True):
            for column, value in enumerate(grad):
                total[place][column] += Fraction(value)
    else:
        inputs, grads = factor.inputs[example].reshape(-1, 3), factor.grads[example].reshape(-1, 2)
        for a, g in zip(inputs.tolist(), grads.tolist(), strict=True):
            for row in range(2):
                for column in range(3):
                    total[row][column] += Fraction(g[row]) * Fraction(a[column])
    return [value for row in total for value in row]


def square(vector: list[Fraction]) -> Fraction:
    return sum((value * value for value in vector), Fraction(0))


KINDS = ["outer", "sequence", "sequence of one input", "rows", "dense"]


@pytest.mark.parametrize("clipping", list(Clipping), ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_contributions_have_norm_one_and_their_sum_the_stated_error(kind, clipping, monkeypatch):
    monkeypatch.setattr(weighted_sums, "LONGEST", 6)  # sums are cut, as long ones are
    factor = factor_of(kind)
    own = clipping_weights(clipping, 1e-3, [GradientNorms(factor.squared_norms(), factor.spread())]).layers[0]
    gradients = [exact_gradient(factor, example) for example in range(EXAMPLES)]
    kept = [[Fraction(float(own[k])) * value for value in gradients[k]] for k in range(EXAMPLES)]
    assert all(square(vector) <= 1 for vector in kept)
    total = [sum(column, Fraction(0)) for column in zip(*kept, strict=True)]
    computed = [Fraction(value) for value in factor.weighted(own).flatten().tolist()]
    error = square([one - other for one, other in zip(computed, total, strict=True)])
    assert error <= Fraction(sum_error(EXAMPLES, 512)) ** 2


def test_the_bound_grows_with_rows_and_with_micro_batches():
    assert sum_error(2000, 512) > 1.9 * sum_error(1000, 512)
    assert sum_error(100_000, 1) > 2 * sum_error(100_000, 512)
    assert sum_error(6000, 512) == pytest.approx(2.8e-6, rel=0.05)
