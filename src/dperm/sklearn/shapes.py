# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Shape functions of additive models: values on public points, edits, monotone projections and explanations.

Everything here is computed from a released model and public declarations. It is post-processing (T3) and reads no
private data.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.columns import Categorical
from dperm.data.term_codes import PAIR_CELLS, CategoryCode, CoarseCode, NumberCode, PairCode, TermCode, TermPlaces
from dperm.errors import ParameterError

DIRECTIONS = {1: "increasing", -1: "decreasing"}
"""Directions of monotone shapes, by their sign."""
MOST = 1e100
"""Largest size of an edited contribution."""
EDITED = "edited"
"""Kind of an edit by new values; monotone projections are named by their direction."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Public points of one column of a term.

    Attributes
    ----------
    column
        Name of the column.
    grid
        Places of the grid, in units of the column, or the declared categories.
    others
        Labels of the other points: special values, undeclared categories, missing values.
    is_number
        Whether the column is a number.
    is_step
        Whether the shape is constant on the cells around the grid points, not linear between the points.
    ends
        Ends of the scale of a number; None for categories.
    """

    column: str
    grid: NDArray[Any]
    others: tuple[str, ...]
    is_number: bool
    is_step: bool
    ends: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Make the grid a read-only copy."""
        grid = np.array(self.grid)
        grid.setflags(write=False)
        object.__setattr__(self, "grid", grid)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild copies and pickles by the constructor, so that their grids are read-only too."""
        return type(self), (self.column, self.grid, self.others, self.is_number, self.is_step, self.ends)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of all points: the grid, then the others."""
        return (*self.grid.tolist(), *self.others)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.grid) + len(self.others)


def axes_of(term: TermCode) -> tuple[Axis, ...]:
    """Return the public points of a term: one axis for a single column, two for a pair."""
    if isinstance(term, PairCode):
        return tuple(_coarse_axis(code) for code in (term.first, term.second))
    if isinstance(term, NumberCode):
        return (_number_axis(term, term.grid, is_step=term.cells > 0),)
    assert isinstance(term, CategoryCode)
    return (_category_axis(term),)


def _coarse_axis(code: CoarseCode) -> Axis:
    if isinstance(code.column, Categorical):
        return _category_axis(CategoryCode(code.name, code.column))
    centres = code.column.unscaled((np.arange(PAIR_CELLS) + 0.5) / PAIR_CELLS)
    return _number_axis(NumberCode(code.name, code.column), centres, is_step=True)


def _number_axis(code: NumberCode, grid: Floats, *, is_step: bool) -> Axis:
    low, high = code.column.unscaled(np.array([0.0, 1.0])).tolist()
    return Axis(code.name, grid, code.extra, is_number=True, is_step=is_step, ends=(low, high))


def _category_axis(code: CategoryCode) -> Axis:
    """Return declared categories as grid; without any, the point of all values is the grid."""
    size = int(code.ordinary.sum())
    grid = np.empty(size, dtype=object)
    grid[:] = list(code.column.categories) or list(code.labels)
    return Axis(code.name, grid, code.labels[size:], is_number=False, is_step=True)


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """Shape function of one term: its contribution to the score at each public point.

    Between two points of the grid, the contribution of a number is interpolated linearly. A number with ``detail``, and
    each number of a pair, has a constant contribution on each cell of the grid.

    Attributes
    ----------
    name
        Name of the term.
    axes
        One axis for a single column, two for a pair.
    points
        Contributions at all public points, with one dimension for each axis: first the grid, then the other points.
    unit
        Unit of the contributions: "score" for classes, "prediction" for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn.shapes import Axis, ShapeFunction
    >>> axis = Axis("age", np.array([0.0, 50.0, 100.0]), ("(missing)",), is_number=True, is_step=False)
    >>> shape = ShapeFunction("age", (axis,), np.array([-1.0, 0.0, 1.0, 0.25]), "score")
    >>> shape.special
    {'(missing)': 0.25}
    >>> shape.replaced(np.minimum(shape.values, 0.5)).values
    array([-1. ,  0. ,  0.5])
    """

    name: str
    axes: tuple[Axis, ...]
    points: Floats
    unit: str

    def __post_init__(self) -> None:
        """Make the contributions read-only, so that a shape and the model that it belongs to cannot disagree."""
        points = np.array(self.points, dtype=np.float64).reshape(tuple(map(len, self.axes)))
        points.setflags(write=False)
        object.__setattr__(self, "points", points)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild copies and pickles by the constructor, so that their contributions are read-only too."""
        return type(self), (self.name, self.axes, self.points, self.unit)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the term."""
        return tuple(axis.column for axis in self.axes)

    @property
    def grid(self) -> Any:
        """Grid points: an array for a single column, a pair of arrays for a pair."""
        return self.axes[0].grid if len(self.axes) == 1 else tuple(axis.grid for axis in self.axes)

    @property
    def values(self) -> Floats:
        """Contributions on the grid; a matrix for a pair."""
        return self.points[self._on_grid]

    @property
    def special(self) -> dict[Any, float]:
        """Contributions at the other points, by label; for a pair, by pairs of labels with such a point."""
        return {
            label: float(value)
            for (label, is_other), value in zip(self._labels(), self.points.ravel(), strict=True)
            if is_other
        }

    @property
    def range(self) -> float:
        """Mean absolute contribution on the grid. It is no measure of importance in the private data."""
        return float(np.abs(self.values).mean())

    def table(self) -> dict[str, list[Any]]:
        """Return all points as columns: one for each column of the term, and ``contribution``."""
        labels = [label for label, _ in self._labels()]
        if len(self.axes) == 1:
            return {self.axes[0].column: labels, "contribution": self.points.tolist()}
        first, second = zip(*labels, strict=True)
        return {
            self.axes[0].column: list(first),
            self.axes[1].column: list(second),
            "contribution": self.points.ravel().tolist(),
        }

    def frame(self) -> Any:
        """Return `table` as a pandas data frame.

        Raises
        ------
        ParameterError
            If pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ParameterError("frame() needs pandas, which is not installed.", remedy="Use table().") from None
        return pandas.DataFrame(self.table())

    def replaced(self, values: Any = None, *, special: Mapping[Any, float] | None = None) -> "ShapeFunction":
        """Return the shape with other contributions.

        Parameters
        ----------
        values
            New contributions on the grid, an array of the shape of ``values`` or one number for all; None leaves them.
        special
            New contributions at other points, by label; points that are not listed stay.

        Returns
        -------
        ShapeFunction
            The new shape.

        Raises
        ------
        ParameterError
            If ``values`` has another shape, a contribution is not finite, or ``special`` names an unknown point.
        """
        points = self.points.copy()
        if values is not None:
            points[self._on_grid] = self._checked_values(values)
        labels = [label for label, is_other in self._labels() if is_other]
        places = np.flatnonzero([is_other for _, is_other in self._labels()])
        for label, value in (special or {}).items():
            if label not in labels:
                remedy = f"Its other points are {', '.join(map(str, labels[:10]))}."
                rule = f"must name other points of the term {shown(self.name)}"
                raise ParameterError(argument="special", rule=rule, got=shown(label), remedy=remedy)
            points.ravel()[places[labels.index(label)]] = self._checked_values(value, single=True)
        return replace(self, points=points)

    def with_points(self, points: Any) -> "ShapeFunction":
        """Return the shape with these contributions at all its points; raise ValueError if there are not as many."""
        return replace(self, points=np.asarray(points, dtype=np.float64))

    def monotone(self, direction: int) -> "ShapeFunction":
        """Return the monotone shape nearest to this one in least squares on the grid; other points stay.

        The mean on the grid stays the same, so the shape stays centred.

        Parameters
        ----------
        direction
            1 for an increasing shape, -1 for a decreasing one.
        """
        from sklearn.isotonic import isotonic_regression

        return replace(self, points=self._with_grid(isotonic_regression(self.values, increasing=direction > 0)))

    def centred(self) -> tuple["ShapeFunction", float]:
        """Return the shape minus its mean on the grid, and this mean."""
        mean = float(self.values.mean())
        return replace(self, points=self.points - mean), mean

    def at(self, places: TermPlaces) -> Floats:
        """Return the contribution of each record: the share-weighted mean of its one or two points."""
        return places.mean_of(self.points.ravel())

    @property
    def _on_grid(self) -> tuple[slice, ...]:
        return tuple(slice(len(axis.grid)) for axis in self.axes)

    def _with_grid(self, values: Any) -> Floats:
        points = self.points.copy()
        points[self._on_grid] = values
        return points

    def _labels(self) -> list[tuple[Any, bool]]:
        """Return the label of each point, and whether it is outside the grid."""
        marked = [[(label, place >= len(axis.grid)) for place, label in enumerate(axis.labels)] for axis in self.axes]
        if len(marked) == 1:
            return marked[0]
        return [((first, second), one or other) for first, one in marked[0] for second, other in marked[1]]

    def _checked_values(self, values: Any, *, single: bool = False) -> Any:
        expected = () if single else self.values.shape
        found = _real_numbers(values)
        if found is None or found.shape not in ((), expected) or not are_contributions(found):
            size = "a finite number" if single else f"finite numbers of shape {expected}, or one number"
            size += f", of at most {MOST:g} in size"
            raise ParameterError(
                argument=f"contributions of the term {shown(self.name)}",
                rule=f"must be {size}",
                remedy="Start from shape_functions_[name].values.",
            )
        return found


