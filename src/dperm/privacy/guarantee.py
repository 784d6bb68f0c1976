# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is promised: the five kinds of guarantee, each with the adjacency that it speaks of (C0.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

from dperm import checks
from dperm.checks import shown
from dperm.errors import EventFormatError, ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.profile import PrivacyProfile
from dperm.privacy.worst_case import ConcentratedProfile, GaussianProfile, OrdersProfile, ResponseProfile


@runtime_checkable
class Guarantee(Protocol):
    """A promise about every pair of neighbours: PureDP, ApproxDP, ZCDP, GDP or RDP."""

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""

    def profile(self) -> PrivacyProfile:
        """The largest delta(epsilon) that the promise leaves open."""


@dataclass(frozen=True, init=False, repr=False)
class PureDP:
    """epsilon-DP: no event's probability changes by more than a factor e^epsilon (T1 with delta = 0)."""

    epsilon: float
    adjacency: Adjacency

    def __init__(self, epsilon: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", epsilon))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Reads as it is written: ``PureDP(epsilon=1.0, adjacency=REPLACE_ONE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """The exact curve of randomised response (T13 with k = 1)."""
        return ResponseProfile(self.epsilon, 0.0, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP:
    """(epsilon, delta)-DP (T1); delta = 0 is pure."""

    epsilon: float
    delta: float
    adjacency: Adjacency

    def __init__(self, epsilon: float, delta: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", epsilon))
        object.__setattr__(self, "delta", checks.small_delta("delta", delta))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Reads as it is written: ``ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """The exact curve of the law of T14: randomised response that fails openly with probability delta."""
        return ResponseProfile(self.epsilon, self.delta, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class ZCDP:
    """rho-zCDP: Renyi divergence at most rho alpha at every order alpha > 1 (T18)."""

    rho: float
    adjacency: Adjacency

    def __init__(self, rho: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "rho", checks.nonnegative("rho", rho))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Reads as it is written: ``ZCDP(rho=0.125, adjacency=ADD_REMOVE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """T17 at the best order (upper ends), the Gaussian that is rho-zCDP (lower ends)."""
        return ConcentratedProfile(self.rho, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class GDP:
    """mu-GDP: as hard to attack as telling N(0, 1) from N(mu, 1) (T19)."""

    mu: float
    adjacency: Adjacency

    def __init__(self, mu: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "mu", checks.nonnegative("mu", mu))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Reads as it is written: ``GDP(mu=1.0, adjacency=ADD_REMOVE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """The exact curve of T6."""
        return GaussianProfile(self.mu, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class RDP:
    """Renyi DP at finitely many orders: divergence at most tau at alpha, for each pair (alpha, tau) of ``curve`` (T16).

    Pairs are kept in increasing order of alpha.
    """

    curve: tuple[tuple[float, float], ...]
    adjacency: Adjacency

    def __init__(self, curve: Iterable[tuple[float, float]], adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "curve", _orders(curve))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Reads as it is written: ``RDP(curve=((2.0, 0.1), (8.0, 0.5)), adjacency=ADD_REMOVE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """T17 at the best of the orders (upper ends), a Gaussian that keeps them all (lower ends)."""
        return OrdersProfile(self.curve, self.adjacency)


AnyGuarantee = PureDP | ApproxDP | ZCDP | GDP | RDP
_BY_NAME: dict[str, type[AnyGuarantee]] = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GDP, RDP)}


def guarantee_as_dict(guarantee: AnyGuarantee) -> dict[str, object]:
    """The guarantee as JSON-ready data, its kind under the key "kind"."""
    values = {field.name: getattr(guarantee, field.name) for field in fields(guarantee)}
    return {"kind": type(guarantee).__name__, **values, "adjacency": guarantee.adjacency.value}


def guarantee_from_dict(data: Mapping[str, object]) -> AnyGuarantee:
    """The guarantee that ``guarantee_as_dict`` wrote.

    Raises
    ------
    EventFormatError
        If the kind is unknown, or a field is missing, unknown or out of range.
    """
    values = dict(data)
    kind = _BY_NAME.get(str(values.pop("kind", None)))
    if kind is None:
        raise EventFormatError(f'a guarantee needs "kind", one of {", ".join(_BY_NAME)}; got {data.get("kind")!r}.')
    try:
        return kind(**values)  # type: ignore[arg-type]  # the constructor checks every value
    except (TypeError, ValueError) as error:
        raise EventFormatError(f"cannot read a {kind.__name__} from {values!r}: {error}") from error


def _spelled(guarantee: AnyGuarantee) -> str:
    shown = [f"{field.name}={getattr(guarantee, field.name)!r}" for field in fields(guarantee)[:-1]]
    return f"{type(guarantee).__name__}({', '.join(shown)}, adjacency={guarantee.adjacency.name})"


def _orders(curve: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    try:
        pairs = [(alpha, tau) for alpha, tau in curve]
    except (TypeError, ValueError):
        raise ParameterError(f"curve must be a sequence of (alpha, tau) pairs, got {shown(curve)}.") from None
    checked = sorted((checks.above("alpha", alpha, 1.0), checks.nonnegative("tau", tau)) for alpha, tau in pairs)
    if not checked or len({alpha for alpha, _ in checked}) < len(checked):
        raise ParameterError(f"curve must name at least one order, and each order once, got {shown(curve)}.")
    return tuple(checked)
