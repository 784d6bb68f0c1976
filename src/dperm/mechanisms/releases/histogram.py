# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private counts over disjoint bins."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Number
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.checks import shown
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.fixed_point import INTEGERS, FixedPoint, Totals, add_totals
from dperm.mechanisms.releases.mechanism_choice import mechanism_for
from dperm.mechanisms.releases.noisy_statistic import NoisyStatistic
from dperm.mechanisms.releases.table_columns import NUMBERS, Layout, Records, total
from dperm.mechanisms.values import items
from dperm.noise.arrays import Floats, Integers
from dperm.presentation.spelling import arg

CLIP, DROP = "clip", "drop"


@dataclass(frozen=True)
class Histogram(NoisyStatistic[Integers]):
    """Noisy counts over public bins, which are either intervals between edges or categories.

    Each record is in at most one bin. Edges e_0 < ... < e_k define the k bins [e_0, e_1), ..., [e_(k-1), e_k]; only the
    last bin contains its upper edge. Categories are compared as Python objects, so 1 and 1.0 are equal, and "1" is
    different. The released value is an array of noisy counts in the order of the bins. The counts are rounded to the
    nearest integers and may be negative.

    Under add/remove, the L1 and L2 sensitivities are 1. Under replace-one, the L1 sensitivity is 2 and the L2
    sensitivity is sqrt(2), but if there is only one bin, both sensitivities are 1.

    Parameters
    ----------
    goal
        Guarantee of one release.
    edges
        Two or more increasing public numbers, for numeric data.
    categories
        Distinct public values, for categorical data. Either ``edges`` or ``categories`` must be given.
    outside
        Treatment of numbers outside the edges: "clip" (the default for edges) counts them in the nearest bin, and
        "drop" ignores them. With categories, a value that is not a category is always ignored. A missing value, or a
        value whose kind differs from that of the categories, such as a number among strings, raises DataError.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.releases import Histogram
    >>> ages = Histogram(PureDP(1.0, "replace_one"), edges=[0, 18, 40, 65, 120])
    >>> round(ages.mechanism.scale, 5)
    2.0
    >>> ages.release([3, 20, 40, 70]).value.shape
    (4,)
    """

    edges: Sequence[float] | None = None
    _: KW_ONLY
    categories: Sequence[Hashable] | None = None
    outside: str | None = None

    name: ClassVar[str] = "histogram"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if (self.edges is None) == (self.categories is None):
            raise ParameterError(f"{arg('edges')} (for numbers) or {arg('categories')} must be given, and not both.")
        if self.categories is None:
            self._set(edges=_checked_edges(self.edges))
        else:
            self._set(categories=_checked_categories(self.categories))
        self._set(outside=_checked_outside(self.outside, CLIP if self.categories is None else DROP))

    @cached_property
    def bins(self) -> int:
        """Number of bins of the histogram."""
        return len(self.categories) if self.categories is not None else len(self.edges or ()) - 1

    @property
    def _layout(self) -> Layout:
        """One column, of numbers or of categories."""
        return NUMBERS if self.categories is None else Layout(1, numeric=0, values=tuple(self.categories))

    @property
    def public(self) -> dict[str, object]:
        """Edges and the treatment of numbers outside them, or the categories as text.

        Categories are given as text because JSON cannot represent every Python object.
        """
        if self.categories is not None:
            return {"categories": [repr(category) for category in self.categories]}
        return {"edges": self.edges, "outside": self.outside}

    @property
    def fixed_point(self) -> FixedPoint:
        """Fixed-point format with step 1: integers are not rounded."""
        return INTEGERS

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Mechanism that adds noise, calibrated to the sensitivity of all counts together."""
        return mechanism_for(
            self.goal,
            l1=sensitivities.histogram_l1(self.bins, self.adjacency),
            l2=sensitivities.histogram_l2(self.bins, self.adjacency),
            dim=self.bins,
        )

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise in each bin, before the counts are rounded to integers."""
        return self.mechanism.standard_deviation

    def totals(self, data: Records) -> Totals:
        """Return the exact counts, which are **not private**.

        Parameters
        ----------
        data
            Private records.

        Returns
        -------
        Totals
            Exact totals, in units of the fixed-point format.

        Raises
        ------
        DataError
            If the data are invalid.
        """
        if self.categories is not None:
            return total(CategoryBins(tuple(self.categories)).counts, add_totals, data)
        return total(IntervalBins(tuple(self.edges or ()), self.outside == CLIP).counts, add_totals, data)

    def finished(self, noisy: Floats, n: int | None) -> Integers:
        """Return the noisy counts rounded to the nearest integers, limited to 2^62 in magnitude.

        Parameters
        ----------
        noisy
            Noisy statistic.
        n
            Public number of records; None if it is private.

        Returns
        -------
        ndarray
            Value to release.
        """
        return np.clip(np.rint(noisy), -(2.0**62), 2.0**62).astype(np.int64)


