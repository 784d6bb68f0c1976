# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with a few outputs, and their selections by enumeration (T80): an implementation from the definitions."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from dperm.accounting import Runs
from dperm.accounting.event import SingleEvent
from dperm.accounting.laws.atomic import AtomicLoss
from dperm.errors import ConversionError
from dperm.privacy.adjacency import Direction


@dataclass(frozen=True)
class FinitePair(SingleEvent):
    """One pair of output laws: ``first`` with the record, ``second`` without it."""

    first: tuple[float, ...]
    second: tuple[float, ...]
    kind: ClassVar[str] = "finite_pair_of_tests"

    def law(self, direction):
        p, q = (self.second, self.first) if direction is Direction.ADD else (self.first, self.second)
        common = [(math.log(a / b), a) for a, b in zip(p, q, strict=True) if a > 0 and b > 0]
        infinity = math.fsum(a for a, b in zip(p, q, strict=True) if b == 0)
        whole = math.fsum(a for _, a in common)
        return AtomicLoss(tuple(x for x, _ in common), tuple(a / whole for _, a in common), infinity)

    def rdp(self, orders, adjacency):
        if min(*self.first, *self.second) == 0:
            raise ConversionError("an output is impossible under one law")
        p, q = np.log(self.first), np.log(self.second)  # all outputs are possible under both laws
        order = np.asarray(orders)[:, None]
        curves = [logsumexp(order * a + (1 - order) * b, axis=1) for a, b in ((p, q), (q, p))]
        return np.maximum(np.max(curves, axis=0), 0.0) / (np.asarray(orders) - 1) * (1 + 1e-12)

    def tags(self, adjacency):
        return ()

    def fields(self):
        return {}


def generating_function(runs: Runs, x):
    """E x^K from the probabilities of K, in closed form but not from the derivative that the package uses."""
    fields = runs.fields()
    if fields["law"] == "poisson":
        return np.exp(fields["mean"] * (x - 1))
    eta, gamma = fields["eta"], fields["gamma"]
    if eta == 0:
        return np.log(1 - (1 - gamma) * x) / math.log(gamma)
    return ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)


def selections(p, q, runs):
    """Yield the two laws of the best output for every order of the scores; the last entry is "no run"."""
    nothing = generating_function(runs, 0.0)
    for order in itertools.permutations(range(len(p))):
        laws = []
        for law in (p, q):
            below = np.clip(1 - np.concatenate([[0.0], np.cumsum(np.array(law)[list(order)])]), 0.0, 1.0)
            values = generating_function(runs, below)
            laws.append(np.append(values[:-1] - values[1:], nothing))
        yield laws[0], laws[1]


def hockey_stick(p, q, epsilon):
    return float(np.sum(np.maximum(np.asarray(p) - math.exp(epsilon) * np.asarray(q), 0.0)))


def largest_delta(p, q, runs, epsilons):
    """The largest profile over all orders of the scores, at each epsilon."""
    found = [[hockey_stick(a, b, epsilon) for epsilon in epsilons] for a, b in selections(p, q, runs)]
    return np.max(found, axis=0)


def random_pair(rng):
    """Two to five outputs; some of them nearly or wholly absent from one law."""
    size = int(rng.integers(2, 6))
    p, q = (np.maximum(rng.dirichlet(np.full(size, rng.choice([0.2, 1.0, 4.0]))), 1e-9) for _ in range(2))
    if rng.random() < 0.5:  # close laws
        q = p * np.exp(rng.uniform(-1, 1, size))
    if rng.random() < 0.4:  # a rare output
        p[0], q[0] = p[0] * 10.0 ** -rng.uniform(1, 6), q[0] * 10.0 ** -rng.uniform(0, 4)
    if rng.random() < 0.2:
        (p if rng.random() < 0.5 else q)[-1] = 0.0
    return tuple((p / p.sum()).tolist()), tuple((q / q.sum()).tolist())


def random_runs(rng):
    family = rng.integers(0, 3)
    if family == 0:
        return Runs.poisson(float(np.exp(rng.uniform(math.log(0.2), math.log(60.0)))))
    eta = float(rng.choice([0.0, 1.0, -0.5, -0.9, 0.5, 2.0, 5.0]))
    return Runs.negative_binomial(eta, float(np.exp(rng.uniform(math.log(0.003), math.log(0.9)))))
