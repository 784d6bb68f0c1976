# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Event of objective perturbation with Gaussian noise (T37, T39-T41); `objective_noise` calibrates its noise."""

from dataclasses import dataclass
from typing import ClassVar

from dperm.accounting import rdp
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.laws.objective import BoundingLoss, MirroredLoss
from dperm.accounting.objective_noise import bounding_loss, checked_curvature, checked_monotone, checked_multiplier
from dperm.accounting.objective_noise import determinant_loss as determinant_loss
from dperm.accounting.objective_noise import objective_delta as objective_delta
from dperm.accounting.objective_noise import objective_noise_multiplier as objective_noise_multiplier
from dperm.privacy.adjacency import Adjacency, Direction


@dataclass(frozen=True)
class PerturbedObjective(SingleEvent):
    """Objective perturbation with Gaussian noise: release of the exact minimizer of a randomly perturbed objective.

    The minimized function of the coefficients theta is
    sum_i f(<x_i, theta>, y_i) + r(theta) + (Lambda/2) ||theta||^2 + <b, theta>. Here x_i and y_i are the features and
    the target of record i, Lambda > 0 is the regularization strength, and b ~ N(0, sigma^2 I) is the noise. The
    regularizer r is convex and public (T42). The loss of each record is convex, L-Lipschitz and beta-smooth in theta.
    It depends on theta only through the score <x_i, theta>, so its Hessian has rank at most one.

    Under add/remove, theorem T40 bounds the privacy loss. If the losses are not monotone, theorem T39 bounds it. Both
    bounds include the term c = log(1 + beta/Lambda), an upper bound on the change of the log-determinant of the
    objective's Hessian if one record is added (T37). Under replace-one, theorem T41 bounds the privacy loss and
    includes c only once. If the solver stops before the exact minimum, the released model needs additional Gaussian
    noise, and this noise is a second event (T43).

    Parameters
    ----------
    noise_multiplier
        Ratio sigma/L of the standard deviation of the noise to the Lipschitz constant of one record's loss, from 0.01
        to 1e10.
    curvature
        Ratio beta/Lambda of the smoothness of one record's loss to the regularization strength, from 0 to 1e100.
    monotone
        Whether the derivative of each record's loss with respect to its score has the same sign at every theta (T40).
        Pass False for regression losses, whose derivative changes sign.

    Examples
    --------
    >>> from dperm.accounting import PerturbedObjective, account
    >>> fit = PerturbedObjective(noise_multiplier=5.0, curvature=0.025)
    >>> account(fit, adjacency="add_remove").delta(epsilon=1.0)
    3.3359402113499044e-08
    """

    noise_multiplier: float
    curvature: float
    monotone: bool = True
    kind: ClassVar[str] = "perturbed_objective"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars are accepted."""
        object.__setattr__(self, "noise_multiplier", checked_multiplier(self.noise_multiplier))
        object.__setattr__(self, "curvature", checked_curvature(self.curvature))
        object.__setattr__(self, "monotone", checked_monotone(self.monotone))

    def bound(self, adjacency: Adjacency) -> BoundingLoss:
        """Return a random variable that bounds the privacy loss of every neighbouring pair, in both directions.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        BoundingLoss
            Distribution of the bound.
        """
        return bounding_loss(self.noise_multiplier, self.curvature, adjacency, self.monotone)

    def law(self, direction: Direction) -> MirroredLoss:
        """Return the privacy loss distribution of a dominating pair, derived from the bound of T39, T40 or T41.

        The pair is symmetric, so the distribution is the same for adding and for removing a record.

        Parameters
        ----------
        direction
            Member of `Direction`: ADD or REMOVE under add/remove, REPLACE under replace-one.

        Returns
        -------
        MirroredLoss
            Privacy loss distribution of the dominating pair.
        """
        replaced = direction is Direction.REPLACE
        return self.bound(Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE).mirrored()

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return a Rényi curve, computed from the moments of the bound on the privacy loss (T39, T40, T41).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        ndarray
            Values of the curve at ``orders``, rounded up.
        """
        return rdp.moment_rdp(orders, self.bound(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the theorem tag T37 and the tag of the theorem that bounds the privacy loss.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        if adjacency is Adjacency.REPLACE_ONE:
            return ("T37", "T41")
        return ("T37", "T40") if self.monotone else ("T37", "T39")

    def fields(self) -> Json:
        """Return the noise multiplier, the curvature and ``monotone`` as JSON-serialisable data."""
        return {"noise_multiplier": self.noise_multiplier, "curvature": self.curvature, "monotone": self.monotone}
