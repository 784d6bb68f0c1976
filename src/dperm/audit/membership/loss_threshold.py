# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The simplest attack: records that a model fits well were in its training data."""

import numpy as np

from dperm.audit.membership.records import Pair, pair
from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.scoring import scores_of


def loss_threshold(model: object, members: Pair, non_members: Pair) -> MembershipResult:
    """One threshold on the loss for all records (Yeom, Giacomelli, Fredrikson & Jha 2018).

    Its AUC is above 1/2 as far as the model fits its training data better than fresh data. All scores come from one
    model: they depend on each other, and intervals are descriptive.

    Parameters
    ----------
    model
        Fitted: a classifier with ``predict_proba`` or ``decision_function``, or a regression with ``predict``.
    members
        (X, y) of records that it was trained on.
    non_members
        (X, y) of records of the same kind that it was not trained on.
    """
    inside, outside = pair("members", members), pair("non_members", non_members)
    found = [scores_of(model, *inside), scores_of(model, *outside)]
    bits = np.repeat([True, False], [len(found[0]), len(found[1])])
    return MembershipResult("loss threshold", Roc.of(np.concatenate(found), bits))
