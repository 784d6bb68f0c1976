# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of the number K of runs in a private selection, known by the generating function f(x) = E x^K (T80).

The released output is the best of K runs. With u the probability that one run is better than an output, the density of
that output is f'(1 - u) times its density in one run. All bounds on the selection use f' only.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.rounding import raised

Array = NDArray[np.float64]
ETAS = (-0.999, 100.0)
SMALLEST_GAMMA = 1e-9
SMALLEST_ETA = 1e-9  # closer to 0, use 0
LARGEST_MEAN = 1e6
SMALLEST_POISSON_MEAN = 1e-6
MEAN = "It is the mean number of runs."
GAMMA = "It is the parameter gamma of the negative binomial law; 1 means exactly one run."
ETA = "It is the parameter eta of the negative binomial law; 1 is geometric, 0 logarithmic."
_PURE_UNITS = 32  # rounding errors of T81, in units of 2^-53


class Runs(ABC):
    """Distribution of the number K of independent runs of one mechanism in a private selection (T80).

    K must be drawn before the data are read, and must not depend on the data. **K must stay secret**: if K is known,
    the bounds do not hold. Elapsed time, logs and computing costs can reveal K, so hide them from the readers of the
    release. `dperm.mechanisms.draw_runs` draws K.

    Create a distribution with one of the class methods. The geometric, logarithmic and negative binomial
    distributions always give at least one run. A Poisson number of runs can be 0; the selection then releases
    nothing.

    Examples
    --------
    >>> from dperm.accounting import Runs
    >>> Runs.geometric(mean=10)
    NegativeBinomialRuns(eta=1.0, gamma=0.1)
    >>> round(Runs.logarithmic(mean=10).gamma, 6)
    0.026918
    >>> round(Runs.poisson(mean=10).no_run_probability, 8)
    4.54e-05
    """

    name: ClassVar[str]
    """Name of the family of distributions in JSON and on the command line."""

    @classmethod
    def geometric(cls, mean: float) -> "NegativeBinomialRuns":
        """Return the geometric distribution on 1, 2, ..., with success probability 1/mean.

        It is the negative binomial distribution with eta = 1 and gamma = 1/mean.

        Parameters
        ----------
        mean
            Mean number of runs, from 1 to 1e6.

        Returns
        -------
        NegativeBinomialRuns
            The distribution.
        """
        return NegativeBinomialRuns(1.0, 1 / checks.between("mean", mean, 1.0, LARGEST_MEAN, MEAN))

    @classmethod
    def logarithmic(cls, mean: float) -> "NegativeBinomialRuns":
        """Return the logarithmic distribution on 1, 2, ... with this mean.

        It is the negative binomial distribution with eta = 0; gamma is computed from the mean.

        Parameters
        ----------
        mean
            Mean number of runs, from 1 to 1e6.

        Returns
        -------
        NegativeBinomialRuns
            The distribution; its mean agrees with ``mean`` up to rounding.
        """
        wanted = checks.between("mean", mean, 1.0, LARGEST_MEAN, MEAN)
        return NegativeBinomialRuns(0.0, _gamma_of_mean(0.0, wanted))

    @classmethod
    def poisson(cls, mean: float) -> "PoissonRuns":
        """Return the Poisson distribution on 0, 1, ...; if there is no run, nothing is released.

        Parameters
        ----------
        mean
            Mean number of runs, from 1e-6 to 1e6.

        Returns
        -------
        PoissonRuns
            The distribution.
        """
        return PoissonRuns(mean)

    @classmethod
    def negative_binomial(cls, eta: float, gamma: float) -> "NegativeBinomialRuns":
        """Return the negative binomial distribution, conditioned on at least one run.

        P(K = k) is proportional to (1 - gamma)^k times the product of (l + eta)/(l + 1) over l = 0, ..., k - 1. For
        eta = 0, the probability is proportional to (1 - gamma)^k / k.

        Parameters
        ----------
        eta
            Shape parameter, from -0.999 to 100. At the same mean, a smaller eta gives a heavier tail and a smaller
            privacy loss. A nonzero eta must be at least 1e-9 in absolute value.
        gamma
            Success probability, in [1e-9, 1]; 1 means exactly one run. The mean must be at most 1e6.

        Returns
        -------
        NegativeBinomialRuns
            The distribution.
        """
        return NegativeBinomialRuns(eta, gamma)

    mean: float
    """Mean number of runs, E K."""

    @property
    @abstractmethod
    def no_run_probability(self) -> float:
        """P(K = 0), the probability that nothing is released."""

    @abstractmethod
    def probability(self, count: int) -> float:
        """Return P(K = count), with a relative error of about 1e-12."""

    @abstractmethod
    def log_slope(self, rank: ArrayLike) -> Array:
        """Return log f'(1 - u) at ranks u in [0, 1], where f(x) = E x^K; the value decreases as u increases.

        The rank u of an output is the probability that one run has a higher score. The error of the result is about
        1e-14 times 1 + abs(log f'(1 - u)).
        """

    @abstractmethod
    def slope_decay(self, rank: ArrayLike) -> Array:
        """Return the negative derivative -d/du log f'(1 - u) at ranks u in [0, 1], where f(x) = E x^K."""

    @abstractmethod
    def block(self, above: ArrayLike, size: ArrayLike) -> Array:
        """Return the probability that the selected output lies in a block, a set of outputs with neighbouring scores.

        Parameters
        ----------
        above
            Probability that the output of one run has a higher score than all outputs in the block.
        size
            Probability that the output of one run lies in the block.

        Returns
        -------
        ndarray
            f(1 - above) - f(1 - above - size), where f(x) = E x^K, computed without cancellation.
        """

    @abstractmethod
    def grid(self, count: int) -> Array:
        """Return ``count`` ranks u from 0 to 1 at which log f'(1 - u) decreases in equal steps, where f(x) = E x^K."""

    @abstractmethod
    def pure_epsilon(self, epsilon: float) -> float:
        """Return the smallest epsilon that is valid for every selection among ``epsilon``-DP runs, rounded up (T81)."""

    @abstractmethod
    def fields(self) -> dict[str, object]:
        """Return the name of the family and the parameters of the distribution as JSON-serialisable data."""


