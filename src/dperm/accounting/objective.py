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
    """Exact minimizer of sum_i f(x_i'theta, y_i) + r(theta) + (Lambda/2) ||theta||^2 + b'theta, b ~ N(0, sigma^2).

    Each record's loss is convex, L-Lipschitz and beta-smooth in theta. It depends on one linear function of theta, so
    its Hessian has rank one. The regularizer r is convex and public; Lambda > 0 (T42).

    Under add/remove the privacy loss is bounded by T40, or by T39 if the losses are not monotone, with c = log(1 +
    beta/Lambda) for the determinant (T37). Under replace-one the privacy loss is bounded by T41, with a single c. If
    the solver stops early, a second event is needed (T43).

    Parameters
    ----------
    noise_multiplier
        sigma/L, the standard deviation of the noise divided by the Lipschitz constant of one record's loss.
    curvature
        beta/Lambda, the smoothness of one record's loss divided by the regularization strength.
    monotone
        Whether the derivative f' of a record's loss with respect to its score has the same sign at every theta (T40);
        False for regression.

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
        """Return a privacy loss that dominates the loss of every neighbouring pair, in either direction.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        BoundingLoss
            The bounding privacy loss.
        """
        return bounding_loss(self.noise_multiplier, self.curvature, adjacency, self.monotone)

    def law(self, direction: Direction) -> MirroredLoss:
        """Return the symmetric pair that dominates the bound of T39, T40 or T41.

        Adding and removing a record have the same privacy loss.

        Parameters
        ----------
        direction
            Direction of the neighbouring pair, which determines the adjacency.

        Returns
        -------
        MirroredLoss
            Privacy loss distribution of the dominating pair.
        """
        replaced = direction is Direction.REPLACE
        return self.bound(Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE).mirrored()

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return the Rényi curve from the moments of the bounding loss (T39, T40, T41).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        ndarray
            tau(alpha) at ``orders``, rounded up.
        """
        return rdp.moment_rdp(orders, self.bound(adjacency))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return T37 and the tag of the theorem that bounds the privacy loss.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, "add_remove" or "replace_one".

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        if adjacency is Adjacency.REPLACE_ONE:
            return ("T37", "T41")
        return ("T37", "T40") if self.monotone else ("T37", "T39")

    def fields(self) -> Json:
        """Return the noise multiplier, the curvature and ``monotone`` as JSON."""
        return {"noise_multiplier": self.noise_multiplier, "curvature": self.curvature, "monotone": self.monotone}