@dataclass(frozen=True)
class IntervalBins:
    """Bins between increasing edges. Numbers outside are in the nearest bin if ``clip``, and else in none."""

    edges: tuple[float, ...]
    clip: bool

    def counts(self, data: ArrayLike) -> Totals:
        """Return the number of records in each bin. Not private."""
        edges, values = np.array(self.edges), records.column(data)
        last = len(edges) - 2
        places = np.searchsorted(edges, values, side="right") - 1
        places = np.where(values == edges[-1], last, places)
        inside = np.clip(places, 0, last)
        return _counts(inside if self.clip else np.where(inside == places, places, records.NOWHERE), last + 1)


@dataclass(frozen=True)
class CategoryBins:
    """One bin for each category."""

    categories: tuple[Hashable, ...]

    def counts(self, data: ArrayLike) -> Totals:
        """Return the number of records of each category, found by a dictionary lookup. Not private."""
        values, repetitions = _distinct(data)
        found = items(records.NAME, values)
        kinds = {_kind(category) for category in self.categories}
        if not {_kind(item) for item in found} <= kinds:
            raise DataError(
                argument=records.NAME,
                rule="must be of the same kind as the categories (strings or numbers), not missing",
            )
        places = records.places(records.NAME, found, self.categories)
        return _counts(np.repeat(places, repetitions), len(self.categories))


def _distinct(data: ArrayLike) -> tuple[ArrayLike, Any]:
    """Return the distinct values of an Arrow array and their numbers; any other data, and 1.

    Arrow counts text fifty times as fast as a lookup of every item.
    """
    if type(data).__module__.partition(".")[0] == "pyarrow":
        with suppress(Exception):  # types without counts or without Python objects are read item by item
            found = cast(Any, data).value_counts()
            return found.field("values").to_pylist(), found.field("counts").to_numpy()
    return data, 1


def _counts(places: NDArray[np.intp], bins: int) -> Totals:
    """Return the number of records at each place below ``bins``."""
    return Totals(np.bincount(places[places != records.NOWHERE], minlength=bins).tolist(), len(places))


def _kind(item: object) -> type:
    """Return the kind of an item: all numbers are one kind, and items unequal to themselves (NaN, NaT) are missing."""
    try:
        missing = bool(item != item)
    except Exception:
        missing = True
    if missing:
        return type(None)
    return next((kind for kind in (Number, str) if isinstance(item, kind)), type(item))


def _checked_edges(edges: object) -> tuple[float, ...]:
    checked = parameters.numbers("edges", edges)
    if len(checked) < 2 or any(right <= left for left, right in pairwise(checked)):
        raise ParameterError(argument="edges", rule="must be at least two increasing numbers", got=shown(edges))
    return checked


def _checked_categories(categories: object) -> tuple[Hashable, ...]:
    try:
        checked: tuple[Hashable, ...] = () if isinstance(categories, str) else tuple(categories)  # type: ignore[arg-type]
        once = len(set(checked)) == len(checked) and all(category == category for category in checked)  # not NaN
    except (TypeError, ValueError):
        checked, once = (), False
    if not checked or not once:
        raise ParameterError(
            argument="categories",
            rule="must be a sequence of different public hashable values",
            got=shown(categories),
        )
    return checked


def _checked_outside(outside: object, default: str) -> str:
    allowed = (CLIP, DROP) if default == CLIP else (DROP,)
    if outside is None or outside in allowed:
        return default if outside is None else str(outside)
    raise ParameterError(argument="outside", rule=f"must be {' or '.join(map(repr, allowed))}", got=shown(outside))
