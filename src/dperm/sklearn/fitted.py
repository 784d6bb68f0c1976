# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a fit leaves: coefficients of the bounded space, and the public facts about them."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.space import FeatureSpace
from dperm.data.targets import Kind
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, NotPrivateWarning
from dperm.presentation.spelling import arg
from dperm.privacy import PrivacyProfile, Record, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.report import Statement, seeded, statement, unprotected
from dperm.sklearn.header import HeaderBudget, header_digest, plain_parameters
from dperm.sklearn.parameters import clip_unit
from dperm.sklearn.public_labels import PublicLabels
from dperm.sklearn.reader import Reader
from dperm.sklearn.units import Units

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.methods.plan import Plan

MOST_ROWS = 2**31
TOLERANCE = 1e-9
"""Distance from the minimiser that is asked for without noise, if rounding allows."""


@dataclass(frozen=True)
class Fitted:
    """The result of a fit, or of a file; ``record`` is None if there was no noise.

    Attributes
    ----------
    coef, intercept
        The released coefficients, in the user's units: a row, and a number, for each score of a record.
    units
        How they follow from those of the bounded space.
    classes
        The classes; None for a regression.
    public
        Everything public about the fit, as plain data; the same as in the record.
    profile
        The whole curve; None where nothing is promised: without noise, and with a seed.
    plan
        What was planned; None without noise, and for a model from a file.
    released
        The coefficients of the bounded space as they left the run: the digest in a ledger is theirs. None without
        noise, and for files before version 0.5.
    """

    coef: Floats
    intercept: Floats
    units: Units
    classes: NDArray[Any] | None
    public: Mapping[str, object]
    record: Record | None = None
    profile: PrivacyProfile | None = None
    plan: "Plan | None" = None
    released: Floats | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together: what comes from a file may not."""
        scores, columns = self.coef.shape  # raises if there are not two dimensions
        classes = np.empty(0) if self.classes is None else self.classes
        expected = len(classes) if len(classes) > 2 else 1
        lengths = (0, columns, columns + 1)
        if self.intercept.shape != (scores,) or self.units.scales.shape != (columns,) or not columns:
            raise ValueError("arrays do not fit")
        if classes.ndim != 1 or len(set(classes.tolist())) < len(classes) or len(classes) == 1 or scores != expected:
            raise ValueError("classes do not fit")
        if self.units.combination.ndim != 1 or len(self.units.combination) not in lengths:
            raise ValueError("units do not fit")

    @property
    def guarantee(self) -> AnyGuarantee | None:
        """What is promised; None without noise, and with a seed."""
        return None if self.record is None or self.record.seeded else self.record.guarantee

    @cached_property
    def statement(self) -> Statement:
        """Every field of a report, as data; worked out when it is first asked for, which takes a moment."""
        if self.record is None:
            return unprotected(self.public)
        if self.profile is None:
            return seeded(self.record)
        event = self.record.event
        return statement(Release(self.coef, self.record.guarantee, self.profile, event, self.record))


def profile_of(record: Record) -> PrivacyProfile | None:
    """The whole curve of a stored record, from its event; None if it was seeded."""
    from dperm.accounting import account, event_from_json

    if record.seeded:
        return None
    return account(event_from_json(record.to_json()), record.adjacency)


def fit_private(
    plan: "Plan",
    reader: Reader,
    *,
    name: str,
    parameters: Mapping[str, Any],
    budget: "Budget | None",
    seed: int | None,
) -> Fitted:
    """Run ``plan`` on the data that ``reader`` reads; ``parameters`` are the arguments of the estimator."""
    public = {**plan.facts.public, **_public(name, plan.spec, reader), "why": list(plan.why)}
    public["assumptions"] = _assumptions(plan, reader)
    if budget is not None:
        budget = HeaderBudget(budget, header_digest(name, plain_parameters(parameters, plan.method), public))
    if seed is None:
        release = plan.run(lambda: reader.read(plan.most_rows), budget)
    else:
        _warn_seeded()
        release = _run_seeded(plan, reader, budget, seed)
    record = replace(release.record, public=public)
    profile = None if record.seeded else release.profile
    return Fitted(*_learnt(release.value, reader), record.public, record, profile, plan, release.value)


def fit_without_noise(spec: ProblemSpec, reader: Reader, *, name: str) -> Fitted:
    """The minimiser itself, for comparison: epsilon = inf. Unless they were given, C is 1 and nothing is clipped."""
    from dperm.erm.minimize import minimize
    from dperm.erm.rounding import attainable

    if not math.isfinite(spec.loss.curvature):
        raise AssumptionError(
            f"the loss {spec.loss.name!r} has a kink, and no minimiser is certified there. With epsilon=inf use "
            f"{_without_kink(spec)}."
        )
    _require_convex(spec)
    warnings.warn(
        f"this fit is NOT PRIVATE: {arg('epsilon', 'inf')} adds no noise, and there is no guarantee.",
        NotPrivateWarning,
        stacklevel=3,
    )
    given = spec if spec.regularization is not None else spec.with_regularization(1.0)
    data = reader.read(MOST_ROWS)
    solved = _unclipped(given, data.rows) if math.isinf(spec.loss.slope) and spec.clip is None else given
    theta = minimize(data, solved, max(attainable(solved, data.rows), TOLERANCE * solved.strength))
    facts = {"method": "none", "loss": spec.loss.name, "regularization": solved.strength, "clip": spec.clip}
    return Fitted(*_learnt(theta, reader), {**_public(name, given, reader), **facts})


def _without_kink(spec: ProblemSpec) -> str:
    if spec.loss.labels is Kind.SIGN:
        return 'the smooth loss="huber_hinge": the smaller its width, the closer it is'
    return "QuantileRegressor of scikit-learn: its minimiser is what this one would be compared with"


def _require_convex(spec: ProblemSpec) -> None:
    """Refuse clipped gradients of several scores: they belong to no convex function (T44 is about one)."""
    if spec.outputs > 1 and spec.is_clipped:
        raise AssumptionError(
            "clip must be left out for more than two classes with epsilon=inf: clipped gradients of the softmax loss "
            "belong to no convex function, so there is no minimiser to find (T44 is about one score)."
        )


def _unclipped(spec: ProblemSpec, rows: int) -> ProblemSpec:
    """The problem of the squared loss with a clip that no record reaches.

    Where J(theta) <= J(0), ||theta|| <= l (`dperm.erm.rounding.longest`), and residuals are at most R l + 1. So the
    minimiser of the squared loss has no clipped gradient, and is the minimiser of this problem too.
    """
    from dperm.erm.rounding import longest

    return spec.clipped(1.01 * spec.radius * (spec.radius * longest(spec, rows) + 1))


def _learnt(theta: Floats, reader: Reader) -> tuple[Floats, Floats, Units, NDArray[Any] | None]:
    """Coefficients and intercepts in the user's units, their units, and the classes."""
    coef, intercept = in_units(theta, reader.space, reader.labels)
    return coef, intercept, Units.of(reader.space, reader.labels.scale), reader.labels.classes


