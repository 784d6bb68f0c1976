# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is public about y, whatever it holds: its target, and how a report tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dperm.data.targets import Target


@dataclass(frozen=True)
class PublicLabels:
    """The public shape of y.

    Attributes
    ----------
    target
        What labels may be.
    facts
        The same as plain data, as it stands in the record of a fit.
    assumption
        What the guarantee takes as public about y, in words.
    declared
        Whether the user said so; otherwise a fit warns.
    classes
        The classes, sorted; None for numbers.
    scale, offset
        A score of u is the prediction scale u + offset, in the units of y.
    """

    target: Target
    facts: Mapping[str, object]
    assumption: str
    declared: bool
    classes: NDArray[Any] | None = None
    scale: float = 1.0
    offset: float = 0.0
