# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How often and how much of the data DP-SGD samples where that was left open, from public constants alone.

It is about usefulness and time; no guarantee rests on it. Let mu be that of the goal (T6), over the number of records
in which neighbours differ. T steps at rate q need a noise multiplier z; as long as z is well above 1 it is about
q sqrt(T) / mu, and the noise on the mean gradient, z L / (q n), is that of T steps on all records (T45): sampling costs
nothing. At z = 1.5 it costs a sixth, below 1 soon much more. So q = 1.5 mu / sqrt(T), and q T = 1.5 mu sqrt(T) passes.
The noise that all steps together leave in the coefficients depends on their horizon (step size times steps), not on
T; more steps are smaller ones, and reach farther where the data have directions of little curvature.
"""

import math
from dataclasses import asdict, dataclass

from dperm.erm.spec import ProblemSpec
from dperm.mechanisms.goal import gaussian_mu
from dperm.methods.descent import HEAVY_STEP, KINKED_STEP, MOMENTUM, step_unit
from dperm.methods.optimizers import Momentum
from dperm.methods.rules import descent_strength
from dperm.privacy import Adjacency, ApproxDP

USUAL_STEPS = 1000
MULTIPLIER = 1.5
SMALLEST_BATCH = 256
"""Expected records of a sample: with fewer a step costs as much time."""
EPOCHS = (5.0, 50.0)
"""The fewest and the most passes: in E of them a sample's own noise is some 1/E of that of the data themselves."""
USUAL_AVERAGE = 0.5


@dataclass(frozen=True)
class Sampling:
    """Public parameters of a run: Poisson samples at ``rate`` in each of ``steps`` steps, and which iterates count."""

    rate: float
    steps: int
    average: float = USUAL_AVERAGE
    projection: float = math.inf

    @property
    def averaged(self) -> int:
        """Number of iterates, at the end, that are averaged."""
        return max(1, round(self.average * self.steps))

    @property
    def longest(self) -> float:
        """Bound on the norm of an iterate, rounding included."""
        return self.projection * (1 + 2.0**-30)

    @property
    def numbers(self) -> dict[str, object]:
        """As they stand in a record."""
        return asdict(self)


def rate_for(steps: int, goal: ApproxDP, n: int) -> float:
    """The rate q = 1.5 mu / sqrt(T); at least 5 passes over the data, and 256 records in a sample."""
    wanted = MULTIPLIER * record_mu(goal) / math.sqrt(steps)
    return min(1.0, max(wanted, EPOCHS[0] / steps, SMALLEST_BATCH / n))


def steps_for(rate: float, goal: ApproxDP) -> int:
    """As many as T = (1.5 mu / q)^2, at most 50 passes over the data, and at least 1000 steps."""
    wanted = min((MULTIPLIER * record_mu(goal) / rate) ** 2, EPOCHS[1] / rate)
    return max(USUAL_STEPS, math.ceil(wanted))


def rate_of_epochs(epochs: float, n: int) -> float:
    """The rate at which so many passes take 1000 steps; at least 256 records in a sample."""
    return min(1.0, max(epochs / USUAL_STEPS, SMALLEST_BATCH / n))


def default_optimizer(spec: ProblemSpec, goal: ApproxDP, steps: int) -> Momentum:
    """Momentum .9, and steps as long as the horizon H of `dperm.methods.descent.default_descent` asks for.

    That is (1 - .9) H / T for H = n/Lambda, at most 8 units, or 2 at a kink, as there.
    """
    strength = descent_strength(spec, goal)
    horizon = (spec.n or 1) / strength
    longest = (HEAVY_STEP if math.isfinite(spec.smoothness) else KINKED_STEP) * step_unit(spec)
    return Momentum(min((1 - MOMENTUM) * horizon / steps, longest), MOMENTUM)


def record_mu(goal: ApproxDP) -> float:
    """What one record added or removed may cost."""
    return gaussian_mu(goal) / (1 if goal.adjacency is Adjacency.ADD_REMOVE else 2)
