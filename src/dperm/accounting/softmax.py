# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation of softmax regression with Gaussian noise: its event and its noise calibration (T53a)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from dperm import checks
from dperm.accounting import rdp
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.laws.objective import BoundingLoss, MirroredLoss, vertex_bound, vertex_pair_bound
from dperm.accounting.noise_search import NoiseSearch, certified_delta
from dperm.accounting.objective_noise import LARGEST_CURVATURE, checked_multiplier
from dperm.errors import AssumptionError
from dperm.privacy.adjacency import Adjacency, Direction
from dperm.privacy.rounding import lowered, raised

CURVATURE = "Give w R^2/(K Lambda), with the largest weight w, the bound R on the rows and the regularization Lambda."
CLASSES = "Two classes are logistic regression: use PerturbedObjective."
MOST_CLASSES = 10**6


def softmax_determinant_loss(curvature: float, classes: int) -> float:
    """Return c = (K-1) log(1 + curvature), the largest loss due to the Jacobian of the noise, rounded up.

    Theorem T53a. A record's Hessian w (diag(p) - pp') (x) xx' has rank K-1 at most and trace at most w R^2 (1 - 1/K).
    With A >= Lambda I, and the mean of logarithms at most the logarithm of the mean,
        log det(A + the record's) - log det A <= (K-1) log(1 + w R^2/(K Lambda)).
    """
    curvature, classes = _checked_curvature(curvature), _checked_classes(classes)
    return raised((classes - 1) * math.log1p(curvature), 4)


def softmax_bound(noise_multiplier: float, curvature: float, classes: int, adjacency: Adjacency) -> BoundingLoss:
    """Return the loss that bounds both directions (T53a): a gradient lies in the hull of 0 and K-1 vertices.

    Adding a record costs no determinant (T37); the bound for removing a record is used for both. Replacing a record
    uses the sharpened form, based on distances between vertices; it never exceeds the printed form.
    """
    c, mu, vertices = softmax_determinant_loss(curvature, classes), 1 / noise_multiplier, classes - 1
    if adjacency is Adjacency.REPLACE_ONE:
        return vertex_pair_bound(c, mu, vertices)
    return vertex_bound(c, mu, vertices)


