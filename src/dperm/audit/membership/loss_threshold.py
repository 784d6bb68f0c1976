# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Loss-threshold attack: well-fitted records are classified as members."""

import numpy as np

from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.scoring import Pair, checked_pair, scores_of


def loss_threshold(model: object, members: Pair, non_members: Pair) -> MembershipResult:
    """Attack with one loss threshold for all records (Yeom, Giacomelli, Fredrikson & Jha 2018).

    The AUC exceeds 1/2 if the model fits its training data better than new data. All scores come from one model, so
    they are dependent, and intervals are descriptive.

    Parameters
    ----------
    model
        Fitted classifier with ``predict_proba`` or ``decision_function``, or fitted regressor with ``predict``.
    members
        (X, y) of training records.
    non_members
        (X, y) of records from the same population, not used in training.

    Returns
    -------
    MembershipResult
        ROC curve of the attack.
    """
    inside, outside = checked_pair("members", members), checked_pair("non_members", non_members)
    found = [scores_of(model, *inside), scores_of(model, *outside)]
    bits = np.repeat([True, False], [len(found[0]), len(found[1])])
    return MembershipResult("loss threshold", Roc.of(np.concatenate(found), bits))
