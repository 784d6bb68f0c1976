# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exponential mechanism and permute-and-flip: selection of a public candidate by private scores (T8)."""

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
from dperm.errors import EXTREME, AdjacencyError, DataError, ParameterError
from dperm.mechanisms.calibration import error_up, sensitivity_up
from dperm.mechanisms.goal import checked_goal, pure_epsilon
from dperm.mechanisms.mechanism import Law, Mechanism
from dperm.mechanisms.values import real_array
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, Stream
from dperm.noise.choice import exponential_choice, permute_and_flip
from dperm.noise.exponents import UNITS
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import raised, round_down, round_up

CANDIDATES = "Give the number of candidates, or a list of the candidates."
MOST_CANDIDATES = 2**31


class Selection(StrEnum):
    """Selection rule; both rules have the same event."""

    EXPONENTIAL = "exponential"
    """Exponential mechanism: P(h) is proportional to e^(rate u_h)."""

    PERMUTE_AND_FLIP = "permute_and_flip"
    """Permute-and-flip (McKenna and Sheldon 2020); its expected score is at least as good as with EXPONENTIAL."""

    @classmethod
    def of(cls, selection: "Selection | str") -> "Selection":
        """Return the selection rule with a given name; a `Selection` is returned unchanged."""
        try:
            return cls(selection)
        except ValueError:
            raise ParameterError(
                argument="selection", rule='must be "exponential" or "permute_and_flip"', got=shown(selection)
            ) from None


