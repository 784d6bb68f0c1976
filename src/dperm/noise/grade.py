# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Grades of noise, named in every record (T10)."""

from enum import StrEnum

from dperm.checks import shown
from dperm.errors import ParameterError


class Grade(StrEnum):
    """Trustworthiness of the noise: exact or floating-point."""

    EXACT = "exact"
    """Exact draws of the stated distribution on a grid; eta and tau account for a difference from the theorem's."""

    FAST = "fast"
    """Floating-point noise from unpredictable bits. The theorem covers real numbers, and low-order bits may leak."""

    @classmethod
    def of(cls, grade: "Grade | str") -> "Grade":
        """Return the grade of a given name; a `Grade` is returned unchanged."""
        try:
            return cls(grade)
        except ValueError:
            raise ParameterError(
                argument="grade",
                rule='must be "exact" or "fast"',
                got=shown(grade),
                remedy='Use "exact" for every release.',
            ) from None
