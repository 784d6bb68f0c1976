# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Shadow-model attack (Shokri et al. 2017): learn to detect members by training models similar to the target."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from dperm import checks
from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.scoring import Labels, Make, Pair, checked_pair, confidences
from dperm.audit.membership.shadow_glm import newton
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.presentation.spelling import arg

STRENGTH = 1.0
"""Strength of the attack model's regularization, for the sum of losses."""
LEAST_OF_A_CLASS = 10


def shadow_models(
    make: Make,
    target: object,
    *,
    members: Pair,
    non_members: Pair,
    population: Pair,
    shadows: int = 8,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> MembershipResult:
    """Attack a fitted classifier with one attack model per class (Shokri, Stronati, Song & Shmatikov 2017).

    Each shadow model is trained on a random half of the attacker's own records, ``population``. Its class probabilities
    are then computed for the records of both halves. For each class, a logistic regression learns from these
    probabilities whether a record was in the training half. The regressions are then applied to the class probabilities
    of the target. All scores come from one target, so they are dependent, and the intervals of the result are only
    descriptive.

    Parameters
    ----------
    make
        Function without arguments that returns an unfitted model of the same kind as the target.
    target
        The fitted classifier, with ``predict_proba`` or ``decision_function``.
    members, non_members
        Pairs (X, y): the target's training records, and other records; at least 10 of each.
    population
        Pair (X, y) of further records from the same distribution, at least 10 of each class.
    shadows
        Number of shadow models to train, at least 1.
    seed
        Seed of the random halves of ``population`` on which the shadow models are trained; None draws a seed from the
        operating system.
    progress
        Callback that receives the completed fraction of the training runs, in (0, 1].

    Returns
    -------
    MembershipResult
        ROC curve of the attack.

    Raises
    ------
    ParameterError
        If ``shadows`` is not a positive integer, ``make`` is not a function, ``population`` has too few records of a
        class, or ``members`` or ``non_members`` has a label that does not occur in ``population``.
    """
    inside, outside, own = (
        checked_pair("members", members),
        checked_pair("non_members", non_members),
        checked_pair("population", population),
    )
    attack = _learn_attack(make, own, checks.count("shadows", shadows), seed=seed, progress=progress)
    scores = [attack.scores(target, *some) for some in (inside, outside)]
    bits = np.repeat([True, False], [len(scores[0]), len(scores[1])])
    return MembershipResult("shadow models", Roc.of(np.concatenate(scores), bits), facts={"shadows": shadows})


@dataclass(frozen=True)
class _ClassAttack:
    """Attack on records of one label: log-odds of membership, linear in standardized features."""

    mean: Floats
    deviation: Floats
    weights: Floats

    @classmethod
    def fit(cls, features: Floats, member: Mask) -> "_ClassAttack":
        """Fit a logistic regression of the membership bits by Newton's method."""
        mean, deviation = features.mean(axis=0), features.std(axis=0) + 1e-12
        design = _design((features - mean) / deviation)
        signs = np.where(member, 1.0, -1.0)
        ones = np.ones((len(design), 1))
        return cls(mean, deviation, newton(design, signs, ones, STRENGTH, start=np.zeros((design.shape[1], 1)))[:, 0])

    def scores(self, features: Floats) -> Floats:
        """Return the log-odds of membership for each row of features."""
        odds: Floats = _design((features - self.mean) / self.deviation) @ self.weights
        return odds


@dataclass(frozen=True)
class _Attack:
    by_label: dict[object, _ClassAttack]

    def scores(self, model: object, X: Floats, y: Labels) -> Floats:
        """Return the log-odds of each record's membership in the training data of ``model``."""
        features, found = _features(model, X), np.empty(len(y))
        for label in np.unique(y):
            if label.item() not in self.by_label:
                raise ParameterError(
                    f"{arg('members')} and {arg('non_members')} must have labels of {arg('population')} only."
                )
            found[y == label] = self.by_label[label.item()].scores(features[y == label])
        return found


def _learn_attack(
    make: Make,
    population: tuple[Floats, Labels],
    shadows: int,
    *,
    seed: int | None,
    progress: Callable[[float], None] | None,
) -> _Attack:
    """Train shadow models, and fit one attack per class to their confidences."""
    X, y = population
    if not callable(make):
        raise ParameterError(
            argument="make", rule="must be a function that returns a new model", got=checks.shown(make)
        )
    kinds, counts = np.unique(y, return_counts=True)
    if counts.min() < LEAST_OF_A_CLASS:
        raise ParameterError(argument="population", rule=f"must have at least {LEAST_OF_A_CLASS} records of each class")
    coins, features, bits = generator(seed, "halves of a population"), [], []
    for place in range(shadows):
        member = coins.permutation(len(y)) < len(y) // 2
        model = make()
        model.fit(X[member], y[member])
        features.append(_features(model, X))
        bits.append(member)
        if progress is not None:
            progress((place + 1) / shadows)
    every, member, labels = np.concatenate(features), np.concatenate(bits), np.tile(y, shadows)
    return _Attack({kind.item(): _ClassAttack.fit(every[labels == kind], member[labels == kind]) for kind in kinds})


def _features(model: object, X: Floats) -> Floats:
    """Return logits of the confidences and their squares: overfitted models are also overconfident on other records."""
    logits = logit(confidences(model, X))
    return np.column_stack([logits, logits**2])


def _design(standardised: Floats) -> Floats:
    return np.column_stack([standardised, np.ones(len(standardised))])
