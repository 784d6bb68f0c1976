# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The whole profile of a composition, for many queries.

A contour or a lattice built for one epsilon bounds delta at every epsilon, tightly in a neighbourhood. A curve stores
these readers, answers new epsilons from them, and builds another only where the bracket is too wide. Within their
brackets, the answers therefore depend on earlier queries. Explanations and trade-off curves need delta at about a
hundred epsilons; they then cost only a few contours or lattices.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from dperm.accounting import basic, closed
from dperm.accounting.composition import Composition
from dperm.accounting.contour import engine as contour
from dperm.accounting.lattice import engine as lattice
from dperm.privacy.rounding import LEAST_DOUBLE

Bracket = tuple[float, float]
Reader = Callable[[float], Bracket]
WIDTH = 1e-3  # relative width of the brackets of delta; most contours give far less
ROUGH = 0.5  # the same in a search
MOST_READERS = 6  # of one direction; beyond, the brackets are as wide as they are
NEIGHBOURS, CLOSE_NEIGHBOURS = 0.3, 0.03  # relative distance of epsilons that share a reader
SEARCH_ROUNDS = 40
SETTLED = 1e-7
FACTOR = 1.5  # by which a search widens its bracket
NEAREST, FARTHEST = 1e-12, 1e9
GUESS_SPACING = 2.0  # of the logarithms of deltas at which a search begins


@dataclass
class DirectionCurve:
    """Profile of one direction, with its readers so far as pairs (epsilon used to build the reader, reader)."""

    composition: Composition
    readers: list[tuple[float, Reader]] = field(default_factory=list)

    def bracket(self, epsilon: float, width: float, enough: float = 0.0) -> Bracket:
        """Return bounds on delta(epsilon) of relative width ``width``.

        They may be wider if the upper bound is at most ``enough``, or if no engine reaches the width.
        """
        composition = self.composition
        if epsilon >= composition.ceiling:
            return self._whole((0.0, 0.0))
        exact = closed.delta_bracket(composition, epsilon)
        if exact is not None:
            return self._whole((exact[0], max(exact[1], LEAST_DOUBLE)))
        low, high = basic.delta_bracket(composition, epsilon)
        high = max(high, LEAST_DOUBLE)
        for _, reader in sorted(self.readers, key=lambda pair: abs(pair[0] - epsilon)):
            if high - low <= width * high or self._whole((low, high))[1] <= enough:
                break
            low, high = self._narrowed((low, high), reader(epsilon), epsilon)
        if self._whole((low, high))[1] > enough and self._wanted(epsilon, (high - low) / high, width):
            for make in (contour.reader, lattice.reader):
                made = make(composition, epsilon, width)
                if made is not None:
                    self.readers.append((epsilon, made))
                    low, high = self._narrowed((low, high), made(epsilon), epsilon)
                if high - low <= width * high:
                    break
        return self._whole((low, max(high, LEAST_DOUBLE)))

    def _wanted(self, epsilon: float, found: float, width: float) -> bool:
        """Return whether to build another reader: the bracket is too wide, and no reader is nearby.

        Where no engine reaches the requested width, a second reader nearby would not either.
        """
        apart = NEIGHBOURS if found < ROUGH else CLOSE_NEIGHBOURS
        near = any(abs(made - epsilon) <= apart * max(made, epsilon) for made, _ in self.readers)
        return found > width and not near and len(self.readers) < MOST_READERS

    def _narrowed(self, known: Bracket, found: Bracket, epsilon: float) -> Bracket:
        """Return the intersection; bounds contradicting the single steps' bounds (T3, T11) are replaced by them."""
        low, high = max(known[0], found[0]), min(known[1], found[1])
        return (low, high) if low <= high else basic.delta_bracket(self.composition, epsilon)

    def _whole(self, bracket: Bracket) -> Bracket:
        """Return the bracket including the mass at infinity, at most 1."""
        low, high = self.composition.infinity_bracket
        upper = min(high + (1 - high) * bracket[1], 1.0)
        return low + (1 - low) * bracket[0], min(upper * (1 + 4e-16), 1.0)


