# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ATTACKS on PyTorch models: canaries in a real DP-SGD run, and membership inference."""

from dperm.torch.audit.canaries import Canaries
from dperm.torch.audit.joining import joined
from dperm.torch.audit.making import mislabelled, one_hot, random_canaries
from dperm.torch.audit.membership import lira, lira_against, logit_scores, loss_threshold
from dperm.torch.audit.training import audit_training
from dperm.torch.audit.verdict import Access, finding_of
from dperm.torch.audit.watch import Watch

__all__ = [
    "Access",
    "Canaries",
    "Watch",
    "audit_training",
    "finding_of",
    "joined",
    "lira",
    "lira_against",
    "logit_scores",
    "loss_threshold",
    "mislabelled",
    "one_hot",
    "random_canaries",
]
