# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compositions for the accounting benchmarks: a golden set, typical random cases and a wide random scan."""

from dataclasses import dataclass

import numpy as np

from dperm.accounting import Approximate, Gaussian, Laplace, Poisson, WithoutReplacement
from dperm.accounting.event import Event


@dataclass(frozen=True)
class Step:
    """One mechanism of a case, in terms that both libraries support."""

    kind: str
    noise: float
    count: int
    rate: float = 1.0
    delta: float = 0.0
    sampling: str = "poisson"


@dataclass(frozen=True)
class Case:
    """A composition, its target delta and its adjacency."""

    name: str
    steps: tuple[Step, ...]
    delta: float
    adjacency: str = "add_remove"

    def event(self) -> Event:
        """The composition as a dperm event."""
        parts = [_event(step, self.adjacency) for step in self.steps]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


def _event(step: Step, adjacency: str) -> Event:
    if step.kind == "epsilon_delta":
        return Approximate(step.noise, step.delta, adjacency) * step.count
    base = Gaussian(step.noise) if step.kind == "gaussian" else Laplace(step.noise)
    if step.rate == 1:
        return base * step.count
    sampling = WithoutReplacement if step.sampling == "without_replacement" else Poisson
    return sampling(base, step.rate) * step.count


def g(noise: float, count: int, rate: float = 1.0) -> Step:
    """A Gaussian step."""
    return Step("gaussian", noise, count, rate)


def lap(noise: float, count: int, rate: float = 1.0) -> Step:
    """A Laplace step."""
    return Step("laplace", noise, count, rate)


GOLDEN = (
    Case("gauss s1", (g(1, 1),), 1e-5),
    Case("gauss s5 T100", (g(5, 100),), 1e-5),
    Case("gauss s50 T1e4", (g(50, 10_000),), 1e-6),
    Case("gauss s1 d1e-12", (g(1, 1),), 1e-12),
    Case("laplace b1", (lap(1, 1),), 1e-5),
    Case("laplace b10 T100", (lap(10, 100),), 1e-5),
    Case("q.01 s1 T1e3", (g(1, 1000, 0.01),), 1e-5),
    Case("q1e-3 s.6 T1e5", (g(0.6, 100_000, 1e-3),), 1e-6),
    Case("q1e-4 s.8 T1e6", (g(0.8, 1_000_000, 1e-4),), 1e-8),
    Case("q.01 s.3 T1e3", (g(0.3, 1000, 0.01),), 1e-5),
    Case("q1e-4 s4 T1e3", (g(4, 1000, 1e-4),), 1e-6),
    Case("q.01 s1 T1", (g(1, 1, 0.01),), 1e-6),
    Case("q1 s10 T1e3", (g(10, 1000),), 1e-5),
    Case("q3e-4 s4 d1e-18", (g(4, 10_000, 3.3e-4),), 1.1e-18),
    Case("G+L+S", (g(2, 10), lap(10, 50), g(1, 1000, 0.01)), 1e-5),
    Case("(.1,1e-8) k100", (Step("epsilon_delta", 0.1, 100, delta=1e-8),), 1e-5),
    Case(".1 k1000", (Step("epsilon_delta", 0.1, 1000),), 1e-6),
    Case("gauss s1 T10 RO", (g(1, 10),), 1e-5, "replace_one"),
    Case("q.01 s1 T1e3 RO", (g(1, 1000, 0.01),), 1e-5, "replace_one"),
    Case("slap q.1 b1 T100", (lap(1, 100, 0.1),), 1e-5),
)


def random_cases(count: int, seed: int = 20261115) -> list[Case]:
    """Random cases in turn: Poisson Gaussian alone (half of them), under replace-one, and mixed."""
    rng = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    def sampled() -> Step:
        return g(between(0.5, 4), round(between(20, 30_000)), between(1e-3, 0.1))

    out = []
    for index in range(count):
        delta = between(1e-10, 1e-4)
        kind = index % 6
        if kind in (0, 1, 2):
            out.append(Case(f"random {index}", (sampled(),), delta))
        elif kind == 3:
            out.append(Case(f"random {index} RO", (sampled(),), delta, "replace_one"))
        elif kind == 4:
            out.append(Case(f"random {index}", (sampled(), sampled(), g(between(5, 20), round(between(1, 20)))), delta))
        else:
            steps = (g(between(5, 20), round(between(1, 20))), lap(between(5, 20), round(between(10, 100))), sampled())
            out.append(Case(f"random {index}", steps, delta))
    return out


def wide_cases(count: int, seed: int = 20261118) -> list[Case]:
    """Rates from 1e-6 to .5, noise multipliers from .2 to 10, 1 to 100,000 steps, delta from 1e-12 to 1e-3.

    All ranges are log-uniform. The kinds in turn: one sampled Gaussian, two or three of them, two with a plain
    Gaussian, one with a Gaussian and a Laplace mechanism, a sampled Laplace mechanism, and sampling without
    replacement. The first case is the one that took 63 CPU seconds in version 0.8.0.
    """
    rng = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    def sampled(most: float = 100_000) -> Step:
        return g(between(0.2, 10), round(between(1, most)), between(1e-6, 0.5))

    def steps(kind: int) -> tuple[Step, ...]:
        if kind <= 2:
            return (sampled(),)
        if kind <= 4:
            return tuple(sampled(3000) for _ in range(int(rng.integers(2, 4))))
        if kind == 5:
            return (sampled(), sampled(), g(between(1, 20), round(between(1, 20))))
        if kind == 6:
            return (g(between(2, 20), round(between(1, 20))), lap(between(2, 20), round(between(1, 100))), sampled())
        if kind == 7:
            return (lap(between(0.2, 10), round(between(1, 10_000)), between(1e-6, 0.5)),)
        step = sampled(10_000)
        return (Step("gaussian", step.noise, step.count, step.rate, sampling="without_replacement"),)

    slow = (g(0.324, 1091, 1.14e-5), g(0.435, 33, 0.0113), g(0.26, 15, 0.0002))
    out = [Case("wide 0", slow, 2.3e-10)]
    for index in range(1, count):
        kind = index % 9
        relation = "replace_one" if kind == 8 or rng.random() < 0.3 else "add_remove"
        out.append(Case(f"wide {index}", steps(kind), between(1e-12, 1e-3), relation))
    return out[:count]
