# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a fit leaves: coefficients of the bounded space, and the public facts about them."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, NotPrivateWarning
from dperm.privacy import PrivacyProfile, Record, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.report import Statement, statement, unprotected
from dperm.sklearn.classes import ASSUMED
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
        The released coefficients, in the user's units.
    units
        How they follow from those of the bounded space.
    classes
        The two classes.
    public
        Everything public about the fit, as plain data; the same as in the record.
    profile
        The whole curve; None without noise.
    plan
        What was planned; None without noise, and for a model from a file.
    """

    coef: Floats
    intercept: float
    units: Units
    classes: NDArray[Any]
    public: Mapping[str, object]
    record: Record | None = None
    profile: PrivacyProfile | None = None
    plan: "Plan | None" = None

    @property
    def guarantee(self) -> AnyGuarantee | None:
        """What is promised; None without noise."""
        return None if self.record is None else self.record.guarantee

    @cached_property
    def statement(self) -> Statement:
        """Every field of a report, as data; worked out when it is first asked for, which takes a moment."""
        if self.record is None or self.profile is None:
            return unprotected(self.public)
        event = self.record.event
        return statement(Release(self.coef, self.record.guarantee, self.profile, event, self.record))


def profile_of(record: Record) -> PrivacyProfile:
    """The whole curve of a stored record, from its event."""
    from dperm.accounting import account, event_from_json

    return account(event_from_json(record.to_json()), record.adjacency)


def fit_private(plan: "Plan", reader: Reader, *, name: str, budget: "Budget | None", seed: int | None) -> Fitted:
    """Run ``plan`` on what ``reader`` reads."""
    from dperm.noise import NotPrivateBits

    bits = None if seed is None else NotPrivateBits(seed)
    release = plan.run(lambda: reader.read(plan.most_rows), budget, bits=bits)
    public = {**release.record.public, **_public(name, plan.spec, reader), "why": list(plan.why)}
    public["assumptions"] = _assumptions(release.record, reader)
    record = replace(release.record, public=public)
    learnt = reader.space.coefficients(release.value)
    units = Units.of(reader.space)
    return Fitted(*learnt, units, reader.known_classes, record.public, record, release.profile, plan)


def fit_without_noise(spec: ProblemSpec, reader: Reader, *, name: str) -> Fitted:
    """The minimiser itself, for comparison: epsilon = inf. C is 1 unless it was given, and nothing is clipped."""
    from dperm.erm.minimize import minimize
    from dperm.erm.rounding import attainable

    if not math.isfinite(spec.loss.curvature):
        raise AssumptionError(
            f'loss="{spec.loss.name}" has a kink, and no minimiser is certified there. Use loss="huber_hinge" with '
            f"epsilon=inf; the smaller its width, the closer it is."
        )
    warnings.warn(
        "this fit is NOT PRIVATE: epsilon=inf adds no noise, and there is no guarantee.",
        NotPrivateWarning,
        stacklevel=3,
    )
    solved = spec if spec.regularization is not None else spec.with_regularization(1.0)
    data = reader.read(MOST_ROWS)
    theta = minimize(data, solved, max(attainable(solved, data.rows), TOLERANCE * solved.strength))
    facts = {"method": "none", "loss": spec.loss.name, "regularization": solved.strength}
    public = {**_public(name, solved, reader), **facts}
    return Fitted(*reader.space.coefficients(theta), Units.of(reader.space), reader.known_classes, public)


def _public(name: str, spec: ProblemSpec, reader: Reader) -> dict[str, object]:
    """The public facts that the front end knows."""
    space = reader.space
    return {
        "estimator": name,
        "n_features": space.dim,
        "columns": None if reader.names is None else list(reader.names),
        "feature_norm": space.norm,
        "bounds": None if space.bounds is None else [list(pair) for pair in space.bounds],
        "intercept": space.intercept,
        "classes": reader.known_classes.tolist(),
        "class_weight": list(reader.weights),
        "invalid": reader.invalid,
        "n": spec.n,
    }


def _assumptions(record: Record, reader: Reader) -> list[str]:
    """What the guarantee takes as public, in words."""
    declared = "n, as it was declared; it was not compared with the data" if record.public.get("n") else ""
    rows = "n, the number of rows of X" if record.adjacency.value == "replace_one" else declared
    classes = "the two classes, as they were declared" if reader.declared else ASSUMED
    every = (
        rows,
        "the number, names and types of the columns of X",
        "the bounds of the features, which were enforced",
        classes,
        "all parameters of the estimator, which must not have been chosen by looking at the data",
    )
    return [text for text in every if text]