@dataclass(frozen=True)
class PerturbedSoftmax(SingleEvent):
    """Objective perturbation of softmax regression: release of the exact minimizer of a randomly perturbed objective.

    The minimized function of the coefficient matrix W is
    sum_i w_i f(W x_i, y_i) + r(W) + (Lambda/2) ||W||^2 + <b, W>. The entries of the noise b are independent Gaussian
    variables N(0, sigma^2). The function f(u, y) = log sum_k e^{u_k} - u_y is the unclipped softmax loss for
    K = ``classes`` classes. The features x_i of record i satisfy ||x_i|| <= R, its class is y_i, and its weight w_i
    satisfies 0 <= w_i <= w. The regularizer r is convex and public, and Lambda > 0 is the regularization strength.

    Theorem T53a bounds the privacy loss. The bound includes the term c = (K-1) log(1 + curvature), an upper bound on
    the change of the log-determinant of the objective's Hessian if one record is added. If the solver stops before the
    exact minimum, the released model needs additional Gaussian noise, and this noise is a second event (T43).

    Parameters
    ----------
    noise_multiplier
        Ratio sigma/L of the standard deviation of the noise to the Lipschitz constant L = sqrt(2) w R, from 0.01 to
        1e10.
    curvature
        Ratio w R^2/(K Lambda), from 0 to 1e100. A record's Hessian has at most K-1 nonzero eigenvalues. Their mean,
        divided by Lambda, is at most this ratio.
    classes
        Number K of classes, from 3 to 1,000,000.

    Examples
    --------
    >>> from dperm.accounting import PerturbedSoftmax, account
    >>> fit = PerturbedSoftmax(noise_multiplier=5.0, curvature=0.01, classes=3)
    >>> account(fit, adjacency="add_remove").delta(epsilon=1.0)
    5.8963608483079935e-08
    """

    noise_multiplier: float
    curvature: float
    classes: int
    kind: ClassVar[str] = "perturbed_softmax"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars are accepted."""
        object.__setattr__(self, "noise_multiplier", checked_multiplier(self.noise_multiplier))
        object.__setattr__(self, "curvature", _checked_curvature(self.curvature))
        object.__setattr__(self, "classes", _checked_classes(self.classes))

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
        return softmax_bound(self.noise_multiplier, self.curvature, self.classes, adjacency)

    def law(self, direction: Direction) -> MirroredLoss:
        """Return the privacy loss distribution of a dominating pair, derived from the bound of T53a.

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
        """Return a Rényi curve, computed from the moments of the bound on the privacy loss (T53a).

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
        """Return the theorem tags T37 and T53a.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """
        return ("T37", "T53a")

    def fields(self) -> Json:
        """Return the noise multiplier, the curvature and the number of classes as JSON-serialisable data."""
        return {"noise_multiplier": self.noise_multiplier, "curvature": self.curvature, "classes": self.classes}


def softmax_delta(
    epsilon: float, noise_multiplier: float, curvature: float, classes: int, adjacency: Adjacency | str
) -> float:
    """Return an upper bound on delta(epsilon) of one `PerturbedSoftmax` (T53a), without an engine.

    The result equals the number of `account`. With m = L/sigma and x = epsilon - c, and where the sum of tails is below
    1 (elsewhere the result is smaller), it is
        (K-1) delta_GDP(x; m) under add_remove, and under replace_one
        (K-1) delta_GDP(x; 2m) + (K-1)(K-2) delta_GDP(x; sqrt(3) m) + 2(K-1) delta_GDP(x; m).
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    event = PerturbedSoftmax(noise_multiplier, curvature, classes)
    return certified_delta(event.bound(Adjacency.of(adjacency)), epsilon)


def softmax_noise_multiplier(
    epsilon: float, delta: float, curvature: float, classes: int, adjacency: Adjacency | str
) -> float:
    """Return the smallest sigma/L, rounded up, at which the accountant certifies (epsilon, delta)-DP.

    Theorem T53a and the recipe T43a, for one `PerturbedSoftmax`: the root of the bound, which falls with sigma. The
    returned value itself is checked.

    Raises
    ------
    AssumptionError
        If c = (K-1) log(1 + curvature) leaves no epsilon for the noise.
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.positive_delta("delta", delta)
    adjacency = Adjacency.of(adjacency)
    left = lowered(epsilon - softmax_determinant_loss(curvature, classes), 2)
    if left <= 0:
        raise _no_room(epsilon, curvature, classes)
    search = NoiseSearch(epsilon, delta, lambda noise: softmax_bound(noise, curvature, classes, adjacency))
    return search.pushed(search.root(search.least(left)))


def _checked_curvature(value: object) -> float:
    return checks.between("curvature", value, 0.0, LARGEST_CURVATURE, CURVATURE)


def _checked_classes(value: object) -> int:
    return checks.count("classes", value, CLASSES, least=3, most=MOST_CLASSES)


def _no_room(epsilon: float, curvature: float, classes: int) -> AssumptionError:
    room, cost = math.expm1(min(epsilon / (classes - 1), 700.0)), (classes - 1) * math.log1p(curvature)
    return AssumptionError(
        f"objective perturbation with epsilon={epsilon:g} and classes={classes} needs curvature = w R^2/(K Lambda) < "
        f"e^(epsilon/(K-1)) - 1 = {room:.6g}, got {curvature:g}: the determinant alone costs (K-1) log(1 + curvature) "
        f"= {cost:.6g} (T53a, T43a). Raise the regularization to more than {curvature / room:.6g} times the present "
        f"one, or give a larger epsilon."
    )
