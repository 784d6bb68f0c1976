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

    The models are trained in pairs, the second on the records left out of the first, so each record is in half of the
    models. Each model in turn is the target. To attack it, the attacker uses the models of all other pairs. The scores
    pooled over all targets are dependent, so ``roc`` of the result is only descriptive.

    Under add_remove, the attack on the first model alone is a one-run audit (A6), given as ``one_run`` of the result.
    The coin flips that select the records of this model are fair, independent of each other, and independent of the
    other pairs of models.

    Parameters
    ----------
    make
        Function without arguments that returns an unfitted model with ``fit`` and at least one of ``predict_proba``,
        ``decision_function`` and ``predict``.
    X, y
        Records and labels. Each model is trained on about half of the records under add_remove, and on exactly half of
        them under replace_one.
    models
        Number of models to train; an even number, at least 6. With fewer than 64 models, the attack estimates one
        variance of the scores for all records, instead of one variance per record.
    adjacency
        "add_remove" to select records by independent coin flips, or "replace_one" to select exactly half of the records
        for every model.
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

    Each model is trained on a random half of the records, selected by independent coin flips (add_remove), and each
    model in turn is the target. See `lira` for the attack and the meaning of the result.

    Parameters
    ----------
    X, y
        Records and their labels, with two classes. No intercept is fitted; for an intercept, add a column of ones to
        ``X``.
    C
        Inverse of the regularization strength, as in scikit-learn.
    models
        Number of models to train; an even number, at least 6. See `lira` for the effect of fewer than 64 models.
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

    Before the call, draw ``mask`` with `paired_coins`, train model k on the records with a True entry in column k of
    ``mask``, and compute the scores, for example with `scores_of`.

    Parameters
    ----------
    scores
        Score of each record (row) under each model (column), larger if the model fits the record better.
    mask
        Boolean array with the shape of ``scores``: whether each record was in the training set of each model. Column
        2j + 1 is the complement of column 2j.
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
    """Attack one fitted model with LiRA, the likelihood-ratio attack.

    The model was trained on the records with a True entry in ``member``. The attacker trains shadow models on random
    halves of all records. If ``target`` is private, the shadow models may be non-private: their training is then
    faster, and the bounds remain valid.

    Parameters
    ----------
    target
        The fitted model.
    make
        Function without arguments that returns an unfitted model, to be trained as a shadow model.
    X, y
        Records and labels of members and non-members.
    member
        One boolean per record: whether the target was trained on the record.
    models
        Number of shadow models; an even number, at least 6. See `lira` for the effect of fewer than 64 models.
    independent_coins
        Whether an independent fair coin decided each entry of ``member``. If so, the attack is a one-run audit (A6),
        and may refute a guarantee under add_remove. The entries are not independent if exactly half of the records were
        chosen as members.
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
