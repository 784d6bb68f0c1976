# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random real numbers with digits drawn on demand, in units of a strip's width.

The fast sampler leaves a proposal undecided about once in 2e9 times, half of them in the tail. Here it is decided
exactly: bounds on both sides of the comparison shrink until they separate. Drawn digits are kept, so a number can be
read again to more digits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dperm.noise.bits import Stream, integer
from dperm.noise.rational_bounds import DIGITS, Bounds, exp_bounds, log_bounds
from dperm.noise.strips import StripTable

FIRST_BITS = 53
UNIFORM_BITS = 32
WORD = 64


class LazyReal(Protocol):
    """Real number readable to any precision."""

    def bounds(self, bits: int) -> Bounds:
        """Return (lower, upper) bounds at most about 2^-bits apart; draws digits as needed."""


@dataclass
class BinaryReal:
    """Number with independent fair binary digits after the known ones."""

    digits: int
    known: int
    """Number of known digits after the binary point."""
    stream: Stream

    def bounds(self, bits: int) -> Bounds:
        """Return the known digits followed by zeros, and followed by ones."""
        while self.known < bits:
            self.digits = (self.digits << WORD) | integer(self.stream, WORD)
            self.known += WORD
        unit = Fraction(1, 2**self.known)
        return self.digits * unit, (self.digits + 1) * unit


@dataclass
class TailReal:
    """Position strips + E / (rate h) in the tail, in strip widths, with E = -log V exponential."""

    uniform: BinaryReal
    table: StripTable

    def bounds(self, bits: int) -> Bounds:
        """Return bounds on the position from bounds on V; rate h < 1 requires the spare digits."""
        low, high = self.exponential(bits + WORD)
        start = self.table.strips * self.table.width
        stretch = self.table.shape.tail_rate(start) * self.table.width
        return self.table.strips + low / stretch, self.table.strips + high / stretch

    def exponential(self, bits: int) -> Bounds:
        """Return bounds on E; draws digits until V > 0, since 0 has no logarithm."""
        known = bits
        low, high = self.uniform.bounds(known)
        while low == 0:
            known += WORD
            low, high = self.uniform.bounds(known)
        digits = bits // 3 + 2
        return max(log_bounds(high, digits)[0], Fraction(0)) if high < 1 else Fraction(0), log_bounds(low, digits)[1]


def accept_in_strip(table: StripTable, place: BinaryReal, strip: int, uniform: BinaryReal) -> bool:
    """Decide exactly whether U < p(k, u) = alpha e^-cost((k + u) h) / w_k; ``place`` is k + u."""
    factor = Fraction(table.alpha, table.weights[strip])

    def costs(bits: int) -> Bounds:
        low, high = place.bounds(bits)
        return table.shape.cost(low * table.width), table.shape.cost(high * table.width)

    return _below(uniform, factor, costs)


def accept_in_tail(table: StripTable, place: TailReal, uniform: BinaryReal) -> bool:
    """Decide exactly whether U < (alpha / w) mass e^-extra, for a proposal from the dominating exponential.

    The proposal has density rate h e^-rate v over strip widths, the target alpha e^-cost(start) e^-rate v e^-extra(v) /
    w. The ratio is alpha e^-cost(start) / (rate h w) times e^-extra(v), below 1 because w >= alpha mass.
    """
    start = table.strips * table.width
    rate = table.shape.tail_rate(start)
    factor = Fraction(table.alpha, table.weights[-1]) / (rate * table.width)

    def costs(bits: int) -> Bounds:
        low, high = place.exponential(bits)
        fixed = table.shape.cost(start)
        return fixed + table.shape.tail_cost(low / rate), fixed + table.shape.tail_cost(high / rate)

    return _below(uniform, factor, costs)


def is_below(uniform: BinaryReal, bounds: Callable[[int], Bounds]) -> bool:
    """Decide whether U < p by reading both to more digits; ``bounds`` maps decimal digits to bounds on p."""
    digits = DIGITS
    while True:
        low, high = bounds(digits)
        first, last = uniform.bounds(4 * digits)
        if last <= low:
            return True
        if first >= high:
            return False
        digits *= 2


def _below(uniform: BinaryReal, factor: Fraction, costs: Callable[[int], Bounds]) -> bool:
    """Decide whether U < factor e^-cost."""

    def bounds(digits: int) -> Bounds:
        cheap, dear = costs(4 * digits)
        return factor * exp_bounds(dear, digits)[0], factor * exp_bounds(cheap, digits)[1]

    return is_below(uniform, bounds)
