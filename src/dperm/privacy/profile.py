# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy profile delta(epsilon), with every number rounded in the safe direction."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from dperm import checks
from dperm.presentation.notebook import line_chart, notebook_card, notebook_grid, side_by_side
from dperm.presentation.numbers import format_up
from dperm.presentation.tables import TextTable
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.rounding import ULP

_GOLDEN = (math.sqrt(5) - 1) / 2
_GOLDEN_ROUNDS = 36
_BEYOND_DOUBLES = 800.0
"""Largest useful epsilon: e^-800 is 0 in double precision, so no larger epsilon changes a rate."""
_SHOWN_DELTAS = (1e-3, 1e-5, 1e-6, 1e-9, 0.0)
"""Rows of the table for notebooks."""
_SHOWN_POINTS = 48
"""Intervals of the curve for notebooks."""
_SHOWN_EPSILON = 5.0
"""End of the drawn curve if no epsilon of the table is finite and positive."""


class PrivacyProfile(ABC):
    """Privacy profile of a mechanism, the function delta(epsilon) (T1, T2).

    delta(epsilon) is the smallest delta for which the mechanism M is (epsilon, delta)-DP: the supremum of the
    hockey-stick divergence H_{e^epsilon}(M(D) || M(D')) over all neighbouring data sets D and D'.

    Subclasses implement ``adjacency``, ``epsilon_bracket`` and ``delta_bracket``.

    Notes
    -----
    *Guarantees.* A bracket is a pair (lower, upper) of valid bounds. ``epsilon`` and ``delta`` return upper bounds,
    rounded up, and ``tradeoff`` returns a lower bound, rounded down. Every reported number therefore errs in the safe
    direction (C0.6).

    *Edge cases.*

    ==================  ==========================================================================
    query               answer
    ==================  ==========================================================================
    ``epsilon(0.0)``    The epsilon of pure DP; infinite if the mechanism is not pure.
    ``epsilon(delta)``  Infinite if delta(epsilon) never falls to ``delta``.
    ``delta(0.0)``      Total variation distance, the largest advantage of an attacker (T2).
    nan, negative       `ParameterError`, also for ``delta >= 1`` and infinite ``epsilon``.
    ==================  ==========================================================================
    """

    adjacency: Adjacency
    """Neighbouring relation of the profile."""

    @abstractmethod
    def epsilon_bracket(self, delta: float) -> tuple[float, float]:
        """Return lower and upper bounds on the smallest epsilon for a given delta.

        Parameters
        ----------
        delta
            Value of delta, in [0, 1).

        Returns
        -------
        tuple[float, float]
            Pair (lower, upper).

        Raises
        ------
        ParameterError
            If ``delta`` is not in [0, 1).
        """

    @abstractmethod
    def delta_bracket(self, epsilon: float) -> tuple[float, float]:
        """Return lower and upper bounds on the smallest delta for a given epsilon.

        Parameters
        ----------
        epsilon
            Value of epsilon, finite and >= 0.

        Returns
        -------
        tuple[float, float]
            Pair (lower, upper).

        Raises
        ------
        ParameterError
            If ``epsilon`` is negative or not finite.
        """

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the smallest epsilon for a given delta.

        Parameters
        ----------
        delta
            Value of delta, in [0, 1).

        Returns
        -------
        float
            Upper bound on epsilon; infinite if no finite epsilon suffices.

        Raises
        ------
        ParameterError
            If ``delta`` is not in [0, 1).
        """
        return self.epsilon_bracket(delta)[1]

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the smallest delta for a given epsilon.

        Parameters
        ----------
        epsilon
            Value of epsilon, finite and >= 0.

        Returns
        -------
        float
            Upper bound on delta.

        Raises
        ------
        ParameterError
            If ``epsilon`` is negative or not finite.
        """
        return self.delta_bracket(epsilon)[1]

    def tradeoff(self, false_positive_rate: float) -> float:
        """Return a lower bound on the false-negative rate of every attacker with a given false-positive rate.

        Parameters
        ----------
        false_positive_rate
            False-positive rate of the attacker, in [0, 1].

        Returns
        -------
        float
            Lower bound on the false-negative rate.

        Raises
        ------
        ParameterError
            If ``false_positive_rate`` is not in [0, 1].
        """
        return tradeoff_from_delta(self.delta, false_positive_rate)

    def _repr_html_(self) -> str:
        """Return the curve delta(epsilon) and epsilon at a few deltas, for notebooks. All numbers are upper bounds."""
        found = [(delta, self.epsilon(delta)) for delta in _SHOWN_DELTAS]  # the curve is wider by up to 0.1 %
        curve = curve_of(self)
        reached = [epsilon for _, epsilon in found if 0 < epsilon < _BEYOND_DOUBLES]
        end = 1.1 * max(reached, default=_SHOWN_EPSILON)
        epsilons = sorted({*reached, *(end * place / _SHOWN_POINTS for place in range(_SHOWN_POINTS + 1))})
        chart = line_chart(
            [(epsilon, min(1.0, curve.delta(epsilon))) for epsilon in epsilons],
            title="Privacy profile: delta as a function of epsilon, logarithmic",
            x_label="epsilon",
            y_label="delta",
        )
        rows = [(format_up(delta), format_up(epsilon, 4)) for delta, epsilon in found]
        table = notebook_grid(TextTable(("delta", "epsilon at most"), rows))
        return notebook_card(f"Privacy profile, {self.adjacency.value}", side_by_side(table, chart))


