# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Class labels of a classifier, declared or found in y (`dperm.data.labels`)."""

from dperm.data.inputs import Labels
from dperm.data.labels import FOUND as FOUND
from dperm.data.labels import declared_classes as declared
from dperm.data.labels import found_classes, warn_undeclared_classes

__all__ = ["DECLARED", "FOUND", "declared", "found"]

DECLARED = "the classes, as they were declared"
"""Public assumption of a fit with declared classes, as stored in its record."""


def found(labels: Labels, *, drop: bool) -> Labels:
    """Return the classes in y, which the guarantee then treats as public, with a warning once per process.

    ``drop`` leaves out missing labels instead of refusing them.
    """
    classes = found_classes(labels, drop=drop)
    warn_undeclared_classes(stacklevel=4)  # the line that called fit
    return classes
