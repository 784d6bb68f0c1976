# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private evaluation of models: metrics with intervals that cover sampling and privacy noise (T85-T89)."""

from dperm.evaluation.estimate import Estimate
from dperm.evaluation.metrics import CalibrationBin, Metrics, RocCurve
from dperm.evaluation.plan import DeclaredGroups, EvaluationPlan
from dperm.evaluation.records import PrivateScores

__all__ = ["CalibrationBin", "DeclaredGroups", "Estimate", "EvaluationPlan", "Metrics", "PrivateScores", "RocCurve"]
