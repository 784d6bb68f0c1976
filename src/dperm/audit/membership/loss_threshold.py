# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Loss-threshold attack: well-fitted records are classified as members."""

import numpy as np

from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.scoring import Pair, checked_pair, scores_of


def loss_threshold(model: object, members: Pair, non_members: Pair) -> MembershipResult:
    """Attack a fitted model with one loss threshold for all records (Yeom, Giacomelli, Fredrikson & Jha 2018).

    Records with a low loss are classified as members. The area under the ROC curve exceeds 1/2 if the model fits its
    training data better than new data. All scores come from one model, so they are dependent, and the intervals of the
    result are only descriptive.

    Parameters
    ----------
    model
        Fitted classifier with ``predict_proba`` or ``decision_function``, or fitted regressor with ``predict``.
    members
        Pair (X, y) of records used in training, at least 10.
    non_members
        Pair (X, y) of records from the same population but not used in training, at least 10.

    Returns
    -------
    MembershipResult
        ROC curve of the attack.
    """
    inside, outside = checked_pair("members", members), checked_pair("non_members", non_members)
    found = [scores_of(model, *inside), scores_of(model, *outside)]
    bits = np.repeat([True, False], [len(found[0]), len(found[1])])
    return MembershipResult("loss threshold", Roc.of(np.concatenate(found), bits))
