# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism and permute-and-flip: one of finitely many public candidates, by private scores (T8)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.events import Pure
from dperm.checks import shown
from dperm.errors import AdjacencyError, DataError, ParameterError
from dperm.mechanisms.calibration import error_up, sensitivity_up
from dperm.mechanisms.goal import checked_goal, pure_epsilon
from dperm.mechanisms.run import Facts, release
from dperm.mechanisms.values import real_array
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, Stream
from dperm.noise.choice import exponential_choice, permute_and_flip
from dperm.noise.exponents import UNITS
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import raised, round_down, round_up

CANDIDATES = "Give the number of candidates, or the candidates themselves in a list."
MOST_CANDIDATES = 2**31


class Selection(StrEnum):
    """How the candidate is selected; both have the same event."""

    EXPONENTIAL = "exponential"
    """P(h) proportional to e^(rate u_h)."""

    PERMUTE_AND_FLIP = "permute_and_flip"
    """McKenna and Sheldon 2020: never a worse expected score."""

    @classmethod
    def of(cls, selection: "Selection | str") -> "Selection":
        """The selection, or the one of that name."""
        try:
            return cls(selection)
        except ValueError:
            raise ParameterError(
                f'selection must be "exponential" or "permute_and_flip", got {shown(selection)}.'
            ) from None


def score_span(sensitivity: float, *, monotone: bool, numerical_error: float) -> Fraction:
    """The width b - a of the interval in which every computed score moves between neighbours (T8).

    An exact score moves by -Delta to Delta, a monotone one by 0 to Delta (or by -Delta to 0). An error of tau in each
    of two scores widens that by 2 tau **at both ends**: 2 Delta + 4 tau, and Delta + 4 tau if monotone.
    """
    ends = 1 if monotone else 2
    return ends * Fraction(sensitivity) + 4 * Fraction(numerical_error)