@dataclass(frozen=True)
class NegativeBinomialRuns(Runs):
    """Negative binomial distribution given K >= 1 (T80): f'(1 - u) = E[K] (gamma/(gamma + (1 - gamma) u))^(eta + 1).

    The parameters eta and gamma are those of `Runs.negative_binomial`.
    """

    eta: float
    gamma: float
    name: ClassVar[str] = "negative_binomial"

    def __post_init__(self) -> None:
        """Check the parameters; numpy scalars are accepted."""
        eta = checks.between("eta", self.eta, *ETAS, ETA)
        if 0 < abs(eta) < SMALLEST_ETA:
            raise ParameterError(
                argument="eta",
                rule=f"must be 0 or at least {SMALLEST_ETA:g} in size",
                got=shown(eta),
                remedy="Choose 0 for the logarithmic law.",
            )
        object.__setattr__(self, "eta", eta)
        object.__setattr__(self, "gamma", checks.between("gamma", self.gamma, SMALLEST_GAMMA, 1.0, GAMMA))
        if self.mean > LARGEST_MEAN * (1 + 1e-9):
            raise ParameterError(
                argument="gamma",
                rule=f"must give a mean of at most {LARGEST_MEAN:g} runs",
                got=shown(self.gamma),
                remedy="Choose a larger gamma or a smaller eta.",
            )

    @property
    def mean(self) -> float:  # type: ignore[override]  # read-only, as the fields of frozen classes are
        """Mean number of runs, eta (1 - gamma)/(gamma (1 - gamma^eta)), or (1/gamma - 1)/ln(1/gamma) for eta = 0."""
        return _mean(self.eta, self.gamma)

    @property
    def no_run_probability(self) -> float:
        """Probability that nothing is released: 0, because there is at least one run."""
        return 0.0

    def probability(self, count: int) -> float:
        """Return P(K = count), with a relative error of about 1e-12."""
        if count < 1 or self.gamma == 1:
            return float(count == 1)
        log_gamma = math.log(self.gamma)
        scale = self.eta / math.expm1(-self.eta * log_gamma) if self.eta else -1 / log_gamma
        terms = gammaln(count + self.eta) - gammaln(1 + self.eta) - gammaln(count + 1)
        return float(scale * math.exp(terms + count * math.log1p(-self.gamma)))

    def log_slope(self, rank: ArrayLike) -> Array:
        """Return log E[K] - (eta + 1) log(1 + (1 - gamma) u/gamma)."""
        return np.asarray(math.log(self.mean) - (self.eta + 1) * self._stretched(rank))

    def slope_decay(self, rank: ArrayLike) -> Array:
        """Return (eta + 1)(1 - gamma)/(gamma + (1 - gamma) u)."""
        return np.asarray((self.eta + 1) * (1 - self.gamma) / (self.gamma + (1 - self.gamma) * np.asarray(rank)))

    def block(self, above: ArrayLike, size: ArrayLike) -> Array:
        """Return f(1 - above) - f(1 - above - size), computed from logarithms of gamma + (1 - gamma) u."""
        size = np.asarray(size, dtype=np.float64)
        if self.gamma == 1:
            return size
        start = self._stretched(above)
        step = np.log1p((1 - self.gamma) * size / (self.gamma + (1 - self.gamma) * np.asarray(above)))
        if self.eta == 0:
            return np.asarray(step / -math.log(self.gamma))
        whole = math.expm1(self.eta * math.log(self.gamma))
        return np.asarray(np.exp(-self.eta * start) * np.expm1(-self.eta * step) / whole)

    def grid(self, count: int) -> Array:
        """Return ranks in equal steps of log(gamma + (1 - gamma) u)."""
        if self.gamma == 1:
            return np.linspace(0.0, 1.0, count)
        steps = np.linspace(0.0, -math.log(self.gamma), count)
        return np.append(np.minimum(self.gamma / (1 - self.gamma) * np.expm1(steps[:-1]), 1.0), 1.0)

    def pure_epsilon(self, epsilon: float) -> float:
        """Return epsilon + (eta + 1) ln((e^epsilon + gamma)/(1 + gamma e^epsilon)), rounded up (T81)."""
        falling = math.exp(-epsilon)
        growth = math.log1p((1 - self.gamma) * -math.expm1(-epsilon) / (falling + self.gamma))
        return raised(epsilon + (self.eta + 1) * growth, _PURE_UNITS)

    def fields(self) -> dict[str, object]:
        """Return the name of the family, eta and gamma."""
        return {"law": self.name, "eta": self.eta, "gamma": self.gamma}

    def _stretched(self, rank: ArrayLike) -> Array:
        return np.asarray(np.log1p((1 - self.gamma) / self.gamma * np.asarray(rank, dtype=np.float64)))


