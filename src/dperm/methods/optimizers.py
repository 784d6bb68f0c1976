# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Optimizers for noisy gradients: momentum, Adam and AdamW. All are post-processing (T3), so they cost no privacy.

An optimizer is a public rule. `Optimizer.start` returns an `OptimizerState`, the state before the first step. The state
is updated from noisy gradients only, never from the data.
"""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dperm import checks
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.errors import ParameterError

STEP_SIZE = "It multiplies the gradient of the mean loss."
MOMENTUM = "It is the fraction of the previous step that is added to each step; 0 is plain gradient descent."
BETA = "It is the weight of past values in a running mean."
STABLE = "It keeps quotients finite where gradients are 0."
DECAY = "Each step shrinks the coefficients by the step size times this number."


class Schedule(StrEnum):
    """Schedule of the step size."""

    CONSTANT = "constant"
    LINEAR = "linear"
    """Linear decrease from the full step size towards 0."""
    COSINE = "cosine"
    """Decrease from the full step size towards 0 along half a period of the cosine."""

    @classmethod
    def of(cls, schedule: "Schedule | str") -> "Schedule":
        """Return the schedule with a given name; a `Schedule` is returned unchanged."""
        try:
            return cls(schedule)
        except ValueError:
            raise ParameterError(
                argument="schedule",
                rule=f"must be one of {', '.join(cls)}",
                got=shown(schedule),
                remedy='Use "constant" if in doubt.',
            ) from None

    def share(self, step: int, steps: int) -> float:
        """Return the factor of the step size in a given step, numbered from 0 to ``steps`` - 1."""
        match self:
            case Schedule.LINEAR:
                return 1 - step / steps
            case Schedule.COSINE:
                return (1 + math.cos(math.pi * step / steps)) / 2
        return 1.0


class OptimizerState(Protocol):
    """State of an optimizer between steps."""

    def step(self, theta: Floats, gradient: Floats) -> Floats:
        """Return the next iterate after ``theta``."""


@runtime_checkable
class Optimizer(Protocol):
    """Protocol of the optimizers: public rules for the steps of gradient descent."""

    @property
    def numbers(self) -> dict[str, object]:
        """Settings, as stored in the record of a run."""

    def start(self, dim: int, steps: int) -> OptimizerState:
        """Return a new optimizer state for ``steps`` steps and ``dim`` coefficients."""


@dataclass(frozen=True)
class Momentum:
    """Gradient descent with heavy-ball momentum: v <- m v + g, theta <- theta - eta v.

    Here theta is the vector of coefficients, g is the noisy gradient, and v is the velocity, which starts at 0.

    Parameters
    ----------
    step_size
        Step size eta, greater than 0; it multiplies the gradient of the mean loss.
    momentum
        Momentum m in [0, 0.999]; 0 is plain gradient descent.
    schedule
        Schedule of the step size: "constant", or "linear" or "cosine", which decrease the step size towards 0.
    """

    step_size: float
    momentum: float = 0.0
    schedule: Schedule | str = Schedule.CONSTANT

    def __post_init__(self) -> None:
        """Check the ranges of step size, schedule and momentum."""
        _check_steps(self.step_size, self.schedule)
        checks.between("momentum", self.momentum, 0.0, 0.999, MOMENTUM)

    @property
    def numbers(self) -> dict[str, object]:
        """Settings, as stored in the record of a run."""
        return _numbers(self)

    def start(self, dim: int, steps: int) -> OptimizerState:
        """Return the initial optimizer state, with velocity 0.

        Parameters
        ----------
        dim
            Number of coefficients.
        steps
            Number of steps.

        Returns
        -------
        OptimizerState
            The initial state.
        """
        return _HeavyBall(_Sizes(self.step_size, self.schedule, steps), self.momentum, np.zeros(dim))


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba 2015): theta <- theta - eta m' / (sqrt(v') + e).

    Here theta is the vector of coefficients and g is the noisy gradient. The exponential moving averages m <- b1 m +
    (1 - b1) g and v <- b2 v + (1 - b2) g^2 start at 0, and m' and v' are their bias-corrected values. Since g contains
    the noise, g^2 does too. If the noise dominates the gradient, all coefficients move by steps of about the same size.

    Parameters
    ----------
    step_size, schedule
        Step size eta and its schedule, as in `Momentum`.
    beta1, beta2
        Decay rates b1 and b2 of the moving averages, in [0, 1).
    stable
        Positive constant e, which keeps the quotient finite where v' is 0.
    """

    step_size: float
    beta1: float = 0.9
    beta2: float = 0.999
    stable: float = 1e-8
    schedule: Schedule | str = Schedule.CONSTANT

    def __post_init__(self) -> None:
        """Check the ranges of all settings."""
        _check_steps(self.step_size, self.schedule)
        _check_moments(self.beta1, self.beta2, self.stable)

    @property
    def numbers(self) -> dict[str, object]:
        """Settings, as stored in the record of a run."""
        return _numbers(self)

    def start(self, dim: int, steps: int) -> OptimizerState:
        """Return the initial optimizer state, with moving averages of 0.

        Parameters
        ----------
        dim
            Number of coefficients.
        steps
            Number of steps.

        Returns
        -------
        OptimizerState
            The initial state.
        """
        moments = _Moments(self.beta1, self.beta2, self.stable, np.zeros(dim), np.zeros(dim))
        return _Adaptive(_Sizes(self.step_size, self.schedule, steps), moments, 0.0)


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    The update is theta <- (1 - eta decay) theta - eta m' / (sqrt(v') + e), in the notation of `Adam`.

    Parameters
    ----------
    step_size, beta1, beta2, stable, schedule
        See `Adam`.
    decay
        Weight decay, at least 0. Each step multiplies the coefficients by 1 - eta decay.
    """

    step_size: float
    beta1: float = 0.9
    beta2: float = 0.999
    stable: float = 1e-8
    decay: float = 0.01
    schedule: Schedule | str = Schedule.CONSTANT

    def __post_init__(self) -> None:
        """Check the ranges of all settings."""
        _check_steps(self.step_size, self.schedule)
        _check_moments(self.beta1, self.beta2, self.stable)
        checks.nonnegative("decay", self.decay, DECAY)

    @property
    def numbers(self) -> dict[str, object]:
        """Settings, as stored in the record of a run."""
        return _numbers(self)

    def start(self, dim: int, steps: int) -> OptimizerState:
        """Return the initial optimizer state, with moving averages of 0.

        Parameters
        ----------
        dim
            Number of coefficients.
        steps
            Number of steps.

        Returns
        -------
        OptimizerState
            The initial state.
        """
        moments = _Moments(self.beta1, self.beta2, self.stable, np.zeros(dim), np.zeros(dim))
        return _Adaptive(_Sizes(self.step_size, self.schedule, steps), moments, self.decay)


@dataclass
class _Sizes:
    """Iterator over the step sizes of a schedule."""

    largest: float
    schedule: Schedule | str
    steps: int
    taken: int = 0

    def next(self) -> float:
        share = Schedule.of(self.schedule).share(self.taken, self.steps)
        self.taken += 1
        return self.largest * share


@dataclass
class _HeavyBall:
    sizes: _Sizes
    momentum: float
    velocity: Floats

    def step(self, theta: Floats, gradient: Floats) -> Floats:
        self.velocity = self.momentum * self.velocity + gradient
        return theta - self.sizes.next() * self.velocity


@dataclass
class _Moments:
    """Running means of gradients and of their squares."""

    beta1: float
    beta2: float
    stable: float
    mean: Floats
    square: Floats
    seen: int = 0

    def direction(self, gradient: Floats) -> Floats:
        self.seen += 1
        self.mean = self.beta1 * self.mean + (1 - self.beta1) * gradient
        self.square = self.beta2 * self.square + (1 - self.beta2) * gradient**2
        mean, square = self.mean / (1 - self.beta1**self.seen), self.square / (1 - self.beta2**self.seen)
        return np.asarray(mean / (np.sqrt(square) + self.stable))


@dataclass
class _Adaptive:
    sizes: _Sizes
    moments: _Moments
    decay: float

    def step(self, theta: Floats, gradient: Floats) -> Floats:
        size = self.sizes.next()
        return (1 - size * self.decay) * theta - size * self.moments.direction(gradient)


def _numbers(rule: Any) -> dict[str, object]:
    return {"name": type(rule).__name__, **asdict(rule), "schedule": Schedule.of(rule.schedule).value}


def _check_steps(step_size: float, schedule: Schedule | str) -> None:
    checks.between("step_size", step_size, 1e-100, 1e100, STEP_SIZE)
    Schedule.of(schedule)


def _check_moments(beta1: float, beta2: float, stable: float) -> None:
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        checks.small_delta(name, beta, BETA)
    checks.positive("stable", stable, STABLE)
