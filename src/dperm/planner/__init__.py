# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Planning before any data are read: proved error bounds, and trials of the estimators on simulated tables."""

from dperm.deprecation import deprecated_names
from dperm.planner.curves import AccuracyPoint, Curves, curves
from dperm.planner.expectation import ExpectedAccuracy, expected_accuracy
from dperm.planner.outlook import METHODS, MethodOutlook, Outlook, outlook
from dperm.planner.records import RecordsByProof, RecordsByTrial, records_for, records_for_accuracy
from dperm.planner.shape import Shape
from dperm.planner.simulated_data import SimulatedTable, simulated_table
from dperm.planner.trials import Trials

__all__ = [
    "METHODS",
    "AccuracyPoint",
    "Curves",
    "ExpectedAccuracy",
    "MethodOutlook",
    "Outlook",
    "RecordsByProof",
    "RecordsByTrial",
    "Shape",
    "SimulatedTable",
    "Trials",
    "curves",
    "expected_accuracy",
    "outlook",
    "records_for",
    "records_for_accuracy",
    "simulated_table",
]

__getattr__ = deprecated_names(
    __name__,
    {
        "Expected": "dperm.planner:ExpectedAccuracy",
        "Point": "dperm.planner:AccuracyPoint",
        "Records": "dperm.planner:RecordsByProof",
        "Sample": "dperm.planner:SimulatedTable",
        "made_up": "dperm.planner:simulated_table",
    },
)