@dataclass(frozen=True)
class PoissonRuns(Runs):
    """Poisson distribution of the number of runs, with mean m (T80): f'(1 - u) = m e^{-m u}."""

    mean: float
    name: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        """Check the mean; numpy scalars are accepted."""
        object.__setattr__(self, "mean", checks.between("mean", self.mean, SMALLEST_POISSON_MEAN, LARGEST_MEAN, MEAN))

    @property
    def no_run_probability(self) -> float:
        """Probability e^-m that nothing is released."""
        return math.exp(-self.mean)

    def probability(self, count: int) -> float:
        """Return P(K = count), with a relative error of about 1e-12."""
        return math.exp(count * math.log(self.mean) - self.mean - math.lgamma(count + 1)) if count >= 0 else 0.0

    def log_slope(self, rank: ArrayLike) -> Array:
        """Return log m - m u."""
        return np.asarray(math.log(self.mean) - self.mean * np.asarray(rank, dtype=np.float64))

    def slope_decay(self, rank: ArrayLike) -> Array:
        """Return m at every rank."""
        return np.full(np.shape(rank), self.mean)

    def block(self, above: ArrayLike, size: ArrayLike) -> Array:
        """Return e^{-m above} (1 - e^{-m size})."""
        fall = -np.expm1(-self.mean * np.asarray(size, dtype=np.float64))
        return np.asarray(np.exp(-self.mean * np.asarray(above, dtype=np.float64)) * fall)

    def grid(self, count: int) -> Array:
        """Return evenly spaced ranks."""
        return np.linspace(0.0, 1.0, count)

    def pure_epsilon(self, epsilon: float) -> float:
        """Return epsilon + m tanh(epsilon/2), rounded up (T81)."""
        return raised(epsilon + self.mean * math.tanh(epsilon / 2), _PURE_UNITS)

    def fields(self) -> dict[str, object]:
        """Return the name of the family and the mean."""
        return {"law": self.name, "mean": self.mean}


def runs_from_fields(fields: Mapping[str, object]) -> Runs:
    """Return the law with these JSON fields.

    Raises ParameterError for an unknown family, and TypeError for missing or unknown parameters.
    """
    parameters = {name: value for name, value in fields.items() if name != "law"}
    families: tuple[type[Runs], ...] = (NegativeBinomialRuns, PoissonRuns)
    for family in families:
        if fields.get("law") == family.name:
            return family(**parameters)
    names = ", ".join(family.name for family in families)
    raise ParameterError(argument="law", rule=f"must be one of {names}", got=shown(fields.get("law")))


def _mean(eta: float, gamma: float) -> float:
    if gamma == 1:
        return 1.0
    log_gamma = math.log(gamma)
    return (1 - gamma) / gamma * (eta / -math.expm1(eta * log_gamma) if eta else -1 / log_gamma)


def _gamma_of_mean(eta: float, mean: float) -> float:
    """Return the gamma at which the mean is ``mean``; 1 for a mean of 1, up to rounding."""
    least, most = math.log(SMALLEST_GAMMA), -1e-10
    if _mean(eta, math.exp(most)) >= mean:
        return 1.0
    found = brentq(lambda log: math.log(_mean(eta, math.exp(log)) / mean), least, most, xtol=1e-15, rtol=1e-14)
    return math.exp(float(found))
