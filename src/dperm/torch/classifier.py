# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scikit-learn classifier around a PyTorch module, trained by DP-SGD (T46)."""

import copy
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self, final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softmax
from torch.optim import Optimizer

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.bounded import invalid_rows
from dperm.data.pipeline_steps import checked_steps
from dperm.data.score_sources import checked_score_source
from dperm.data.targets import Classes
from dperm.errors import DataError, NotPrivateWarning, ParameterError
from dperm.noise import NotPrivateBits
from dperm.privacy import Adjacency, Release
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement, statement, write_statement
from dperm.report.estimator_display import EstimatorDisplay
from dperm.report.run_facts import SCORES, TRANSFORMERS
from dperm.torch import public_classes
from dperm.torch.fit import required_count, train
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.plan import DPSGD, PHYSICAL, DPSGDPlan
from dperm.torch.quantile import QuantileClipping
from dperm.torch.single_process import check_single_process
from dperm.torch.tables import Features, features_of, labels_of

Module = nn.Module | Callable[[int, int], nn.Module]
SEED = "It makes the fit reproducible and NOT PRIVATE. Leave it out for anything real."

IGNORED = -100
"""Label without loss and gradient in ``cross_entropy``."""


@final
class PrivateTorchClassifier(EstimatorDisplay, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Classifier around a PyTorch module with one output per class, trained by DP-SGD on the cross-entropy.

    Arguments are stored unchanged. ``fit`` checks them.

    Parameters
    ----------
    module
        PyTorch module, or a function from (number of features, number of classes) to a new module. If a module is
        given, each fit trains a copy of it. The architecture and the initial values are treated as public.
    epsilon, delta
        Privacy-loss bounds of a fit, with delta > 0.
    adjacency
        Adjacency relation: "replace_one" if the number of records is public, or "add_remove" if it is private.
    classes
        Public labels, two or more. None uses the labels found in y (at most 100) and treats them as public.
    n
        Public number of records. Under add_remove, it is required, and may be approximate. Under replace_one, it may be
        omitted; otherwise it must equal the number of rows.
    batch_size, epochs, clip_norm, clipping, optimizer, learning_rate, grade, physical_batch_size
        See `dperm.torch.fit`; ``optimizer`` is a function from parameters to an optimizer, or None.
    ledger
        Budget to charge for each fit; None charges nothing.
    invalid
        Rule for rows with NaN, infinities or undeclared labels. "raise" refuses the data. With "drop", such rows
        contribute nothing, and the guarantee covers this.
    fitted_transformers
        Rule for pipelines with a transformer that learns from the data, such as StandardScaler. "refuse" raises an
        error. "not_covered" fits the model, and the statement says that the guarantee does not cover the preparation.
    allow_unprotected_scores
        Whether scikit-learn may evaluate the model on the private data, as `GridSearchCV` and `cross_val_score` do. If
        True, every model is fitted and charged, and the statement says that the scores are not covered.
    random_state
        Seed that makes the fit reproducible and NOT PRIVATE; it also determines the initial values. None, the default,
        is required for a private fit.

    Attributes
    ----------
    module_
        Trained module, in evaluation mode.
    classes_
        Class labels, sorted.
    guarantee_
        Guarantee with its adjacency; None for a fit with ``random_state``, or with a preparation that is not covered.
    profile_
        Privacy profile, the function delta(epsilon); None if ``guarantee_`` is None.
    plan_
        Plan of the fit.
    release_
        Released module with its guarantee, profile, event and record.
    record_
        Release record of the fit.
    statement_
        Privacy statement of the fit: all fields of a privacy report, as data.
    n_features_in_, feature_names_in_
        Number and names of the features seen during ``fit``, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from dperm.torch import PrivateTorchClassifier
    >>> X = np.linspace(-2, 2, 300)[:, None]
    >>> model = PrivateTorchClassifier(nn.Linear, epsilon=2.0, delta=1e-5, classes=(0, 1), epochs=10)
    >>> model.fit(X, (X[:, 0] > 0).astype(int)).guarantee_.epsilon
    2.0
    """

    n_features_in_: Any
    feature_names_in_: Any

    def __init__(
        self,
        module: Module,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        adjacency: Adjacency | str = "replace_one",
        classes: Sequence[Any] | NDArray[Any] | None = None,
        n: int | None = None,
        batch_size: float | None = None,
        epochs: float | None = None,
        clip_norm: float = 1.0,
        clipping: Clipping | str | QuantileClipping = "flat",
        optimizer: Callable[..., Optimizer] | None = None,
        learning_rate: float | None = None,
        grade: str = "exact",
        physical_batch_size: int = PHYSICAL,
        ledger: Budget | None = None,
        invalid: str = "raise",
        fitted_transformers: str = "refuse",
        allow_unprotected_scores: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.module = module
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.classes = classes
        self.n = n
        self.batch_size = batch_size
        self.epochs = epochs
        self.clip_norm = clip_norm
        self.clipping = clipping
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.grade = grade
        self.physical_batch_size = physical_batch_size
        self.ledger = ledger
        self.invalid = invalid
        self.fitted_transformers = fitted_transformers
        self.allow_unprotected_scores = allow_unprotected_scores
        self.random_state = random_state

    def plan(self, n: int | None = None) -> DPSGDPlan:
        """Return the plan of ``fit``, computed from public numbers alone; after the fit, ``plan_`` holds the same plan.

        Parameters
        ----------
        n
            Number of rows of X under replace_one, where it is public. Under add_remove, this number is private, and
            ``fit`` uses only the ``n`` of the estimator. In that case, declare ``n`` in the constructor, and omit it
            here.

        Returns
        -------
        DPSGDPlan
            The plan.
        """
        return self._plan_for(planned_rows(Adjacency.of(self.adjacency), self.n, n))

    def fit(self, X: Any, y: Any) -> Self:
        """Train on private data; ``guarantee_`` covers the released module and everything computed from it.

        Parameters, data and the module are checked before the charge, so errors found by these checks cost nothing.

        Parameters
        ----------
        X
            One row of numbers for each record, as an array, or as a pandas, polars or Arrow table.
        y
            One label for each record.

        Returns
        -------
        self
            Fitted classifier.

        Raises
        ------
        LeakError
            If scikit-learn evaluates the model on the private data, although ``allow_unprotected_scores`` is False, or
            if a pipeline fitted a transformer to the private data, and ``fitted_transformers`` or a ledger forbids
            this. Nothing is charged.
        DataError
            If X or y is invalid, in which case nothing is charged, or if the training fails on the data.
        """
        drop, seed = invalid_rows(self.invalid) == "drop", self._seed()
        scored = checked_score_source(self.allow_unprotected_scores)
        steps = checked_steps(self.fitted_transformers, budget=self.ledger)
        features = features_of(X, finite=not drop, public=Adjacency.of(self.adjacency) is Adjacency.REPLACE_ONE)
        labels = labels_of(y, len(features))
        classes = (
            public_classes.found(labels, drop=drop) if self.classes is None else public_classes.declared(self.classes)
        )
        seen = type(self)(self.module)  # records the columns; this estimator changes only after success
        validate_data(seen, X, skip_check_array=True)
        targets = _targets(features, labels, Classes(tuple(classes.tolist())), drop=drop)
        plan = self._plan_for(public_rows(Adjacency.of(self.adjacency), self.n, len(features)))
        with _seeded(seed):
            module = self._made(features.shape[1], len(classes))
            release = self._trained(plan, module, (torch.from_numpy(features), torch.from_numpy(targets)), seed)
        self.plan_ = plan
        return self._keep(release, classes, seen, steps, scored)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of each row, in the order of ``classes_``.

        Parameters
        ----------
        X
            Rows to predict, as an array or a table.

        Returns
        -------
        ndarray
            Probabilities of shape (n_samples, n_classes).
        """
        check_is_fitted(self)
        features = features_of(X, finite=True, public=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        with torch.no_grad():
            parts = [self.module_(part) for part in torch.from_numpy(features).split(self.physical_batch_size)]
            return np.asarray(softmax(torch.cat(parts).double(), dim=1).numpy())

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X
            Rows to predict, as an array or a table.

        Returns
        -------
        ndarray
            One class per row.
        """
        places = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[places])

    @property
    def statement_(self) -> Statement:
        """Privacy statement of this fit: all fields of a privacy report, as data."""
        check_is_fitted(self)
        return statement(self.release_)

    def write_statement(
        self, path: str | os.PathLike[str], *, fields: Mapping[str, object] | None = None, overwrite: bool = False
    ) -> None:
        """Write the privacy statement to a file.

        Parameters
        ----------
        path
            Path of the file. Its suffix selects the format: an HTML page (.html), Markdown (.md) or JSON (.json).
        fields
            Values of fields that only the user can know, such as curator and intended_use; ``statement_.gaps`` lists
            the missing ones.
        overwrite
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If ``path`` has a different suffix, or exists and ``overwrite`` is False.
        """
        check_is_fitted(self)
        write_statement(path, self.release_, fields=fields, overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn that results differ between fits, and that scores may be poor."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.classifier_tags.poor_score = True
        return tags

    def _seed(self) -> int | None:
        return None if self.random_state is None else checks.count("random_state", self.random_state, SEED, least=0)

    def _made(self, features: int, classes: int) -> nn.Module:
        """Return a new module for this fit."""
        given: Any = self.module
        check_single_process(given, warn=False)  # the module made here is checked before its training
        made = (
            copy.deepcopy(given) if isinstance(given, nn.Module) else given(features, classes) if callable(given) else 0
        )
        if not isinstance(made, nn.Module):
            raise ParameterError(
                argument="module",
                rule="must be a torch module, or a function from (number of features, number of classes) to one",
                got=shown(given),
            )
        if _scores(made, features) != (2, classes):
            raise ParameterError(
                argument="module",
                rule=f"must return {classes} scores for a row of {features} features, one for each class: shape "
                f"(rows, {classes})",
            )
        return made

    def _plan_for(self, n: int | None) -> DPSGDPlan:
        method = DPSGD(
            self.clip_norm,
            self.batch_size,
            self.epochs,
            clipping=self.clipping,
            grade=self.grade,
            physical_batch_size=self.physical_batch_size,
        )
        return method.plan(required_count(n), self.epsilon, self.delta, self.adjacency)

    def _trained(
        self, plan: DPSGDPlan, module: nn.Module, data: tuple[Tensor, Tensor], seed: int | None
    ) -> Release[nn.Module]:
        if isinstance(self.optimizer, Optimizer):
            raise ParameterError(
                argument="optimizer",
                rule="must be a function from parameters to an optimizer: each fit needs a new one",
            )
        return train(
            plan,
            module,
            data,
            cross_entropy,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            ledger=self.ledger,
            progress=False,
            bits=None if seed is None else NotPrivateBits(seed),
        )

    def _keep(
        self, release: Release[nn.Module], classes: NDArray[Any], seen: Self, steps: list[str], scored: str
    ) -> Self:
        """Store the results of the fit, and delete column names of an earlier fit."""
        record = replace(
            release.record, public={**release.record.public, **self._public(classes, seen), **_uncovered(steps, scored)}
        )
        self.release_, self.record_ = replace(release, record=record), record
        is_private = not record.seeded and not steps
        self.guarantee_ = release.guarantee if is_private else None
        self.profile_ = release.profile if is_private else None
        self.module_, self.classes_, self.n_features_in_ = release.value.eval(), classes, seen.n_features_in_
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if hasattr(seen, "feature_names_in_"):
            self.feature_names_in_ = seen.feature_names_in_
        return self

    def _public(self, classes: NDArray[Any], seen: Self) -> dict[str, object]:
        names = getattr(seen, "feature_names_in_", None)
        known = public_classes.FOUND if self.classes is None else public_classes.DECLARED
        rows = (
            "n, the number of rows of X"
            if Adjacency.of(self.adjacency) is Adjacency.REPLACE_ONE
            else ("n, as it was declared; it was not compared with the data")
        )
        return {
            "estimator": type(self).__name__,
            "n_features": seen.n_features_in_,
            "columns": None if names is None else [str(name) for name in names],
            "classes": classes.tolist(),
            "invalid": self.invalid,
            "assumptions": [
                rows,
                "the number, names and types of the columns of X",
                known,
                "the architecture and the initial values of the module",
                "all parameters of the estimator, which must not have been chosen by looking at the data",
            ],
        }


def _uncovered(steps: list[str], scored: str) -> dict[str, object]:
    """Return the public facts about transformers and scores that the guarantee does not cover."""
    return {**({TRANSFORMERS: steps} if steps else {}), **({SCORES: scored} if scored else {})}


def _scores(module: nn.Module, features: int) -> tuple[int, ...] | None:
    """Shape of the output of a copy of the module for two rows of zeros; None if it fails."""
    try:
        with torch.no_grad():
            found = copy.deepcopy(module).eval()(torch.zeros(2, features))
    except Exception:  # a forward pass may raise anything
        return None
    return tuple(found.shape) if isinstance(found, Tensor) else None


def _targets(features: Features, labels: NDArray[Any], classes: Classes, *, drop: bool) -> NDArray[np.int64]:
    """Return the class indices of the labels; a dropped row gets features of 0 and the label `IGNORED`."""
    classes.require_kind(labels)
    codes = classes.read(labels)
    bad = ~classes.counts(codes)
    if bad.any() and not drop:
        raise DataError(f'{classes.rule}, or give invalid="drop".')
    bad |= ~np.isfinite(features).all(axis=1)
    features[bad] = 0.0
    return np.where(bad, IGNORED, codes).astype(np.int64)


def _seeded(seed: int | None) -> Any:
    """Return a block with a seeded generator of torch, for the initial values, and warn that it is NOT PRIVATE."""
    if seed is None:
        return nullcontext()
    warnings.warn(
        "this fit is NOT PRIVATE: its noise is determined by random_state, and anyone who knows the seed can subtract "
        "the noise. Leave out random_state for real releases.",
        NotPrivateWarning,
        stacklevel=3,  # the line that called fit
    )
    return _Seeded(seed)


class _Seeded:
    """Block with a seeded generator of torch and without further warnings of a run that is NOT PRIVATE."""

    def __init__(self, seed: int) -> None:
        self._seed, self._random, self._quiet = seed, torch.random.fork_rng([]), warnings.catch_warnings()

    def __enter__(self) -> None:
        self._random.__enter__()
        torch.default_generator.manual_seed(self._seed)
        self._quiet.__enter__()
        warnings.simplefilter("ignore", NotPrivateWarning)

    def __exit__(self, *error: Any) -> None:
        self._quiet.__exit__(*error)
        self._random.__exit__(*error)