def curve_of(profile: PrivacyProfile) -> PrivacyProfile:
    """Return the profile prepared for many queries: its ``curve()`` if it has one, or itself."""
    curve = getattr(profile, "curve", None)
    return curve() if callable(curve) else profile


def tradeoff_from_delta(delta: Callable[[float], float], false_positive_rate: float) -> float:
    """Return a lower bound on the false-negative rate f(x) of every attacker with false-positive rate x.

    Dong, Roth & Su 2019, Prop 2.12: f(x) = sup_eps max(0, 1 - delta(eps) - e^eps x, e^-eps (1 - delta(eps) - x)). Each
    eps gives a valid bound, even if delta(eps) is only an upper bound, so the search for the best eps may stop at any
    point. The search evaluates ``delta`` about 40 times; for smooth profiles, the result is within 1e-6 of f(x).

    Parameters
    ----------
    delta
        Upper bound on delta, as a function of epsilon >= 0.
    false_positive_rate
        False-positive rate x, in [0, 1].

    Returns
    -------
    float
        Lower bound on f(x).

    Raises
    ------
    ParameterError
        If ``false_positive_rate`` is not in [0, 1].
    """
    x = checks.probability("false_positive_rate", false_positive_rate)
    return max(0.0, supporting_line(delta, x)[1])


def supporting_line(delta: Callable[[float], float], false_positive_rate: float) -> tuple[float, float]:
    """Return (epsilon, value) of the line of slope -e^epsilon or -e^-epsilon that supports f best at this rate.

    f is symmetric about x = (1 - delta(0))/2, where its slope is -1. To the left only steep lines matter, to the right
    only flat ones. Both families are concave in e^epsilon (e^-epsilon), so golden section finds the best line.
    """
    x = false_positive_rate
    at_zero = 1 - delta(0.0) - x - 4 * ULP
    if at_zero >= x:
        best = _maximise(lambda eps: _steep(delta(eps), eps, x), _steep_limit(x))
    else:
        best = _maximise(lambda eps: _flat(delta(eps), eps, x), _flat_limit(delta, x))
    return max(best, (0.0, at_zero), key=lambda pair: pair[1])


def _steep(delta: float, epsilon: float, x: float) -> float:
    weighted = math.exp(min(1.0, epsilon + math.log(x))) if x > 0 else 0.0
    return 1 - delta - weighted * (1 + 2 * _BEYOND_DOUBLES * ULP) - 4 * ULP


def _flat(delta: float, epsilon: float, x: float) -> float:
    return math.exp(-epsilon) * (1 - delta - x - 4 * ULP)


def _steep_limit(x: float) -> float:
    """Return log(1/x), beyond which every steep line is negative at x."""
    return min(_BEYOND_DOUBLES, -math.log(x)) if x > 0 else _BEYOND_DOUBLES


def _flat_limit(delta: Callable[[float], float], x: float) -> float:
    """Return a limit on epsilon: given a positive value b, no line with e^-epsilon (1 - x) < b is better."""
    epsilon = 1.0
    while epsilon < _BEYOND_DOUBLES:
        value = _flat(delta(epsilon), epsilon, x)
        if value > 0:
            return max(epsilon, math.log((1 - x) / value))
        epsilon *= 2
    return _BEYOND_DOUBLES


def _maximise(value: Callable[[float], float], high: float) -> tuple[float, float]:
    """Return (argument, value) of the largest value in a golden-section search on [0, high]."""
    low, width = 0.0, high
    left, right = high * (1 - _GOLDEN), high * _GOLDEN
    at_left, at_right = value(left), value(right)
    best = max((high, value(high)), (left, at_left), (right, at_right), key=lambda pair: pair[1])
    for _ in range(_GOLDEN_ROUNDS):
        width *= _GOLDEN
        if at_left >= at_right:
            right, at_right = left, at_left
            left = low + width * (1 - _GOLDEN)
            at_left = value(left)
            best = max(best, (left, at_left), key=lambda pair: pair[1])
        else:
            low, left, at_left = left, right, at_right
            right = low + width * _GOLDEN
            at_right = value(right)
            best = max(best, (right, at_right), key=lambda pair: pair[1])
    return best
