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
    """Objective perturbation with Gaussian noise: exact minimizer of a regularized empirical risk plus a random term.

    The minimized function of theta is
    sum_i f(<x_i, theta>, y_i) + r(theta) + (Lambda/2) ||theta||^2 + <b, theta>, where b ~ N(0, sigma^2 I) is the noise.
    Each record's loss is convex, L-Lipschitz and beta-smooth in theta. It depends on theta only through the score
    <x_i, theta>, so its Hessian has rank at most one. The regularizer r is convex and public; Lambda > 0 (T42).

    Under add/remove, the privacy loss is bounded by T40, or by T39 if the losses are not monotone. Both bounds include
    c = log(1 + beta/Lambda), which bounds the effect of the Jacobian determinant of the noise (T37). Under replace-one,
    the privacy loss is bounded by T41, which includes c only once. If the solver stops before the exact minimum, the
    released model needs additional Gaussian noise, which is a second event (T43).

    Parameters
    ----------
    noise_multiplier
        Ratio sigma/L of the standard deviation of the noise to the Lipschitz constant of one record's loss, from 0.01
        to 1e10.
    curvature
        Ratio beta/Lambda of the smoothness of one record's loss to the regularization strength, from 0 to 1e100.
    monotone
        Whether the derivative of a record's loss with respect to its score has the same sign at every theta (T40). It
        is False for regression.

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
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        BoundingLoss
            The bounding privacy loss.
        """
        return bounding_loss(self.noise_multiplier, self.curvature, adjacency, self.monotone)

    def law(self, direction: Direction) -> MirroredLoss:
        """Return the privacy loss distribution of a symmetric pair that dominates the bound of T39, T40 or T41.

        The same distribution holds for adding and for removing a record.

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
