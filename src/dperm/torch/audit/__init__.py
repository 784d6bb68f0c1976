# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ATTACKS on PyTorch models: canaries in a real DP-SGD run, and membership inference."""

from dperm.deprecation import deprecated_names
from dperm.torch.audit.canaries import TrainingCanaries, mislabelled_canaries, one_hot, random_canaries
from dperm.torch.audit.canary_dataset import with_canaries
from dperm.torch.audit.canary_scores import Watch
from dperm.torch.audit.membership import lira, lira_against, logit_scores, loss_threshold
from dperm.torch.audit.training_audit import Access, audit_training, finding_of

__all__ = [
    "Access",
    "TrainingCanaries",
    "Watch",
    "audit_training",
    "finding_of",
    "lira",
    "lira_against",
    "logit_scores",
    "loss_threshold",
    "mislabelled_canaries",
    "one_hot",
    "random_canaries",
    "with_canaries",
]

__getattr__ = deprecated_names(
    __name__,
    {
        "Canaries": "dperm.torch.audit:TrainingCanaries",
        "joined": "dperm.torch.audit:with_canaries",
        "mislabelled": "dperm.torch.audit:mislabelled_canaries",
    },
)
