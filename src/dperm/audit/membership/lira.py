# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA, the likelihood-ratio attack (Carlini et al. 2022), on any models and on batches of logistic regressions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dperm.audit.arrays import truths
from dperm.audit.membership.likelihood_ratio import checked_scores, ratios_against, ratios_of_each
from dperm.audit.membership.pairs import even_model_count, paired_coins
from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.scoring import Labels, Make, checked_records, scores_of, signs_of
from dperm.audit.membership.shadow_glm import Precision, Reals, shadow_logistic
from dperm.audit.membership.verdict import TrialDependence
from dperm.checks import shown, truth
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency

Progress = Callable[[float], None]


def lira(
    make: Make,
    X: ArrayLike,
    y: ArrayLike,
    *,
    models: int = 64,
    adjacency: Adjacency | str = "add_remove",
    seed: int | None = None,
    progress: Progress | None = None,
) -> MembershipResult:
    """Run LiRA, the likelihood-ratio attack, on models created by ``make`` and trained on random halves of the records.

    The function trains ``models`` models, and each record is in half of them. Each model in turn is the target; the
    attacker uses all other models, except the model trained on the other half. Scores pooled over targets are
    dependent, so ``roc`` is descriptive. Under add_remove, the attack on the first model alone is a one-run audit. The
    coin flips of this model are fair, independent of each other, and independent of the other pairs of models.

    Parameters
    ----------
    make
        Function returning a fresh model with ``fit`` and ``predict_proba``, ``decision_function`` or ``predict``.
    X, y
        Records and labels. Under add_remove each model is trained on about half of them, under replace_one on exactly
        half.
    models
        Number of models to train; an even number, at least 6. With fewer than 64, all records share one variance.
    adjacency
        "add_remove" for independent coin flips, or "replace_one" for exactly half of the records in every model.
    seed
        Seed of the random halves of the records on which the models are trained; None draws a seed from the operating
        system.
    progress
        Callback that receives the completed fraction of the training runs, in (0, 1].

    Returns
    -------
    MembershipResult
        ROC curves of the attack, and of a baseline with a single threshold for all records.
    """
    rows, labels = checked_records("X, y", X, y)
    kind = Adjacency.of(adjacency)
    mask = paired_coins(len(rows), models, adjacency=kind, seed=seed)
    scores = _train_models(make, rows, labels, mask, progress=progress)
    return lira_on_scores(scores, mask, adjacency=kind)


def lira_logistic(
    X: ArrayLike,
    y: ArrayLike,
    *,
    C: float = 1.0,
    models: int = 256,
    dtype: Precision = "float32",
    seed: int | None = None,
) -> MembershipResult:
    """Attack binary logistic regression with LiRA, the likelihood-ratio attack, training all models at once (A9).

    Each model is trained on a random half of the records, and each model in turn is the target. See `lira` for the
    attack and the meaning of the result.

    Parameters
    ----------
    X, y
        Records, and labels of two classes.
    C
        Inverse of the regularization strength, as in scikit-learn.
    models
        Number of models to train; an even number, at least 6.
    dtype
        Floating-point precision of the training: "float32" or "float64".
    seed
        Seed of the random halves of the records on which the models are trained; None draws a seed from the operating
        system.

    Returns
    -------
    MembershipResult
        ROC curves of the attack, and of a baseline with a single threshold for all records.
    """
    rows, labels = checked_records("X, y", X, y)
    signs, mask = signs_of(labels), paired_coins(len(rows), models, seed=seed)
    scores = signs[:, np.newaxis] * (rows.astype(dtype) @ shadow_logistic(rows, signs, mask, C=C, dtype=dtype))
    return lira_on_scores(scores, mask)


