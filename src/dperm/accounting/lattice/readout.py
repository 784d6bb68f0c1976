# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reading delta(eps) = sum_l P(l) (1 - e^{eps - l})_+ off a circle of tilted weights (T2), with all its errors.

With window [eps, eps + A), A the period, first lattice point l_0 >= eps in it and x = eps - l_0 <= 0:

    D(eps) = e^{K - c l_0} sum_i w_i e^{-c h i} [ e^x (1 - e^{-h i}) + (1 - e^x) ],

where no term cancels. Mass at l + mA shows up at l, multiplied by e^{cmA}. For m < 0 that adds at most
e^{-cA}/(1 - e^{-cA}). For m > 0 it adds at most sum_m e^{cmA} delta(eps + mA), and instead the mass's own contribution
is missing, which is at most P(L >= eps + A); with c2 > c both are at most e^{K(c2) - c2 eps - (c2 - c)A} / (1 - ...).
An error of r in each weight adds r e^{K - c eps} sum_i e^{-chi}(1 - e^{-h(i+1)}); an error of total mass v in a factor
adds v e^{K - c eps} kappa(c).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from dperm.accounting.lattice.rounding import MASS, UNDERFLOW, bounded_exp
from dperm.accounting.lattice.spectrum import LatticeCircle
from dperm.accounting.laws.law import Array
from dperm.accounting.special import log_kappa
from dperm.privacy.rounding import ULP

FADED = 60.0  # weights that the un-tilting has divided by e^60 are left to the error term


@dataclass(frozen=True)
class Beyond:
    """A Chernoff bound of the law on the circle: log E e^{c2 L} <= log_mgf."""

    tilt: float
    log_mgf: float


@dataclass(frozen=True)
class Readout:
    """The profile of a tilted circle.

    ``variation``: total error of its factors; ``lost``: P-mass at +infinity; ``far``: P-mass and log Q-mass of an event
    that is not on the circle (lower laws; it adds at least P - e^eps Q); ``shift``: allowance on the losses;
    ``last``: index of the largest loss if the whole law fits on the circle (then nothing is aliased).
    """

    circle: LatticeCircle
    tilt: float
    beyond: Beyond
    variation: float
    lost: float
    far: tuple[float, float]
    shift: float
    last: int | None
    _plain: Array = field(init=False, repr=False)
    _rising: Array = field(init=False, repr=False)
    _twice: Array = field(init=False, repr=False)
    _noise: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Tables of e^{-chi} and e^{-chi}(1 - e^{-hi}), and the circle laid out twice, so that a window is a slice.

        ``noise`` is all errors that are relative to e^{K - c eps}.
        """
        n, h = len(self.circle.weights), self.circle.spacing
        reach = min(n, math.ceil(FADED / (self.tilt * h)))
        steps = h * np.arange(reach)
        plain = np.exp(-self.tilt * steps)
        rising = plain * -np.expm1(-steps)
        spread = float(rising.sum()) + h * float(plain.sum())
        noise = (
            self.circle.noise * spread
            + math.exp(float(log_kappa(np.array(self.tilt)))) * self.variation
            + math.exp(-FADED)
        )
        object.__setattr__(self, "_plain", plain)
        object.__setattr__(self, "_rising", rising)
        object.__setattr__(self, "_twice", np.concatenate([self.circle.weights, self.circle.weights[:reach]]))
        object.__setattr__(self, "_noise", noise)

    def value_and_tail(self, epsilon: float) -> tuple[float, float]:
        """D(eps) and P(L > eps), so that D' = D - P(L > eps), for searching only.

        The noise is added: far below the mass that the tilt brought forward it is all there is, and it must not hide
        that delta is large there.
        """
        value, tail, scale = self._sums(epsilon)
        if not math.isfinite(scale):
            return math.inf, math.inf
        noise = scale * self._noise + self.lost
        return value + noise + self._far(epsilon), tail + noise + self.far[0]

    def upper(self, epsilon: float) -> float:
        """Upper bound on delta(epsilon) of the law on the circle, its losses all raised by the shift."""
        value, _, scale = self._sums(epsilon - self.shift)
        if not math.isfinite(scale):
            return math.inf
        blur = abs(value) * self._blur(epsilon)
        return value + blur + self._right(epsilon - self.shift) + scale * self._noise + self.lost + UNDERFLOW

    def lower(self, epsilon: float) -> float:
        """Lower bound on delta(epsilon) of the law on the circle, its losses all lowered by the shift."""
        value, _, scale = self._sums(epsilon + self.shift)
        if not math.isfinite(scale):
            return -math.inf
        aliases = self._right(epsilon + self.shift) + self._left()
        return value - abs(value) * self._blur(epsilon) - aliases - scale * self._noise + self._far(epsilon)

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """D(epsilon), P(L > epsilon), and e^{K - c epsilon}."""
        circle, n = self.circle, len(self.circle.weights)
        first = math.ceil((epsilon - circle.start) / circle.spacing)
        x = min(epsilon - (circle.start + first * circle.spacing), 0.0)
        count = len(self._plain) if self.last is None else max(min(len(self._plain), self.last - first + 1), 0)
        part = self._twice[first % n : first % n + count]
        rising, plain = float(part @ self._rising[:count]), float(part @ self._plain[:count])
        log_scale = circle.log_scale - self.tilt * epsilon
        at_first = bounded_exp(log_scale + self.tilt * x)
        return at_first * (math.exp(x) * rising - math.expm1(x) * plain), at_first * plain, bounded_exp(log_scale)

    def _blur(self, epsilon: float) -> float:
        """Relative rounding of the tables and of e^{K - c l}."""
        return 4 * MASS + 16 * ULP * (abs(self.circle.log_scale) + self.tilt * abs(epsilon))

    def _far(self, epsilon: float) -> float:
        """Return a lower bound on the contribution of the event outside the circle."""
        p, log_q = self.far
        return max(p * (1 - MASS) - bounded_exp(epsilon + self.shift + log_q) * (1 + MASS), 0.0) if p else 0.0

    def _left(self) -> float:
        """Return a bound on the aliases of smaller losses."""
        fall = self.tilt * self.circle.spacing * len(self.circle.weights)
        return 0.0 if self.last is not None else math.exp(-fall) / -math.expm1(-fall)

    def _right(self, epsilon: float) -> float:
        """Return a bound on the aliases of larger losses, or on the mass missing from the window."""
        fall = (self.beyond.tilt - self.tilt) * self.circle.spacing * len(self.circle.weights)
        if self.last is not None or fall <= 0:
            return 0.0 if self.last is not None else math.inf
        return bounded_exp(self.beyond.log_mgf - self.beyond.tilt * epsilon - fall) / -math.expm1(-fall)
