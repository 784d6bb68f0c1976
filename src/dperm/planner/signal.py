# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How easy the made-up classes are: the log odds of a row are normal, with a spread and a mean that are solved for.

The log odds M of a row's class are N(c, s^2). The share of the class is E sigma(M) = ``balance``, which fixes c for
each s; the best that anybody can do is E max(sigma(M), 1 - sigma(M)), which grows with s from the share of the
larger class to 1, and fixes s.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from dperm.planner.shape import Shape

REMOVED = 1 / 3
"""Where no baseline was declared: the share of the errors of guessing the larger class that the best model avoids.

The median of 16 tables of people where it was above a tenth was 0.35, with quartiles of 0.23 and 0.50; of 13 more it
was below (benchmarks/planner_tables.py).
"""
_GRID = np.linspace(-9.0, 9.0, 3001)
_WEIGHTS = np.exp(-_GRID * _GRID / 2) / np.exp(-_GRID * _GRID / 2).sum()
_ROUNDS = 45
_WIDEST = 1e3


@dataclass(frozen=True)
class Signal:
    """Spread and mean of the log odds.

    Attributes
    ----------
    spread
        s: how much the columns say about the class.
    offset
        c: how much more frequent one class is.
    """

    spread: float
    offset: float

    @property
    def best(self) -> float:
        """The accuracy of whoever knows the log odds themselves."""
        return _best(self.spread, self.offset)

    @property
    def share(self) -> float:
        """Of the positive class."""
        return _share(self.spread, self.offset)


@lru_cache(maxsize=256)
def signal_for(shape: Shape, best: float | None = None) -> Signal:
    """The signal with the balance of ``shape`` and the best accuracy ``best``; None takes the rule.

    The rule is that of ``REMOVED``: the best model avoids a third of the errors of guessing the larger class.
    """
    aim = shape.majority + REMOVED * (1 - shape.majority) if best is None else best
    spread = _root(lambda log: _best(math.exp(log), _offset(shape.balance, math.exp(log))) - aim, -9, math.log(_WIDEST))
    return Signal(math.exp(spread), _offset(shape.balance, math.exp(spread)))


def _offset(balance: float, spread: float) -> float:
    reach = 10 * (spread + 1)
    return _root(lambda offset: _share(spread, offset) - balance, -reach, reach)


def _share(spread: float, offset: float) -> float:
    return float(_WEIGHTS @ expit(offset + spread * _GRID))


def _best(spread: float, offset: float) -> float:
    return float(_WEIGHTS @ expit(np.abs(offset + spread * _GRID)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Of an increasing function, by bisection."""
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return (low + high) / 2
