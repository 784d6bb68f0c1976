# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How small every error term is made, how much work may be spent, and the signal that it was not enough."""

from dataclasses import dataclass

ROUNDING = 16.0  # safety factor of the floating-point model; factor 1 was seen to fail at relative 1e-11


class NotClosedError(Exception):
    """A contour could not be certified within its limits; never shown to a user."""


@dataclass(frozen=True)
class Tolerance:
    """Sizes relative to delta, and limits of work."""

    alias: float = 1e-10
    truncation: float = 1e-10
    cut: float = 1e-9
    quadrature: float = 1e-15  # per step, relative to its moment generating function at c
    max_terms: int = 4000
    max_work: float = 6e6
