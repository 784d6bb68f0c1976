# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is independent of what in an attack, and hence what may be concluded from it."""

from enum import Enum

from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import AnyGuarantee, Guarantee
from dperm.privacy.profile import PrivacyProfile


class Trials(Enum):
    """How scores and membership bits came about."""

    INDEPENDENT = "independent"
    """Each trial had a training run of its own, with its own coin: rates are binomial (A2)."""
    ONE_RUN = "one_run"
    """One training run; each record was in it by an independent fair coin that no score has seen (A6)."""
    DEPENDENT = "dependent"
    """Anything else, such as the records of several models: descriptive only."""

    @classmethod
    def of(cls, trials: "Trials | str") -> "Trials":
        """From its name."""
        try:
            return cls(trials)
        except ValueError:
            names = ", ".join(f'"{kind.value}"' for kind in cls)
            raise ParameterError(f"trials must be one of {names}, got {shown(trials)}.") from None

    @property
    def words(self) -> str:
        """What intervals of rates and areas are worth."""
        if self is Trials.INDEPENDENT:
            return "confidence intervals (rates: Clopper-Pearson; AUC: DeLong, approximate)"
        return "descriptive only: scores of records of the same model depend on each other"


def claim(claimed: object) -> AnyGuarantee:
    """``claimed``, if it is a guarantee."""
    if not isinstance(claimed, AnyGuarantee):
        raise ParameterError(f'claimed must be a guarantee such as PureDP(1.0, "add_remove"), got {shown(claimed)}.')
    return claimed


def comparable(adjacency: Adjacency | None, claimed: Guarantee | PrivacyProfile) -> None:
    """Refuse a claim about other neighbours than those that "in" and "out" are; None where nobody knows them."""
    if adjacency not in (None, claimed.adjacency):
        raise AdjacencyError(
            f'the attack has coins for adjacency="{adjacency.value}", and the guarantee speaks of '
            f'"{claimed.adjacency.value}". Attack with adjacency="{claimed.adjacency.value}", or compare with a '
            f'guarantee under "{adjacency.value}".'
        )
