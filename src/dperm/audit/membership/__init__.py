# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Membership inference: attacks, their ROC curves, and the largest rates allowed by a guarantee."""

from dperm.audit.membership.ceiling import area_ceiling, rate_ceiling
from dperm.audit.membership.lira import lira, lira_against, lira_logistic, lira_on_scores
from dperm.audit.membership.loss_threshold import loss_threshold
from dperm.audit.membership.pairs import paired_coins
from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Rate, Roc
from dperm.audit.membership.scoring import scores_of
from dperm.audit.membership.shadow_glm import shadow_logistic
from dperm.audit.membership.shadow_models import shadow_models
from dperm.audit.membership.verdict import TrialDependence
from dperm.deprecation import deprecated_names

__all__ = [
    "MembershipResult",
    "Rate",
    "Roc",
    "TrialDependence",
    "area_ceiling",
    "lira",
    "lira_against",
    "lira_logistic",
    "lira_on_scores",
    "loss_threshold",
    "paired_coins",
    "rate_ceiling",
    "scores_of",
    "shadow_logistic",
    "shadow_models",
]

__getattr__ = deprecated_names(__name__, {"Trials": "dperm.audit.membership:TrialDependence"})
