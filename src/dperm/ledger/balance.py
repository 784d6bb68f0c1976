# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Balances of an account and its ancestors, and the largest amount that all of them cover."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dperm.accounting.event import Event
from dperm.accounting.events import Gaussian, Laplace
from dperm.accounting.filters import price
from dperm.errors import DpermError
from dperm.ledger.account_facts import AccountFacts
from dperm.ledger.bookkeeping import family
from dperm.ledger.books import Books, Meter
from dperm.ledger.charges import meters_of
from dperm.ledger.units import amount, cost_units, limits
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict
from dperm.privacy.rounding import round_up

_EXPONENTS = (-33.0, 6.6)
"""Binary logarithms of the supported event sizes (`dperm.accounting.events.MULTIPLIERS`)."""
_BISECTIONS = 40
"""The result is below the largest size by a factor of at most 1 + 1e-10."""
MECHANISMS: tuple[Callable[[float], Event], ...] = (
    lambda size: Gaussian(noise_multiplier=1 / size),
    lambda size: Laplace(noise_multiplier=1 / size),
)
"""Releases by size, 1 / noise multiplier; the first one chargeable to every account counts."""


@dataclass(frozen=True)
class Balance:
    """Limit, spending and remaining budget of one account at one point in time.

    A currency is a quantity that the account limits, such as "epsilon", "rho" or "delta".

    Attributes
    ----------
    facts
        Declarations of the account, with its current limit.
    meters
        Capacity and spending in each currency, in integer multiples of the account's smallest unit.
    """

    facts: AccountFacts
    meters: Mapping[str, Meter]

    @property
    def account(self) -> str:
        """Name of the account with this balance."""
        return self.facts.name

    @property
    def spent(self) -> dict[str, float]:
        """Total charged cost in each currency, rounded up. It records the charges and is not a guarantee (T14)."""
        rule = self.facts.rule
        return {name: round_up(amount(rule, name, self.meters[name].spent)) for name in rule.names}

    @property
    def capacity(self) -> dict[str, float]:
        """Limit in each currency, rounded down."""
        return limits(self.facts.rule)

    def left(self, name: str) -> Fraction:
        """Return the amount that can still be charged in one currency, regardless of the limits of ancestors.

        Parameters
        ----------
        name
            Name of the currency, such as "epsilon".

        Returns
        -------
        Fraction
            Remaining amount, exact.
        """
        return amount(self.facts.rule, name, self.meters[name].capacity - self.meters[name].spent)

    @property
    def releases_left(self) -> int | None:
        """Number of releases that the unspent delta covers under ApproxDP; None for other limits, or if delta is 0."""
        meter = self.meters.get("delta")
        return meter.capacity - meter.spent if meter is not None and self.facts.share else None

    @property
    def remaining(self) -> AnyGuarantee:
        """Unspent part of the account's own limit, rounded down; `Ledger.spendable` also considers the ancestors.

        Under ApproxDP, each release uses the same delta. The delta of this property is this delta per release
        multiplied by the number of remaining releases. If no release remains, epsilon is 0 as well.
        """
        return _guarantee(self, _unspent(self), self.releases_left)

    def covers(self, event: Event) -> bool:
        """Return whether ``event`` can be charged to the account now, regardless of approvals and ancestors.

        Parameters
        ----------
        event
            Accounting event.

        Returns
        -------
        bool
            Whether the account covers the event.
        """
        rule = self.facts.rule
        try:
            cost = cost_units(rule, price(rule, event))
        except DpermError:
            return False
        return all(units <= self.meters[name].capacity - self.meters[name].spent for name, units in cost.items())

    def to_dict(self) -> dict[str, object]:
        """Return the balance as plain JSON data."""
        return {
            "account": self.account,
            "dataset": self.facts.dataset,
            "unit": self.facts.unit,
            "limit": guarantee_as_dict(self.facts.limit),
            "promise": guarantee_as_dict(self.facts.promise),
            "blocks": self.facts.blocks,
            "composition": self.facts.composition,
            "parents": list(self.facts.parents),
            "capacity": self.capacity,
            "spent": self.spent,
            "remaining": guarantee_as_dict(self.remaining),
        }


@dataclass(frozen=True)
class Spendable:
    """Amount that an account and all its ancestors cover; see `Ledger.spendable` for limits of different types.

    Attributes
    ----------
    guarantee
        Amount in the currency of the account, rounded down. Under ApproxDP, delta is the account's delta per release
        multiplied by the smallest number of remaining releases among the accounts.
    amounts
        The same for each currency of the account.
    limited_by
        First account whose limit is reached, if it is an ancestor; None if it is the account itself.
    """

    guarantee: AnyGuarantee
    amounts: Mapping[str, Fraction]
    limited_by: str | None = None


def balances(books: Books, account: str) -> tuple[Balance, ...]:
    """Return the balance of an account, then those of its ancestors, each once."""
    return tuple(Balance(facts, meters_of(books, facts)) for facts in family(books, account))