def score_span(sensitivity: float, *, monotone: bool, numerical_error: float) -> Fraction:
    """Return the width b - a of the interval of score changes between neighbours (T8).

    An exact score changes by -Delta to Delta, a monotone score by 0 to Delta (or by -Delta to 0). An error of tau in
    each of two scores widens the interval by 2 tau **at both ends**: 2 Delta + 4 tau, and Delta + 4 tau if monotone.
    """
    ends = 1 if monotone else 2
    return ends * Fraction(sensitivity) + 4 * Fraction(numerical_error)


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism[Floats, Any]):
    """Selection of one public candidate by private scores with a known sensitivity (T8).

    Let u_h be the score of candidate h, r the rate, and [a, b] an interval that contains the change of every score
    between two neighbouring data sets ("between neighbours").

    - *exponential* selects h with probability P(h) = e^(r u_h) / Z, where Z is the sum of the numerators over all
      candidates. Between neighbours, the numerator changes by a factor in [e^(ra), e^(rb)], and so does Z. The privacy
      loss is therefore at most r (b - a).
    - *permute_and_flip* flips a coin for each candidate in random order, and selects the first candidate whose coin
      lands heads. With m the largest score, the coin of h lands heads with probability e^(-r (m - u_h)). This is
      equivalent to selecting the largest u_h + X_h, where the X_h are independent exponential variables of rate r. The
      coin of h corresponds to the event X_h > m - u_h, which has the same probability as heads. Because exponential
      variables are memoryless, all candidates with heads are equally likely to be selected. Given the other variables,
      h is selected if X_h exceeds a threshold t. Between neighbours, t changes by at most b - a, which changes
      P(X_h > t) = e^(-r max(t, 0)) by a factor of at most e^(r (b - a)).

    Both rules satisfy epsilon-DP with epsilon = r (b - a). For exact scores of sensitivity Delta, b - a is 2 Delta, or
    Delta if the scores are monotone. The draw is exact, even for ties, and treats the scores as exact numbers.

    Parameters
    ----------
    sensitivity
        Largest change Delta of any candidate's score under the goal's adjacency.
    goal
        PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
    candidates
        Number of public candidates, or a list of the public candidates. With a number, the release is an index from 0.
        With a list, it is an element of the list.
    monotone
        Whether adding a record changes the scores of all candidates in the same direction. True is accepted only under
        add_remove: a replacement combines a removal and an addition, which change scores in opposite directions.
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

    def _check_parameters(self) -> None:
        self._set(
            sensitivity=sensitivity_up("sensitivity", self.sensitivity),
            numerical_error=error_up("numerical_error", self.numerical_error),
            candidates=_candidates(self.candidates),
            selection=Selection.of(self.selection),
        )
        self._require_monotone_adjacency()

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
        """Return the mechanism with the largest rate that satisfies ``goal``.

        Parameters
        ----------
        sensitivity
            Largest change of any candidate's score under the adjacency of the goal.
        goal
            PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
        candidates
            Number of public candidates, or a list of the public candidates.
        monotone
            Whether adding a record changes the scores of all candidates in the same direction.
        numerical_error
            Bound on the error of every computed score, for every data set.
        selection
            "exponential" or "permute_and_flip".

        Returns
        -------
        ExponentialMechanism
            The calibrated mechanism.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        AdjacencyError
            If ``monotone`` is True and the goal is under replace_one.
        ConversionError
            If ``goal`` is neither PureDP nor ApproxDP.
        """
        return cls(
            sensitivity,
            goal,
            candidates=candidates,
            monotone=monotone,
            numerical_error=numerical_error,
            selection=Selection.of(selection),
        )

    @property
    def size(self) -> int:
        """Number of public candidates, at least 1."""
        return self.candidates if isinstance(self.candidates, int) else len(self.candidates)

    @cached_property
    def span(self) -> Fraction:
        """Width b - a of the interval of score changes between neighbours."""
        return score_span(self.sensitivity, monotone=self.monotone, numerical_error=self.numerical_error)

    @cached_property
    def rate(self) -> float:
        """Exponent r = epsilon / (b - a) per unit of score, rounded down."""
        epsilon = pure_epsilon(self.goal, type(self).__name__)
        rate = round_down(Fraction(epsilon) / self.span)
        low, high = UNITS
        if not low <= rate <= high:
            raise ParameterError(
                f"{arg('sensitivity')} and {arg('goal')} must have a ratio within 2^-900 and 2^900, got "
                f"{arg('sensitivity', repr(self.sensitivity))} and {arg('goal', repr(self.goal))}.",
                remedy="Scale the scores.",
                code=EXTREME,
            )
        return rate

    @cached_property
    def event(self) -> Pure:
        """Pure event with epsilon = r (b - a), rounded up; at most the epsilon of the goal."""
        return Pure(round_up(Fraction(self.rate) * self.span), checked_goal(self.goal).adjacency)

    @property
    def law(self) -> Law:
        """Description of the exact sampling from the selection rule, as stored in the record of a release."""
        return Law(f"{self.selection.value.replace('_', '-')} choice, drawn exactly")

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the exponential mechanism (T8) and of exact sampling (T10)."""
        return ("T8", "T10")

    @property
    def public_constants(self) -> dict[str, object]:
        """Selection rule, sensitivity and other properties of the scores, number of candidates, and rate."""
        return {
            "mechanism": "exponential",
            "selection": self.selection.value,
            "sensitivity": self.sensitivity,
            "monotone": self.monotone,
            "numerical_error": self.numerical_error,
            "candidates": self.size,
            "rate": self.rate,
        }

    def error_bound(self, probability: float) -> float:
        """Return a bound on the difference between the best score and the score of the selected candidate (T8).

        Let OPT be the best score, and H the set of candidates. Under either selection rule, P(h) <= e^(-r (OPT - u_h))
        for every candidate h. The selected candidate therefore has P(u_h <= OPT - (log|H| + t) / r) <= e^-t for every
        t. Numerical errors of at most tau in every score add 2 tau to the bound.

        Parameters
        ----------
        probability
            Probability that the bound is exceeded, in (0, 1].

        Returns
        -------
        float
            Bound on the difference, exceeded with probability at most ``probability``.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
        probability = checks.rate("probability", probability)
        return raised((math.log(self.size) - math.log(probability)) / self.rate + 2 * self.numerical_error)

    def release(self, scores: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Any]:
        """Release the selected candidate, or its index if only the number of candidates was declared.

        Parameters
        ----------
        scores
            One finite real number per candidate, in the order of the candidates; larger is better.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            Candidate or index, with guarantee, profile, event and record.

        Raises
        ------
        DataError
            If the scores are invalid. Nothing is charged, and the message contains no score.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** The release is epsilon-DP for scores of the declared sensitivity, with an exact draw (T8, T10).

        =========================  =============================
        scores                     result
        =========================  =============================
        nan, inf, wrong length     DataError before the charge
        all equal                  uniform choice
        =========================  =============================
        """
        return self._release(lambda: self._checked(scores), budget, bits)

    def _checked(self, scores: ArrayLike) -> Floats:
        array = real_array("scores", scores)
        if array.shape != (self.size,):
            raise DataError(
                argument="scores",
                rule=f"must be a one-dimensional array of {self.size} numbers, one for each candidate",
            )
        return array

    def _draw(self, scores: Floats, stream: Stream) -> Any:
        choose = exponential_choice if self.selection is Selection.EXPONENTIAL else permute_and_flip
        index = choose(-scores, self.rate, stream)
        return index if isinstance(self.candidates, int) else self.candidates[index]

    def _require_monotone_adjacency(self) -> None:
        if not isinstance(self.monotone, bool):
            raise ParameterError(argument="monotone", rule="must be True or False", got=shown(self.monotone))
        if self.monotone and checked_goal(self.goal).adjacency is not Adjacency.ADD_REMOVE:
            raise AdjacencyError(
                f"{arg('monotone', True)} requires a goal under {arg('adjacency', 'add_remove')}, got "
                f"{arg('goal', shown(self.goal))}. Replacing a record removes one and adds another, so monotone scores "
                f"move in both directions (T8).",
                remedy=f"Give {arg('monotone', False)}.",
            )


def _candidates(candidates: object) -> int | tuple[Any, ...]:
    """Return a number of candidates, or a tuple of candidates; sets are refused, since they have no order."""
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Sequence | np.ndarray):
        return checks.count("candidates", candidates, CANDIDATES, most=MOST_CANDIDATES)
    found = tuple(candidates)
    checks.count("the number of candidates", len(found), CANDIDATES, most=MOST_CANDIDATES)
    return found
