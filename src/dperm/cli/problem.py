# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From the options of a command line and a schema to an estimator, all of it public."""

import math
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.cli.model_options import ESTIMATORS
from dperm.errors import AssumptionError, LeakError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.data.schema import Schema, TargetSchema
    from dperm.methods.plan import Plan

_STAND_IN = 10_000  # records: to find a wrong option before the data are read


@dataclass(frozen=True)
class Problem:
    """What is learnt and what is to be promised.

    Attributes
    ----------
    seed
        Makes the fit reproducible and NOT PRIVATE; None for real randomness.
    """

    schema: "Schema"
    epsilon: float
    delta: float
    adjacency: str
    method: str
    estimator: str | None
    C: float | None
    clip: float | None
    n: int | None
    quantile: float | None
    seed: int | None = None

    @property
    def target(self) -> "TargetSchema":
        """The declared target."""
        if self.schema.target is None:
            raise _undeclared_target()
        return self.schema.target

    def made(self, budget: "Budget | None" = None) -> Any:
        """The estimator, unfitted."""
        kind = self._kind()
        given = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "method": self.method,
            "feature_norm": self.schema.encoder.norm,
            "C": self.C,
            "clip": self.clip,
            "n": self.n,
            "ledger": budget,
            "random_state": self.seed,
        }
        if self.quantile is not None:
            given["quantile"] = self.quantile
        labels = {"label_range": self.target.range} if self.target.classes is None else {"classes": self.target.classes}
        return kind(**given, **labels)

    def plan(self) -> "Plan | None":
        """What a fit would do; None if that takes the number of records, which is not known yet.

        Then the options are tried on a number that stands in for it: whatever is wrong with them is found before the
        data are read.
        """
        if self.is_planned:
            found: Plan = self.made().plan(self.n, self.features)
            return found
        finite = 1.0 if self.epsilon == math.inf else self.epsilon
        with warnings.catch_warnings(action="ignore"), suppress(AssumptionError):  # may hold for the true number
            self.made().set_params(n=_STAND_IN, epsilon=finite).plan(_STAND_IN, self.features)
        return None

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.schema.encoder.feature_names)

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data: nothing is planned without noise."""
        return math.isfinite(self.epsilon) and (self.n is not None or self.adjacency == "add_remove")

    def _kind(self) -> Any:
        from dperm import sklearn

        classifiers = {"logistic": sklearn.PrivateLogisticRegression, "svc": sklearn.PrivateLinearSVC}
        regressors = {
            "linear": sklearn.PrivateLinearRegression,
            "huber": sklearn.PrivateHuberRegressor,
            "quantile": sklearn.PrivateQuantileRegressor,
        }
        labelled = self.target.classes is not None
        name = self.estimator or ("logistic" if labelled else "linear")
        if name not in classifiers | regressors:
            raise ParameterError(f"--estimator must be one of {ESTIMATORS.replace('|', ', ')}, got {name!r}.")
        if (name in classifiers) is not labelled:
            found, needed = ("classes", "a range") if labelled else ("a range", "classes")
            raise ParameterError(
                f"--estimator {name} needs a target with {needed}, and the schema declares {found} for "
                f"{self.target.name!r}. Change one of the two."
            )
        if self.quantile is not None and name != "quantile":
            raise ParameterError("--quantile belongs to --estimator quantile.")
        return (classifiers | regressors)[name]


def read_schema(path: Path | None, target: str | None, data: Path | None) -> "Schema":
    """The schema in a file, with the target that is asked for; refusals show how a draft is made."""
    from dperm.data.schema import PLACEHOLDER, Schema

    try:
        if path is None:
            raise LeakError(
                "--schema is missing: the bounds of the columns, their categories and the classes of the target would "
                "have to be taken from the data, and would show something about them before any noise is drawn."
            )
        schema = Schema.load(path)
        if schema.target is None:
            raise _undeclared_target()
    except LeakError as error:
        if path is None:
            error.add_note(_draft_command(data, target, "schema.toml"))
        elif PLACEHOLDER not in path.read_text(encoding="utf-8"):  # a draft needs no other one
            error.add_note(_draft_command(data, target, f"{path.stem}-draft.toml"))
        raise
    if target is not None and target != schema.target.name:
        raise ParameterError(
            f"--target is {target!r}, and {path} declares the target {schema.target.name!r}. Change one of the two."
        )
    return schema


def checked_privacy(epsilon: float | None, seed: int | None, *, not_private: bool) -> float:
    """The epsilon, if the request says so itself where nothing would be promised."""
    if epsilon is None:
        raise ParameterError("--epsilon is missing: how much a record may show, such as --epsilon 1.")
    without = "--epsilon inf adds no noise" if epsilon == math.inf else "" if seed is None else "--seed fixes the noise"
    if without and not not_private:
        raise LeakError(
            f"{without}, so the model would not be private, and nothing would be promised. Leave it out, or say "
            f"--not-private if the data may be shown."
        )
    return epsilon


def _undeclared_target() -> LeakError:
    return LeakError(
        'the schema declares no target, as in [target] name = "income" classes = ["<=50K", ">50K"]: its classes or its '
        "range would have to be taken from the data, and would show something about them."
    )


def _draft_command(data: Path | None, target: str | None, out: str) -> str:
    """The command that drafts a schema; ``out`` is never a file that the user has written."""
    from shlex import quote

    asked = f" --target {quote(target)}" if target else ""
    return (
        "A draft to fill in, made from the names of the columns alone:\n"
        f"  dperm schema draft {quote(str(data or 'data.csv'))}{asked} -o {quote(out)}"
    )