def spendable(chain: Sequence[Balance]) -> Spendable:
    """Return the amount that every account of a chain covers, in the currency of the first account.

    Every charge applies to all accounts of the chain, each under its own filter (T14). Among accounts with one filter,
    the smallest remainder counts. Among different filters, a release has a different cost in each. The function then
    finds the smallest Gaussian noise that all accounts cover. If an account covers only pure DP, Laplace noise takes
    the place of Gaussian noise. The amount is the cost of the release with this noise.
    """
    own, limited_by = chain[0], None
    amounts = _unspent(own)
    releases, scarcest = _releases(chain)
    if releases != 0 and len(chain) > 1:
        amounts, limited_by = _smallest(chain) if _has_one_filter(chain) else _searched(chain)
    if limited_by is None and scarcest is not own and (releases == 0 or own.releases_left is not None):
        limited_by = scarcest.account
    return Spendable(_guarantee(own, amounts, releases), _capped(own, amounts, releases), limited_by)


def _unspent(own: Balance) -> dict[str, Fraction]:
    return {name: own.left(name) for name in own.facts.rule.names}


def _guarantee(own: Balance, amounts: Mapping[str, Fraction], releases: int | None) -> AnyGuarantee:
    """Return the guarantee of these amounts in a number of releases."""
    found = _capped(own, amounts, releases)
    return own.facts.rule.within(tuple(found[name] for name in own.facts.rule.names))


def _capped(own: Balance, amounts: Mapping[str, Fraction], releases: int | None) -> dict[str, Fraction]:
    """Return the amounts with the delta of a number of releases; all zero if no release is left."""
    if releases == 0:
        return dict.fromkeys(amounts, Fraction(0))
    if releases is None or own.releases_left is None:
        return dict(amounts)
    return {**amounts, "delta": amount(own.facts.rule, "delta", releases)}


def _releases(chain: Iterable[Balance]) -> tuple[int | None, Balance]:
    """Return the smallest number of unused blocks and its account; None if no account has blocks."""
    counted = [(one.releases_left, one) for one in chain]
    return min(((left, one) for left, one in counted if left is not None), key=lambda pair: pair[0], default=counted[0])


def _has_one_filter(chain: Iterable[Balance]) -> bool:
    """Return whether an event has the same cost in every account."""
    rules = {(one.facts.rule.names, one.facts.share, one.facts.adjacency) for one in chain}
    return len(rules) == 1


def _smallest(chain: Sequence[Balance]) -> tuple[dict[str, Fraction], str | None]:
    """Return the smallest remainder in each currency, and the account with the smallest first one."""
    names = chain[0].facts.rule.names
    scarce = min(chain, key=lambda one: one.left(names[0]))
    amounts = {name: min(one.left(name) for one in chain) for name in names}
    return amounts, None if scarce is chain[0] else scarce.account


def _searched(chain: Sequence[Balance]) -> tuple[dict[str, Fraction], str | None]:
    """Return the cost, in the first account, of the largest release covered by the whole chain."""
    own, rule = chain[0], chain[0].facts.rule
    for mechanism in MECHANISMS:
        alone, size = _largest(mechanism, chain[:1]), _largest(mechanism, chain)
        if alone is None or size is None:
            continue
        scarcest = next((one for one in chain if not one.covers(mechanism(alone))), None)
        if scarcest is None:
            return _unspent(own), None
        cost = cost_units(rule, price(rule, mechanism(size)))
        return {name: amount(rule, name, units) for name, units in cost.items()}, scarcest.account
    empty = (one.account for one in chain if not any(_largest(mechanism, [one]) for mechanism in MECHANISMS))
    name = next(empty, chain[-1].account)
    return dict.fromkeys(_unspent(own), Fraction(0)), None if name == own.account else name


def _largest(mechanism: Callable[[float], Event], chain: Sequence[Balance]) -> float | None:
    """Return the largest size covered by all accounts, by bisection of its logarithm; None if there is none."""
    low, high = _EXPONENTS
    if not all(one.covers(mechanism(2.0**low)) for one in chain):
        return None
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        fits = all(one.covers(mechanism(2.0**middle)) for one in chain)
        low, high = (middle, high) if fits else (low, middle)
    return float(2.0**low)


def shortfall(chain: Sequence[Balance]) -> str | None:
    """Return a sentence if the ancestors of an account cannot cover its remainder, else None."""
    found, own = spendable(chain), chain[0]
    if found.limited_by is None:
        return None
    scarce = next(one for one in chain if one.account == found.limited_by)
    return (
        f"account {own.account!r} has {own.remaining!r} remaining, but its ancestor {scarce.account!r}, which "
        f"has {scarce.remaining!r} remaining, does not cover that. The largest release that every account covers is "
        f"{found.guarantee!r}."
    )
