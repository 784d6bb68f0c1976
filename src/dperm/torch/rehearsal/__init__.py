# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rehearsals of a training loop: tests whether one record affects the losses or gradients of other records."""

from dperm.torch.rehearsal.trial_runs import FEWEST, STAND_IN, STOPPED, Rehearsal

__all__ = ["FEWEST", "STAND_IN", "STOPPED", "Rehearsal"]