def in_units(theta: Floats, space: FeatureSpace, labels: PublicLabels) -> tuple[Floats, Floats]:
    """Coefficients and intercepts in the user's units: post-processing (T3)."""
    rows = [space.coefficients(row) for row in theta.reshape(labels.target.outputs, space.size)]
    coef = labels.scale * np.array([weights for weights, _ in rows])
    return coef, labels.scale * np.array([offset for _, offset in rows]) + labels.offset


def _run_seeded(plan: "Plan", reader: Reader, budget: "Budget | None", seed: int) -> Release[Floats]:
    """Run without the run's own warning, which names no argument of an estimator."""
    from dperm.noise import NotPrivateBits

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return plan.run(lambda: reader.read(plan.most_rows), budget, bits=NotPrivateBits(seed))


def _warn_seeded() -> None:
    warnings.warn(
        f"this fit is NOT PRIVATE: its noise follows from {arg('random_state')}, and whoever knows the seed can "
        f"subtract it. Leave out {arg('random_state')} for anything real.",
        NotPrivateWarning,
        stacklevel=4,  # the line that called fit
    )


def _public(name: str, spec: ProblemSpec, reader: Reader) -> dict[str, object]:
    """The public facts that the front end knows."""
    space = reader.space
    return {
        "estimator": name,
        "n_features": space.dim,
        "columns": None if reader.names is None else list(reader.names),
        **space_facts(space),
        **reader.labels.facts,
        "invalid": reader.invalid,
        "n": spec.n,
        "clip_share": _clip_share(spec),
        **({"fitted_transformers": list(reader.fitted_transformers)} if reader.fitted_transformers else {}),
    }


def space_facts(space: FeatureSpace) -> dict[str, object]:
    """The geometry of the features as plain data."""
    return {
        "feature_norm": space.norm,
        "bounds": None if space.bounds is None else [list(pair) for pair in space.bounds],
        "intercept": space.intercept,
    }


def _clip_share(spec: ProblemSpec) -> float | None:
    """``clip`` as an estimator has it; 1.0 where nothing is clipped, None if that is no share of anything."""
    if spec.clip is None:
        return 1.0 if math.isfinite(spec.loss.slope) else None
    return min(1.0, spec.clip / (spec.radius * clip_unit(spec.loss)))


def _assumptions(plan: "Plan", reader: Reader) -> list[str]:
    """What the guarantee takes as public, in words."""
    declared = "n, as it was declared; it was not compared with the data" if plan.facts.public.get("n") else ""
    rows = "n, the number of rows of X" if plan.adjacency.value == "replace_one" else declared
    every = (
        rows,
        "the number, names and types of the columns of X",
        "the bounds of the features, which were enforced",
        reader.labels.assumption,
        "all parameters of the estimator, which must not have been chosen by looking at the data",
    )
    return [text for text in every if text]