def are_contributions(values: Any) -> bool:
    """Whether all numbers are finite and at most `MOST` in size, so that sums of contributions are finite."""
    return bool((np.abs(values) <= MOST).all())  # False for NaN


def _real_numbers(values: Any) -> Floats | None:
    """Return real numbers as an array of doubles; None for Booleans, text and anything else."""
    try:
        found = np.asarray(values, dtype=object)
        if not all(isinstance(one, Real) and not isinstance(one, bool | np.bool_) for one in found.ravel()):
            return None
        return found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Edit:
    """Change of one shape after the release.

    Attributes
    ----------
    term
        Name of the term.
    kind
        "edited", "increasing" or "decreasing".
    points
        Contributions at all points after the edit, flat; None if a later edit of the term replaced them.
    """

    term: str
    kind: str
    points: tuple[float, ...] | None

    def as_data(self) -> dict[str, object]:
        """Return the edit as plain data, for a model file."""
        return {"term": self.term, "kind": self.kind, "points": None if self.points is None else list(self.points)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Edit":
        """Return the edit stored by `as_data`.

        Raises
        ------
        ValueError
            If the data are not those of an edit.
        """
        if data.keys() != {"term", "kind", "points"} or data["kind"] not in (EDITED, *DIRECTIONS.values()):
            raise ValueError("there is an unknown edit")
        points = None if data["points"] is None else tuple(map(float, data["points"]))
        limit = MOST if data["kind"] == EDITED else np.finfo(np.float64).max
        if not isinstance(data["term"], str) or not (np.abs(points or ()) <= limit).all():
            raise ValueError("an edit is damaged")
        return cls(data["term"], data["kind"], points)

    def restored(self, shape: ShapeFunction) -> ShapeFunction:
        """Return the shape after a stored edit.

        Raises
        ------
        ValueError
            If the contributions do not fit the shape, or a monotone edit is not monotone.
        """
        found = shape if self.points is None else shape.with_points(self.points)
        sign = {kind: sign for sign, kind in DIRECTIONS.items()}.get(self.kind)
        if sign is not None:
            if len(found.axes) > 1 or not found.axes[0].is_number:
                raise ValueError("a monotone edit needs a term of a single number")
            if self.points is not None and (sign * np.diff(found.values) < 0).any():
                raise ValueError("an edit is not monotone as its kind states")
        return found

    def describe(self) -> str:
        """Return the edit as a phrase, such as "age (made increasing)"."""
        return f"{self.term} ({self.kind if self.kind == EDITED else f'made {self.kind}'})"


def edited_shape(shape: ShapeFunction, change: Any) -> ShapeFunction:
    """Return a shape after an edit.

    Parameters
    ----------
    shape
        ShapeFunction before the edit.
    change
        A shape on the same points, values on the grid, one number, or a function of the shape that returns one of
        these.

    Raises
    ------
    ParameterError
        If the new contributions do not fit the shape.
    """
    found = change(shape) if callable(change) else change
    if found is None:
        rule = f"must have new contributions of the term {shown(shape.name)}"
        raise ParameterError(argument="changes", rule=rule, got="None", remedy="Leave out a term that stays.")
    if not isinstance(found, ShapeFunction):
        found = shape.replaced(found)
    if found.name != shape.name or found.points.shape != shape.points.shape or not are_contributions(found.points):
        rule = f"must be a shape of the term {shown(shape.name)} with finite contributions of at most {MOST:g} in size"
        raise ParameterError(argument="changes", rule=rule, remedy="Start from shape_functions_[name].replaced(...).")
    return replace(shape, points=found.points)


def checked_directions(argument: str, given: object, names: Mapping[str, bool]) -> dict[str, int]:
    """Return the directions of monotone terms.

    Parameters
    ----------
    argument
        Name of the argument, for messages.
    given
        Mapping of names of terms to 1 (increasing) or -1 (decreasing); None for none.
    names
        Whether a term is a single number, by name.

    Raises
    ------
    ParameterError
        If a name is unknown or no number, or a direction is neither 1 nor -1.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        rule = "must be a mapping of names of terms to 1 or -1"
        raise ParameterError(argument=argument, rule=rule, got=shown(given), remedy='For example {"age": 1}.')
    for name, direction in given.items():
        if not names.get(name, False):
            problem = "must name terms of single numbers: only they have an order"
            listed = ", ".join(name for name, is_number in names.items() if is_number) or "none"
            remedy = f"The model has these: {listed}."
            raise ParameterError(argument=argument, rule=problem, got=shown(name), remedy=remedy)
        if isinstance(direction, bool) or direction not in (1, -1):
            rule = "must be 1 (increasing) or -1 (decreasing)"
            raise ParameterError(argument=f"{argument}[{shown(name)}]", rule=rule, got=shown(direction))
    return {name: int(direction) for name, direction in given.items()}


@dataclass(frozen=True, eq=False)
class AdditiveExplanation:
    """Explanation of a model or of its predictions, with the keys of explainable boosting machines.

    Attributes
    ----------
    kind
        "global" or "local".
    overall
        Data for all terms, or for all records.
    specific
        Data of single terms, or of single records.
    """

    kind: str
    overall: Mapping[str, Any]
    specific: Sequence[Mapping[str, Any]]

    def data(self, key: int | None = None) -> dict[str, Any]:
        """Return the overall data for None, otherwise the data of the term or record with this number.

        Parameters
        ----------
        key
            Number of a term (global) or of a record (local), from 0.

        Returns
        -------
        dict
            Copy with ``type``, ``names`` and ``scores``; for local explanations also ``extra``, the intercept.
        """
        if key is None:
            return deepcopy(dict(self.overall))
        if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < len(self.specific):
            rule = f"must be None or a whole number from 0 to {len(self.specific) - 1}"
            raise ParameterError(argument="key", rule=rule, got=shown(key))
        return deepcopy(dict(self.specific[key]))


def global_explanation(shapes: Mapping[str, ShapeFunction]) -> AdditiveExplanation:
    """Return the ranges of all terms, and the contributions of each term on its points."""
    overall = {
        "type": "univariate",
        "names": list(shapes),
        "scores": [shape.range for shape in shapes.values()],
    }
    return AdditiveExplanation("global", overall, [_term_data(shape) for shape in shapes.values()])


def local_explanation(names: Sequence[str], contributions: Floats, intercept: float) -> AdditiveExplanation:
    """Return the contributions of the terms to each score."""
    extra = {"names": ["Intercept"], "scores": [intercept], "values": [1]}
    overall = {"type": "univariate", "names": list(names), "scores": contributions, "extra": extra}
    rows = [{"type": "univariate", "names": list(names), "scores": row, "extra": extra} for row in contributions]
    return AdditiveExplanation("local", overall, rows)


def _term_data(shape: ShapeFunction) -> dict[str, Any]:
    if len(shape.axes) == 1:
        return {"type": "univariate", "names": list(shape.axes[0].labels), "scores": shape.points}
    first, second = shape.axes
    return {
        "type": "interaction",
        "left_names": list(first.labels),
        "right_names": list(second.labels),
        "scores": shape.points,
    }
