# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Counts over disjoint bins."""

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Number
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm.checks import shown
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.choosing import mechanism_for
from dperm.mechanisms.releases.fixed_point import INTEGERS, FixedPoint, Totals
from dperm.mechanisms.releases.noisy import NoisyStatistic
from dperm.mechanisms.values import items
from dperm.noise.arrays import Floats, Integers

CLIP, DROP = "clip", "drop"


@dataclass(frozen=True)
class Histogram(NoisyStatistic[Integers]):
    """Noisy counts over public bins, each record in at most one: intervals between edges, or categories.

    Edges e_0 < ... < e_k make the k bins [e_0, e_1), ..., [e_k-1, e_k], the last one closed. Categories are compared as
    Python objects, so that 1 and 1.0 are the same and "1" is another. The value is an array of integers in the order of
    the bins: noisy counts rounded to the nearest, which can be negative.

    L1 sensitivity 1 under add/remove and 2 under replace-one; L2 sensitivity 1 and sqrt 2.

    Parameters
    ----------
    goal
        The guarantee of one release.
    edges
        At least two increasing numbers; the data are numbers.
    categories
        Public values, each once; the data are such values.
    outside
        What becomes of a number beyond the edges: "clip" (the default) counts it in the nearest bin, "drop" nowhere. A
        value that is no category is always dropped, unless it is of a kind that no category has (a number among
        strings, something missing): that is refused.

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

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        set_field = object.__setattr__
        set_field(self, "goal", checked_goal(self.goal))
        if (self.edges is None) == (self.categories is None):
            raise ParameterError("edges (for numbers) or categories must be given, and not both.")
        if self.categories is None:
            set_field(self, "edges", _checked_edges(self.edges))
        else:
            set_field(self, "categories", _checked_categories(self.categories))
        set_field(self, "outside", _checked_outside(self.outside, CLIP if self.categories is None else DROP))
        self.facts  # noqa: B018  # everything follows from the parameters

    @cached_property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.categories) if self.categories is not None else len(self.edges or ()) - 1

    @property
    def public(self) -> dict[str, object]:
        """The bins; categories in words, since not every object is JSON."""
        if self.categories is not None:
            return {"categories": [repr(category) for category in self.categories]}
        return {"edges": self.edges, "outside": self.outside}

    @property
    def fixed_point(self) -> FixedPoint:
        """Integers."""
        return INTEGERS

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Noise to the sensitivity of all counts together."""
        return mechanism_for(
            self.goal,
            l1=sensitivities.histogram_l1(self.bins, self.adjacency),
            l2=sensitivities.histogram_l2(self.bins, self.adjacency),
            dim=self.bins,
        )

    @property
    def standard_error(self) -> float:
        """That of the noise, for every bin."""
        return self.mechanism.standard_deviation

    def totals(self, data: ArrayLike) -> Totals:
        """The counts, which are **not private**."""
        places = self._categorised(data) if self.categories is not None else self._binned(data)
        counts = np.bincount(places[places != records.NOWHERE], minlength=self.bins)
        return Totals(counts.tolist(), len(places))

    def finished(self, noisy: Floats, n: int | None) -> Integers:
        """The nearest integers, up to the largest that there are."""
        return np.clip(np.rint(noisy), -(2.0**62), 2.0**62).astype(np.int64)

    def _binned(self, data: ArrayLike) -> NDArray[np.intp]:
        """The bin of each number."""
        edges, values = np.array(self.edges), records.column(data)
        places = np.searchsorted(edges, values, side="right") - 1
        places = np.where(values == edges[-1], self.bins - 1, places)
        inside = np.clip(places, 0, self.bins - 1)
        return inside if self.outside == CLIP else np.where(inside == places, places, records.NOWHERE)

    def _categorised(self, data: ArrayLike) -> NDArray[np.intp]:
        """The bin of each value: a dictionary holds one place for it, or none."""
        categories = self.categories or ()
        found = items(records.NAME, data)
        kinds = {_kind(category) for category in categories}
        if not {_kind(item) for item in found} <= kinds:
            raise DataError("data must be of the same kind as the categories (strings, or numbers), and not missing.")
        return records.places(records.NAME, found, categories)


def _kind(item: object) -> type:
    """Numbers of every type compare with each other; what is not equal to itself (NaN, NaT) is missing."""
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
        raise ParameterError(f"edges must be at least two increasing numbers, got {shown(edges)}.")
    return checked


def _checked_categories(categories: object) -> tuple[Hashable, ...]:
    try:
        checked: tuple[Hashable, ...] = () if isinstance(categories, str) else tuple(categories)  # type: ignore[arg-type]
        once = len(set(checked)) == len(checked) and all(category == category for category in checked)  # not NaN
    except (TypeError, ValueError):
        checked, once = (), False
    if not checked or not once:
        raise ParameterError(
            f"categories must be a sequence of public hashable values, each once, got {shown(categories)}."
        )
    return checked


def _checked_outside(outside: object, default: str) -> str:
    allowed = (CLIP, DROP) if default == CLIP else (DROP,)
    if outside is None or outside in allowed:
        return default if outside is None else str(outside)
    raise ParameterError(f"outside must be {' or '.join(map(repr, allowed))}, got {shown(outside)}.")