@dataclass
class ProfileCurve:
    """Maximum of the profiles of all directions (T22)."""

    directions: tuple[DirectionCurve, ...]
    _guesses: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, directions: tuple[Composition, ...]) -> "ProfileCurve":
        """Build the curve without readers; equal directions count once."""
        return cls(tuple(DirectionCurve(one) for one in dict.fromkeys(directions)))

    def delta_bracket(self, epsilon: float, width: float = WIDTH, enough: float = 0.0) -> Bracket:
        """Return bounds on delta(epsilon), of any width if the upper bound is at most ``enough``."""
        low, high = 0.0, 0.0
        for one in self.directions:
            below, above = one.bracket(epsilon, width, max(low, enough))
            low, high = max(low, below), max(high, above)
        return low, high

    def epsilon_bracket(self, delta: float, most: float) -> Bracket:
        """Return bounds on the smallest epsilon at ``delta`` > 0; ``most`` is the epsilon at delta = 0.

        Both ends are epsilons with known bounds on delta, so they hold regardless of the search's accuracy.
        """
        if self.delta_bracket(0.0)[1] <= delta:
            return 0.0, 0.0
        low, high = self._enclosed(min(self._guess(delta), most), delta, most)
        if not low < high < math.inf:
            return self._below(min(high, low), delta), high
        at_low, at_high = (self._excess(end, delta) for end in (low, high))
        for _ in range(SEARCH_ROUNDS):
            if high - low <= SETTLED * high:
                break
            trial = (low * at_high - high * at_low) / (at_high - at_low) if at_low > 0 > at_high else (low + high) / 2
            trial = min(max(trial, low + SETTLED / 4 * high), high - SETTLED / 4 * high)
            value = self._excess(trial, delta)
            if value <= 0:
                high, at_high, at_low = trial, value, at_low / 2
            else:
                low, at_low, at_high = trial, value, at_high / 2
        return self._below(high, delta), high

    def _guess(self, delta: float) -> float:
        """Return the saddle-point epsilon at a nearby delta on a fixed grid; used only as a starting point."""
        place = round(math.log(delta) / GUESS_SPACING)
        if place not in self._guesses:
            near = math.exp(max(GUESS_SPACING * place, -700.0))
            self._guesses[place] = max(contour.epsilon_guess(one.composition, near) for one in self.directions)
        return self._guesses[place]

    def _excess(self, epsilon: float, delta: float, width: float = WIDTH) -> float:
        """Return log(upper bound on delta(epsilon) / ``delta``); at most 0 where the bound holds."""
        above = self.delta_bracket(epsilon, width)[1]
        excess = math.log(max(above, LEAST_DOUBLE)) - math.log(delta)
        return excess if above > delta else min(excess, 0.0)

    def _enclosed(self, guess: float, delta: float, most: float) -> Bracket:
        """Return (low, high) around the root, from rough readings, at most a FACTOR apart; high may be infinite."""
        high = guess if guess > 0 else 1.0
        if self._excess(high, delta, ROUGH) > 0:
            while high < most and self._excess(high, delta, ROUGH) > 0:
                low, high = high, min(FACTOR * high, most)
                if high > FARTHEST:
                    return low, most
            return low, high
        while high > NEAREST and self._excess(high / FACTOR, delta, ROUGH) <= 0:
            high /= FACTOR
        return high / FACTOR, high

    def _below(self, high: float, delta: float) -> float:
        """Return an epsilon with delta at least ``delta``, searching downwards from ``high`` in growing steps."""
        step = SETTLED
        while step < 1:
            if self.delta_bracket(high * (1 - step))[0] >= delta:
                return high * (1 - step)
            step *= 4
        return 0.0
