# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public range of the labels of a regression."""

import warnings

from dperm import checks
from dperm.data.space import checked_pair
from dperm.data.targets import Interval
from dperm.erm.residual_losses import Huber
from dperm.errors import DpermWarning, ParameterError
from dperm.sklearn.public_labels import PublicLabels

DEFAULT_RANGE = (-1.0, 1.0)
"""What labels are clipped to where no range is given: enforced, not assumed."""
KAPPA = "It is the residual at which the Huber loss becomes linear, in the units of y."
KAPPAS = (1e-6, 1e6)


def public_range(label_range: object) -> PublicLabels:
    """The declared (low, high), or [-1, 1]."""
    low, high = DEFAULT_RANGE if label_range is None else checked_pair("label_range", label_range)
    interval = Interval(low, high)
    return PublicLabels(
        interval,
        facts={"label_range": [interval.low, interval.high]},
        assumption="the range of the labels, to which they were clipped",
        declared=label_range is not None,
        scale=interval.half_width,
        offset=interval.center,
    )


def huber(kappa: object, label_range: object) -> Huber:
    """The Huber loss of labels in [-1, 1] for ``kappa`` in the units of y; a quarter of the range's width if None."""
    if kappa is None:
        return Huber(0.5)
    share = checks.positive("kappa", kappa, KAPPA) / public_range(label_range).scale
    if not KAPPAS[0] <= share <= KAPPAS[1]:
        raise ParameterError(
            f"kappa must be from {KAPPAS[0]:g} to {KAPPAS[1]:g} times half the width of label_range, got "
            f"{checks.shown(kappa)}. {KAPPA}"
        )
    return Huber(share)


def warn_undeclared() -> None:
    """Say that labels are clipped to [-1, 1], whatever their units are; at every fit."""
    warnings.warn(
        "label_range was not given: labels are clipped to label_range=(-1.0, 1.0), and labels in other units (prices, "
        "ages) will be learnt badly. Give the public range of y, such as label_range=(0, 100); it must not be taken "
        "from the data.",
        DpermWarning,
        stacklevel=4,  # the line that called fit
    )
