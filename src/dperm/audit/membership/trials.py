# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Dependence between the trials of an attack, and the valid conclusions."""

from enum import Enum

from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, Guarantee
from dperm.privacy.profile import PrivacyProfile


class Trials(Enum):
    """Sampling design of scores and membership bits."""

    INDEPENDENT = "independent"
    """Each trial had its own training run and its own coin: rates are binomial (A2)."""
    ONE_RUN = "one_run"
    """One training run; an independent fair coin, unknown to the scoring, decided each record's inclusion (A6)."""
    DEPENDENT = "dependent"
    """Any other design, such as records of several models: descriptive only."""

    @classmethod
    def of(cls, trials: "Trials | str") -> "Trials":
        """Return the member with this name; raise ``ParameterError`` for unknown names."""
        try:
            return cls(trials)
        except ValueError:
            names = ", ".join(f'"{kind.value}"' for kind in cls)
            raise ParameterError(f"trials must be one of {names}, got {shown(trials)}.") from None

    @property
    def words(self) -> str:
        """Interpretation of the intervals of rates and areas, as a phrase."""
        if self is Trials.INDEPENDENT:
            return "confidence intervals (rates: Clopper-Pearson; AUC: DeLong, approximate)"
        return "descriptive only: scores of records of the same model depend on each other"


def claim(claimed: object) -> AnyGuarantee:
    """Return ``claimed`` if it is a guarantee; raise ``ParameterError`` otherwise."""
    if not isinstance(claimed, AnyGuarantee):
        raise ParameterError(f'claimed must be a guarantee such as PureDP(1.0, "add_remove"), got {shown(claimed)}.')
    return claimed


def comparable(adjacency: Adjacency | None, claimed: Guarantee | PrivacyProfile) -> None:
    """Raise ``AdjacencyError`` if attack and claim have different adjacencies; None, an unknown adjacency, passes."""
    if adjacency not in (None, claimed.adjacency):
        raise AdjacencyError(
            f'the attack has coins for adjacency="{adjacency.value}", and the guarantee speaks of '
            f'"{claimed.adjacency.value}". Attack with adjacency="{claimed.adjacency.value}", or compare with a '
            f'guarantee under "{adjacency.value}".'
        )