@dataclass(frozen=True)
class ExponentialMechanism:
    """One of several public candidates, chosen by private scores of known sensitivity (T8).

    Between neighbours let every score move by an amount in [a, b], and let the rate be r.

    - *exponential*: P(h) = e^(r u_h) / Z. The numerator changes by a factor in [e^ra, e^rb], and so does Z: the loss is
      at most r (b - a).
    - *permute_and_flip* is the largest u_h + X_h with exponential X_h of rate r: with m the largest score,
      X_h > m - u_h with probability e^-r(m - u_h), the coin, and beyond m all heads are alike, because X_h has no
      memory. Given the other X, h wins if X_h > t; a neighbour moves t by at most b - a, and so
      P(X_h > t) = e^-r max(t, 0) by a factor of at most e^r(b - a).

    So both are pure with epsilon = r (b - a), where b - a = 2 Delta, or Delta for monotone scores: the event is the
    same. The choice is drawn exactly, with the scores read as exact numbers, ties and all.

    Parameters
    ----------
    sensitivity
        Largest change Delta of any candidate's score under the goal's adjacency.
    goal
        PureDP or ApproxDP.
    candidates
        Public: their number, and an index is released; or the candidates, and one of them is.
    monotone
        Whether adding a record moves the scores of all candidates in one direction. Under replace_one a record goes and
        another comes, the scores move both ways, and the factor 2 stays: only add_remove is accepted.
    numerical_error
        Bound tau on the error of every computed score, for every data set; 4 tau is added to b - a.
    selection
        "exponential" or "permute_and_flip".

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.exponential import ExponentialMechanism
    >>> mechanism = ExponentialMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), candidates=["red", "green", "blue"])
    >>> mechanism.rate
    0.5
    >>> mechanism.release([12, 900, 14]).value
    'green'
    """

    sensitivity: float
    goal: AnyGuarantee
    candidates: int | Sequence[Any]
    monotone: bool = False
    numerical_error: float = 0.0
    selection: Selection = Selection.EXPONENTIAL

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        set_field = object.__setattr__
        set_field(self, "sensitivity", sensitivity_up("sensitivity", self.sensitivity))
        set_field(self, "numerical_error", error_up("numerical_error", self.numerical_error))
        set_field(self, "candidates", _candidates(self.candidates))
        set_field(self, "selection", Selection.of(self.selection))
        self._require_monotone_adjacency()
        self.facts  # noqa: B018  # calibrates

    @classmethod
    def calibrate(
        cls,
        sensitivity: float,
        goal: AnyGuarantee,
        *,
        candidates: int | Sequence[Any],
        monotone: bool = False,
        numerical_error: float = 0.0,
        selection: Selection | str = Selection.EXPONENTIAL,
    ) -> "ExponentialMechanism":
        """The most decisive mechanism that meets ``goal``; see the class for the parameters."""
        return cls(sensitivity, goal, candidates, monotone, numerical_error, Selection.of(selection))

    @property
    def size(self) -> int:
        """Number of candidates."""
        return self.candidates if isinstance(self.candidates, int) else len(self.candidates)

    @cached_property
    def span(self) -> Fraction:
        """The width b - a of the interval in which the scores move between neighbours."""
        return score_span(self.sensitivity, monotone=self.monotone, numerical_error=self.numerical_error)

    @cached_property
    def rate(self) -> float:
        """The exponent r = epsilon / (b - a) per unit of score, rounded down."""
        epsilon = pure_epsilon(self.goal, type(self).__name__)
        rate = round_down(Fraction(epsilon) / self.span)
        low, high = UNITS
        if not low <= rate <= high:
            raise ParameterError(
                f"sensitivity and goal must have a ratio within 2^-900 and 2^900, got sensitivity={self.sensitivity!r} "
                f"and goal={self.goal!r}. Scale the scores."
            )
        return rate

    @cached_property
    def event(self) -> Pure:
        """What one release spends: r (b - a), rounded up, which is at most the goal's epsilon."""
        return Pure(round_up(Fraction(self.rate) * self.span), checked_goal(self.goal).adjacency)

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        return Facts(
            goal=self.goal,
            event=self.event,
            noise=f"{self.selection.value.replace('_', '-')} choice, drawn exactly",
            theorems=("T8", "T10"),
            public={
                "mechanism": "exponential",
                "selection": self.selection.value,
                "sensitivity": self.sensitivity,
                "monotone": self.monotone,
                "numerical_error": self.numerical_error,
                "candidates": self.size,
                "rate": self.rate,
            },
        )

    def error_bound(self, probability: float) -> float:
        """How far the score of the choice is below the best one, except with this probability (T8).

        P(u_h <= OPT - (log|H| + t) / r) <= e^-t, for either selection (P(h) <= e^-r(OPT - u_h)), plus 2 tau for exact
        scores.
        """
        probability = checks.rate("probability", probability)
        return raised((math.log(self.size) - math.log(probability)) / self.rate + 2 * self.numerical_error)

    def release(self, scores: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Any]:
        """One of the candidates, or its index if only their number was declared.

        Parameters
        ----------
        scores
            One finite real number for each candidate, in their order; larger is better.
        budget
            What the release is charged to.
        bits
            Where randomness comes from; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Raises
        ------
        DataError
            If the scores are anything else; before anything is charged, and without a word about them.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self._checked(scores), self._chosen, budget=budget, bits=bits)

    def _checked(self, scores: ArrayLike) -> Floats:
        array = real_array("scores", scores)
        if array.shape != (self.size,):
            raise DataError(f"scores must be a one-dimensional array of {self.size} numbers, one for each candidate.")
        return array

    def _chosen(self, scores: Floats, stream: Stream) -> Any:
        choose = exponential_choice if self.selection is Selection.EXPONENTIAL else permute_and_flip
        index = choose(-scores, self.rate, stream)
        return index if isinstance(self.candidates, int) else self.candidates[index]

    def _require_monotone_adjacency(self) -> None:
        if not isinstance(self.monotone, bool):
            raise ParameterError(f"monotone must be True or False, got {shown(self.monotone)}.")
        if self.monotone and checked_goal(self.goal).adjacency is not Adjacency.ADD_REMOVE:
            raise AdjacencyError(
                f'monotone=True needs a goal under adjacency="add_remove", got goal={shown(self.goal)}: replacing a '
                f"record removes one and adds another, so scores that grow with every record move both ways (T8). Give "
                f"monotone=False."
            )


def _candidates(candidates: object) -> int | tuple[Any, ...]:
    """Their number, or all of them; a set has no order."""
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Sequence | np.ndarray):
        return checks.count("candidates", candidates, CANDIDATES, most=MOST_CANDIDATES)
    found = tuple(candidates)
    checks.count("the number of candidates", len(found), CANDIDATES, most=MOST_CANDIDATES)
    return found
