# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Request of ``dperm search``: the fit of ``dperm fit`` with several settings, as one release."""

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from dperm.cli.fit_request import STAND_IN, FitRequest, model_entry
from dperm.cli.running import spinner
from dperm.errors import AssumptionError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.cli.charging import Account, ContentCheck
    from dperm.cli.prepared_fit import PreparedFitRequest
    from dperm.data.schema import Schema
    from dperm.pipeline import SearchPlan
    from dperm.sklearn import PrivateSearch

SIZE = 2**12
"""Bytes reserved for each setting in a model file."""


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A search over settings of a fit.

    Attributes
    ----------
    fit
        Request of the fit, with the guarantee of the whole search.
    settings
        Values by parameter.
    validation
        Share of the records on which models are scored.
    """

    noun: ClassVar[str] = "model"
    output: ClassVar[str] = "--out"
    fit: "FitRequest | PreparedFitRequest"
    settings: Mapping[str, Sequence[Any]]
    validation: float

    @property
    def epsilon(self) -> float:
        """Privacy-loss bound of the search."""
        return self.fit.epsilon

    @property
    def delta(self) -> float:
        """Delta of the guarantee."""
        return self.fit.delta

    @property
    def seed(self) -> int | None:
        """Seed of a search that is NOT PRIVATE; None for secure randomness."""
        return self.fit.seed

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data."""
        return self.fit.is_planned

    @cached_property
    def search(self) -> "PrivateSearch":
        """The unfitted search, always the same object: the fit runs its plan, checked before."""
        from dperm.sklearn.search import PrivateSearch, without_privacy

        return PrivateSearch(
            without_privacy(self.fit.model),
            self.settings,
            epsilon=self.fit.epsilon,
            delta=self.fit.delta,
            adjacency=self.fit.adjacency,
            validation=self.validation,
            n=self.fit.n,
            random_state=self.fit.seed,
        )

    @property
    def _public_facts(self) -> dict[str, Any]:
        if isinstance(self.fit, FitRequest):
            return {"dim": self.fit.features}
        return {"columns": self.fit.columns.features, "target": self.fit.columns.target}

    def plan(self) -> "SearchPlan | None":
        """Return the plan; None if it needs the number of records. The settings are checked in either case."""
        n = self.fit.n if self.is_planned else STAND_IN
        with warnings.catch_warnings(action="ignore"), suppress(AssumptionError):  # may hold for the true number
            self.search.check_settings(n, **self._public_facts)
        if not self.is_planned:
            return None
        with spinner("Planning ..."):
            return self.search.plan(self.fit.n, **self._public_facts)

    @property
    def options(self) -> Mapping[str, object]:
        """Options by name, to which a request id is bound."""
        settings = [f"{name}={','.join(map(str, values))}" for name, values in self.settings.items()]
        return {**self.fit.options, "search": True, "setting": settings, "validation": self.validation}

    @property
    def largest_size(self) -> int:
        """Bytes to reserve for the model file, from public numbers."""
        count = 1
        for values in self.settings.values():
            count *= len(values)
        return self.fit.largest_size + SIZE * (1 + count)

    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> "FoundModel":
        """Read the data, charge the budget, and return the best model."""
        search = self.search.set_params(ledger=budget)
        if isinstance(self.fit, FitRequest):
            features, labels = self.fit.read(files[0], content)
            with spinner("Searching ..."):  # without counts: the number of trials is secret
                search.fit(features, labels)
            return FoundModel(search, search.best_estimator_, self.fit.schema)
        table = self.fit.columns.read(files[0], content, "other" if self.fit.invalid == "drop" else "raise")
        with spinner("Searching ..."):
            search.fit(table, target=self.fit.columns.target)
        return FoundModel(search, search.best_estimator_.model_, search.best_estimator_.schema_)

    def stored_entry(self, path: Path) -> tuple[object, object]:
        """Return request id and digest of the ledger entry in a model file; None without one."""
        return model_entry(path)


@dataclass(frozen=True)
class FoundModel:
    """Best model of a search with its schema."""

    search: "PrivateSearch"
    estimator: Any
    schema: "Schema"

    @property
    def failure(self) -> None:
        """Error that ended the run after a release; a search has none."""

    def save(self, path: Path, *, overwrite: bool, allocated: Path | None = None) -> None:
        """Write the model to a file."""
        from dperm.sklearn.files import save

        save(self.estimator, path, schema=self.schema, overwrite=overwrite, allocated=allocated)

    def show(self, out: Path, account: "Account | None", *, as_json: bool) -> None:
        """Print setting, score, guarantee and charge, and nothing about other trials."""
        from dperm.cli.fit_report import charge_data, format_budget, format_guarantee, protection_data, weak_protection
        from dperm.cli.option_names import describe_reason
        from dperm.cli.output import below, print_facts, print_json
        from dperm.privacy.guarantee import guarantee_as_dict

        search, plan = self.search, self.search.plan_
        record: Any = search.record_
        promised: Any = search.guarantee_
        if as_json:
            print_json(
                {
                    "file": str(out),
                    "estimator": type(self.estimator).__name__,
                    "setting": record.public["search"]["setting"],
                    "score": search.best_score_,
                    "settings": len(plan.settings),
                    "mean_trials": plan.trials,
                    "trial_epsilon": plan.trial_epsilon,
                    "why": [str(reason) for reason in plan.why],
                    "private": promised is not None,
                    "guarantee": None if promised is None else guarantee_as_dict(promised),
                    "protection": protection_data(search.profile_),
                    "adjacency": plan.goal.adjacency.value,
                    "theorems": list(record.theorems),
                    "ledger": dict(record.ledger),
                    **charge_data(account),
                }
            )
            return
        typer.echo(f"Written: {out}")
        chosen = ", ".join(f"{name} = {value}" for name, value in search.best_params_.items())
        print_facts(
            [
                ("estimator", type(self.estimator).__name__),
                ("setting", chosen),
                (
                    "score",
                    f"{search.best_score_:.4g}, with noise; biased upwards, because it is the best of several scores",
                ),
                ("why", below(map(describe_reason, plan.why))),
                ("guarantee", "none: the model is NOT PRIVATE" if promised is None else format_guarantee(promised)),
                *weak_protection(search.profile_),
                *format_budget(account, dict(record.ledger)),
            ]
        )


def checked_values(given: Sequence[str] | None) -> dict[str, list[Any]]:
    """Return the values by parameter from texts such as ``clip=0.5,1.0``.

    Raises
    ------
    ParameterError
        If a text has another form, or names a parameter twice.
    """
    found: dict[str, list[Any]] = {}
    for text in given or ():
        name, sign, values = text.partition("=")
        parameter = name.strip().replace("-", "_")
        if not sign or not parameter or not all(value.strip() for value in values.split(",")):
            raise ParameterError(f"--setting must be NAME=VALUE,VALUE, such as clip=0.5,1.0, got {text!r}.")
        if parameter in found:
            raise ParameterError(f"--setting names {parameter!r} twice. Give all values of a parameter together.")
        found[parameter] = [_value(value.strip()) for value in values.split(",")]
    if not found:
        raise ParameterError("--setting is missing: the values to try, such as --setting clip=0.5,1.0.")
    return found


def _value(text: str) -> Any:
    """Return a number, true, false or null as JSON reads it; other text as it is."""
    if text.lower() in ("none", "null"):
        return None
    try:
        found = json.loads(text.lower())
    except ValueError:
        return text
    return found if isinstance(found, bool | int | float) else text
