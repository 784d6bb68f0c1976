# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy guarantees of five kinds, each with its adjacency (C0.1)."""

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
    """Protocol of the guarantees `PureDP`, `ApproxDP`, `ZCDP`, `GDP` and `RDP`.

    A guarantee holds for every pair of neighbouring data sets.
    """

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of the guarantee."""

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of the worst mechanism with this guarantee."""


@dataclass(frozen=True, init=False, repr=False)
class PureDP:
    """epsilon-DP: one record changes the probability of any output by a factor of at most e^epsilon (T1, delta = 0).

    Parameters
    ----------
    epsilon
        Privacy-loss bound, finite and >= 0; smaller is more private.
    adjacency
        "replace_one" or "add_remove"; required.

    Examples
    --------
    >>> from dperm import PureDP
    >>> PureDP(1.0, "replace_one").profile().epsilon(delta=0.0)
    1.0
    """

    epsilon: float
    adjacency: Adjacency

    def __init__(self, epsilon: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", epsilon))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Return text such as ``PureDP(epsilon=1.0, adjacency=REPLACE_ONE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """Return the exact privacy profile of randomised response, the worst epsilon-DP mechanism (T13 with k = 1)."""
        return ResponseProfile(self.epsilon, 0.0, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP:
    """(epsilon, delta)-DP (T1); delta = 0 gives pure DP.

    Parameters
    ----------
    epsilon
        Privacy-loss bound, finite and >= 0; smaller is more private.
    delta
        Additive term of the privacy bound, in [0, 1), usually far smaller than 1 divided by the number of records.
    adjacency
        "replace_one" or "add_remove"; required.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> ApproxDP(1.0, 1e-5, "add_remove").profile().epsilon(delta=1e-5)
    1.0
    """

    epsilon: float
    delta: float
    adjacency: Adjacency

    def __init__(self, epsilon: float, delta: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "epsilon", checks.nonnegative("epsilon", epsilon))
        object.__setattr__(self, "delta", checks.small_delta("delta", delta))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Return text such as ``ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """Return the exact privacy profile of the worst (epsilon, delta)-DP mechanism (T14).

        This mechanism is randomised response, except that it reveals its input with probability delta.
        """
        return ResponseProfile(self.epsilon, self.delta, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class ZCDP:
    """rho-zCDP: the Rényi divergence between neighbours is at most rho * alpha at every order alpha > 1 (T18).

    Parameters
    ----------
    rho
        Bound on the Rényi divergence divided by its order, finite and >= 0.
    adjacency
        "replace_one" or "add_remove"; required.

    Examples
    --------
    >>> from dperm import ZCDP
    >>> round(ZCDP(0.5, "add_remove").profile().epsilon(delta=1e-5), 3)
    4.728
    """

    rho: float
    adjacency: Adjacency

    def __init__(self, rho: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "rho", checks.nonnegative("rho", rho))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Return text such as ``ZCDP(rho=0.125, adjacency=ADD_REMOVE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile, with lower and upper bounds.

        The upper bounds follow from T17 at the best order alpha. The lower bounds are the values of the
        Gaussian mechanism with the same rho.
        """
        return ConcentratedProfile(self.rho, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class GDP:
    """mu-GDP: telling neighbouring data sets apart is at least as hard as telling N(0, 1) from N(mu, 1) (T19).

    Parameters
    ----------
    mu
        Distance between the means of the two normal distributions, finite and >= 0.
    adjacency
        "replace_one" or "add_remove"; required.

    Examples
    --------
    >>> from dperm import GDP
    >>> round(GDP(1.0, "add_remove").profile().delta(epsilon=1.0), 4)
    0.1269
    """

    mu: float
    adjacency: Adjacency

    def __init__(self, mu: float, adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "mu", checks.nonnegative("mu", mu))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Return text such as ``GDP(mu=1.0, adjacency=ADD_REMOVE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """Return the exact privacy profile of the Gaussian mechanism (T6)."""
        return GaussianProfile(self.mu, self.adjacency)


@dataclass(frozen=True, init=False, repr=False)
class RDP:
    """Rényi DP: bounds on the Rényi divergence between neighbours at finitely many orders (T16).

    Parameters
    ----------
    curve
        Pairs (alpha, tau), where tau >= 0 bounds the Rényi divergence of order alpha > 1. The constructor sorts the
        pairs by alpha.
    adjacency
        "replace_one" or "add_remove"; required.

    Examples
    --------
    >>> from dperm import RDP
    >>> round(RDP([(2, 0.5), (8, 2.0)], "add_remove").profile().epsilon(delta=1e-5), 3)
    3.214
    """

    curve: tuple[tuple[float, float], ...]
    adjacency: Adjacency

    def __init__(self, curve: Iterable[tuple[float, float]], adjacency: Adjacency | str | None = None) -> None:
        object.__setattr__(self, "curve", _orders(curve))
        object.__setattr__(self, "adjacency", Adjacency.of(adjacency))

    def __repr__(self) -> str:
        """Return text such as ``RDP(curve=((2.0, 0.1), (8.0, 0.5)), adjacency=ADD_REMOVE)``."""
        return _spelled(self)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile, with lower and upper bounds.

        The upper bounds follow from T17 at the best order alpha. The lower bounds are the values of a
        Gaussian mechanism that satisfies every pair of the curve.
        """
        return OrdersProfile(self.curve, self.adjacency)


AnyGuarantee = PureDP | ApproxDP | ZCDP | GDP | RDP
_BY_NAME: dict[str, type[AnyGuarantee]] = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GDP, RDP)}


def guarantee_as_dict(guarantee: AnyGuarantee) -> dict[str, object]:
    """Return the guarantee as JSON-serialisable data, with its class name under the key "kind".

    Parameters
    ----------
    guarantee
        Guarantee to convert.

    Returns
    -------
    dict[str, object]
        Plain data for JSON.
    """
    values = {field.name: getattr(guarantee, field.name) for field in fields(guarantee)}
    return {"kind": type(guarantee).__name__, **values, "adjacency": guarantee.adjacency.value}


def guarantee_from_dict(data: Mapping[str, object]) -> AnyGuarantee:
    """Return the guarantee stored by ``guarantee_as_dict``.

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
        rule = "must be a sequence of (alpha, tau) pairs"
        raise ParameterError(argument="curve", rule=rule, got=shown(curve)) from None
    checked = sorted((checks.above("alpha", alpha, 1.0), checks.nonnegative("tau", tau)) for alpha, tau in pairs)
    if not checked or len({alpha for alpha, _ in checked}) < len(checked):
        rule = "must name at least one order, and each order once"
        raise ParameterError(argument="curve", rule=rule, got=shown(curve))
    return tuple(checked)
