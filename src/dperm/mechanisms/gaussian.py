# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Gaussian mechanism, calibrated by its exact profile (T6)."""

from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.accounting.events import Gaussian
from dperm.mechanisms.additive import Calibration, Certificate, Statistic, calibration, noise_event, pushed
from dperm.mechanisms.goal import gaussian_mu
from dperm.mechanisms.run import Facts, release
from dperm.mechanisms.values import Floats, Numbers, plain, vector
from dperm.noise.bits import Bits, Stream
from dperm.noise.floating import floating_gaussian
from dperm.noise.grade import Grade
from dperm.noise.grid import Norm
from dperm.noise.rounded import rounded_gaussian
from dperm.privacy import Release
from dperm.privacy.guarantee import AnyGuarantee


@dataclass(frozen=True)
class GaussianMechanism:
    """A value plus N(0, scale^2 I), calibrated to an L2 sensitivity and a goal (T6).

    Parameters
    ----------
    sensitivity
        L2 sensitivity of the value under the goal's adjacency.
    goal
        ApproxDP with delta > 0, GDP, ZCDP or RDP. There is no pure guarantee.
    dim
        Number of entries of the value.
    numerical_error
        L2 bound on the error of the computed value, for every data set; twice it is added to the sensitivity.
    grade
        "exact": noise on a grid, drawn exactly; "fast": floating-point noise, whose guarantee is that of the ideal
        mechanism (T10).

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.mechanisms import GaussianMechanism
    >>> mechanism = GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-5, "add_remove"), dim=3)
    >>> round(mechanism.scale, 4)
    3.7306
    >>> mechanism.release([1.0, 2.0, 3.0]).value.shape
    (3,)
    """

    sensitivity: float
    goal: AnyGuarantee
    dim: int = 1
    numerical_error: float = 0.0
    grade: Grade = Grade.EXACT

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        object.__setattr__(self, "grade", Grade.of(self.grade))
        self.event  # noqa: B018  # calibrates

    @classmethod
    def calibrate(
        cls,
        sensitivity: float,
        goal: AnyGuarantee,
        *,
        dim: int = 1,
        numerical_error: float = 0.0,
        grade: Grade | str = Grade.EXACT,
    ) -> "GaussianMechanism":
        """The mechanism with the least noise that meets ``goal``; see the class for the parameters."""
        return cls(sensitivity, goal, dim, numerical_error, Grade.of(grade))

    @cached_property
    def _calibration(self) -> Calibration:
        """Sigma = Delta' / mu with the mu that T6 allows, certified by the accountant."""
        mu = gaussian_mu(self.goal)
        statistic = Statistic(self.sensitivity, self.dim, Norm.L2, self.numerical_error)
        return pushed(calibration(statistic, mu), Certificate(self.goal, Gaussian))

    @property
    def scale(self) -> float:
        """Standard deviation of the noise in each coordinate."""
        return self._calibration.scale

    @cached_property
    def event(self) -> Event:
        """What one release spends."""
        return noise_event(Gaussian, self._calibration, self.goal.adjacency)

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        return Facts(
            goal=self.goal,
            event=self.event,
            noise=self._in_words(),
            theorems=("T6", "T10"),
            grade=self.grade,
            public={
                "mechanism": "gaussian",
                "sensitivity_l2": self.sensitivity,
                "numerical_error": self.numerical_error,
                "dim": self.dim,
                "scale": self.scale,
                "grid": self._calibration.grid.step if self.grade is Grade.EXACT else None,
            },
        )

    def release(self, value: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Numbers]:
        """``value`` plus noise, in the shape of ``value``: a float for a number.

        Raises
        ------
        DataError
            If the value has not ``dim`` finite entries; before anything is charged, and without a word about it.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: vector("value", value, self.dim), self._noisy, budget=budget, bits=bits)

    def _noisy(self, value: Floats, stream: Stream) -> Numbers:
        flat, found = value.ravel(), self._calibration
        if self.grade is Grade.FAST:
            return plain((flat + self.scale * floating_gaussian(self.dim, stream)).reshape(value.shape))
        noise = rounded_gaussian(found.steps, self.dim, stream)
        return plain(found.grid.plus(found.grid.rounded(flat), noise).reshape(value.shape))

    def _in_words(self) -> str:
        if self.grade is Grade.FAST:
            return (
                "floating-point Gaussian: the guarantee is that of the ideal mechanism, low-order bits are not covered"
            )
        return f"Gaussian rounded to the grid 2^{self._calibration.grid.exponent}, exact"
