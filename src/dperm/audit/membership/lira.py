# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA, the likelihood-ratio attack (Carlini et al. 2022), on models of any kind and on many logistic regressions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dperm.audit.arrays import truths
from dperm.audit.membership.anderson import Reals
from dperm.audit.membership.likelihood_ratio import checked_scores, ratios_against, ratios_of_each
from dperm.audit.membership.pairs import even, paired_coins
from dperm.audit.membership.records import Labels, records, signs_of
from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.scoring import Make, scores_of
from dperm.audit.membership.shadow_glm import Precision, shadow_logistic
from dperm.audit.membership.trials import Trials
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
    """How well LiRA attacks models that ``make`` makes, on halves of these records.

    ``models`` are trained, each record in half of them; each in turn is the target and the others, without its
    complement, are the attacker's. Pooled over targets, scores depend on each other, so ``roc`` is descriptive. The
    first model alone, under add_remove, is a one-run audit: its coins are independent and fair, and neither the other
    models' coins nor their moments have seen them.

    Parameters
    ----------
    make
        Gives a fresh model: anything with ``fit`` and ``predict_proba``, ``decision_function`` or ``predict``.
    X, y
        Records, from which models are trained on halves.
    models
        How many to train; an even number. With fewer than 64 all records share one variance.
    adjacency
        "add_remove": independent coins. "replace_one": every model has exactly half of the records.
    """
    rows, labels = records("X, y", X, y)
    kind = Adjacency.of(adjacency)
    mask = paired_coins(len(rows), models, adjacency=kind, seed=seed)
    scores = _trained(make, rows, labels, mask, progress=progress)
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
    """The same for logistic regression of two classes, with all models trained at once (A9); 256 take a moment."""
    rows, labels = records("X, y", X, y)
    signs, mask = signs_of(labels), paired_coins(len(rows), models, seed=seed)
    scores = signs[:, np.newaxis] * (rows.astype(dtype) @ shadow_logistic(rows, signs, mask, C=C, dtype=dtype))
    return lira_on_scores(scores, mask)


def lira_on_scores(scores: Reals, mask: Mask, *, adjacency: Adjacency | str = "add_remove") -> MembershipResult:
    """The same from scores (n, K) of K models whose columns 2j and 2j + 1 of ``mask`` are complements.

    For models trained elsewhere, with the coins of `paired_coins`.
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
    """Attack one model that was trained on the records that ``member`` says, with shadow models of the attacker's own.

    A private ``target`` may be attacked with shadow models that are not: they are quicker, and bounds stay
    valid.

    Parameters
    ----------
    target
        The fitted model.
    make
        Gives a fresh model for the attacker to train.
    X, y
        Records, members and others.
    member
        Which of them the target was trained on.
    independent_coins
        Whether each of ``member`` was decided by a fair coin of its own: then the attack is a one-run audit, and may
        contradict a guarantee under add_remove. A split into two halves is not that.
    """
    rows, labels = records("X, y", X, y)
    bits = truths("member", member)
    if bits.shape != labels.shape:
        raise ParameterError(f"member must be True or False for each of {len(labels)} records, got {len(bits)}.")
    kind = Trials.ONE_RUN if truth("independent_coins", independent_coins) else Trials.DEPENDENT
    own = scores_of(target, rows, labels)
    mask = paired_coins(len(rows), even("models", models), seed=seed)
    scores = _trained(make, rows, labels, mask, progress=progress)
    return MembershipResult(
        "LiRA",
        Roc.of(ratios_against(own, scores, mask), bits, trials=kind),
        baseline=Roc.of(own, bits, trials=kind),
        adjacency=Adjacency.ADD_REMOVE if independent_coins else None,
        facts={"models": models, "records": len(rows)},
    )


def _trained(make: Make, X: Floats, y: Labels, mask: Mask, *, progress: Progress | None) -> Floats:
    """Scores of all records under models of the halves in the columns of ``mask``."""
    if not callable(make) or (hasattr(make, "fit") and not isinstance(make, type)):
        raise ParameterError(
            f"make must be a function that makes a new model, such as LogisticRegression or lambda: "
            f"LogisticRegression(C=0.1), got {shown(make)}."
        )
    scores = np.empty(mask.shape)
    for place, member in enumerate(mask.T):
        model = make()
        model.fit(X[member], y[member])
        scores[:, place] = scores_of(model, X, y)
        if progress is not None:
            progress((place + 1) / mask.shape[1])
    return scores


def _trials(adjacency: Adjacency) -> Trials:
    return Trials.ONE_RUN if adjacency is Adjacency.ADD_REMOVE else Trials.DEPENDENT
