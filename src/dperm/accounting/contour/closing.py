# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Error tolerances, limits on work, and the error raised if they do not suffice."""

from dataclasses import dataclass

ROUNDING = 16.0  # safety factor of the floating-point model; factor 1 was seen to fail at relative 1e-11


class NotClosedError(Exception):
    """A contour could not be certified within its limits; internal, never shown to a user."""


@dataclass(frozen=True)
class Tolerance:
    """Error sizes relative to delta, and limits on work."""

    alias: float = 1e-10
    truncation: float = 1e-10
    cut: float = 1e-9
    quadrature: float = 1e-15  # per step, relative to its moment generating function at c
    max_terms: int = 4000
    max_work: float = 6e6