def lira_on_scores(scores: Reals, mask: Mask, *, adjacency: Adjacency | str = "add_remove") -> MembershipResult:
    """Attack models with LiRA, the likelihood-ratio attack, given the scores of all records under each model.

    Before the call, draw ``mask`` with `paired_coins`, train model k on the records marked in column k, and compute the
    scores, for example with `scores_of`.

    Parameters
    ----------
    scores
        Score of each record (row) under each model (column), larger if the model fits the record better.
    mask
        Boolean array of the shape of ``scores``: whether each record was in the training set of each model. Columns 2j
        and 2j + 1 are complements.
    adjacency
        The adjacency passed to `paired_coins`.

    Returns
    -------
    MembershipResult
        ROC curves of the attack, and of a baseline with a single threshold for all records.
    """
    kind, (scores, mask) = Adjacency.of(adjacency), checked_scores(scores, mask)
    ratios = ratios_of_each(scores, mask)
    return MembershipResult(
        "LiRA",
        Roc.of(ratios, mask),
        one_run=Roc.of(ratios[:, 0], mask[:, 0], trials=_trials(kind)),
        baseline=Roc.of(scores, mask),
        adjacency=kind,
        facts={"models": mask.shape[1], "records": len(mask)},
    )


def lira_against(
    target: object,
    make: Make,
    *,
    X: ArrayLike,
    y: ArrayLike,
    member: ArrayLike,
    models: int = 64,
    independent_coins: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
) -> MembershipResult:
    """Use LiRA, the likelihood-ratio attack, on one model that was trained on the records marked by ``member``.

    The attacker trains shadow models on random halves of the records. The shadow models of a private ``target`` may be
    non-private: training is then faster, and the bounds stay valid.

    Parameters
    ----------
    target
        The fitted model.
    make
        Function returning a fresh model, which the attacker trains as a shadow model.
    X, y
        Records and labels of members and non-members.
    member
        One boolean per record: whether the target was trained on the record.
    models
        Number of shadow models; an even number, at least 6.
    independent_coins
        Whether an independent fair coin decided each entry of ``member``. If so, the attack is a one-run audit, and may
        refute a guarantee under add_remove. A split of the records into two halves does not qualify.
    seed
        Seed of the random halves of the records on which the shadow models are trained; None draws a seed from the
        operating system.
    progress
        Callback that receives the completed fraction of the training runs, in (0, 1].

    Returns
    -------
    MembershipResult
        ROC curves of the attack, and of a baseline with a single threshold for all records.

    Raises
    ------
    ParameterError
        If ``member`` does not have one boolean per record.
    """
    rows, labels = checked_records("X, y", X, y)
    bits = truths("member", member)
    if bits.shape != labels.shape:
        raise ParameterError(
            argument="member", rule=f"must be True or False for each of {len(labels)} records", got=str(len(bits))
        )
    kind = TrialDependence.ONE_RUN if truth("independent_coins", independent_coins) else TrialDependence.DEPENDENT
    own = scores_of(target, rows, labels)
    mask = paired_coins(len(rows), even_model_count("models", models), seed=seed)
    scores = _train_models(make, rows, labels, mask, progress=progress)
    return MembershipResult(
        "LiRA",
        Roc.of(ratios_against(own, scores, mask), bits, trials=kind),
        baseline=Roc.of(own, bits, trials=kind),
        adjacency=Adjacency.ADD_REMOVE if independent_coins else None,
        facts={"models": models, "records": len(rows)},
    )


def _train_models(make: Make, X: Floats, y: Labels, mask: Mask, *, progress: Progress | None) -> Floats:
    """Train a model on each column of ``mask``, and return the scores of all records under each model."""
    if not callable(make) or (hasattr(make, "fit") and not isinstance(make, type)):
        raise ParameterError(
            argument="make",
            rule=(
                "must be a function that returns a new model, such as LogisticRegression or lambda: "
                "LogisticRegression(C=0.1)"
            ),
            got=shown(make),
        )
    scores = np.empty(mask.shape)
    for place, member in enumerate(mask.T):
        model = make()
        model.fit(X[member], y[member])
        scores[:, place] = scores_of(model, X, y)
        if progress is not None:
            progress((place + 1) / mask.shape[1])
    return scores


def _trials(adjacency: Adjacency) -> TrialDependence:
    return TrialDependence.ONE_RUN if adjacency is Adjacency.ADD_REMOVE else TrialDependence.DEPENDENT
