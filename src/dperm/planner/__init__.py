# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What to expect of a private model before there is one: proved bounds, and trials on made-up data."""

from dperm.planner.curves import Curves, Point, curves
from dperm.planner.expectation import Expected, expected_accuracy
from dperm.planner.outlook import METHODS, MethodOutlook, Outlook, outlook
from dperm.planner.plain import made_up
from dperm.planner.records import Records, records_for
from dperm.planner.records_by_trial import RecordsByTrial, records_for_accuracy
from dperm.planner.rows import Sample
from dperm.planner.shape import Shape
from dperm.planner.trials import Trials

__all__ = [
    "METHODS",
    "Curves",
    "Expected",
    "MethodOutlook",
    "Outlook",
    "Point",
    "Records",
    "RecordsByTrial",
    "Sample",
    "Shape",
    "Trials",
    "curves",
    "expected_accuracy",
    "made_up",
    "outlook",
    "records_for",
    "records_for_accuracy",
]
