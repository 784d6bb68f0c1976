# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The two grades of noise, named in every record (T10)."""

from enum import StrEnum

from dperm.checks import shown
from dperm.errors import ParameterError


class Grade(StrEnum):
    """How far the noise can be trusted."""

    EXACT = "exact"
    """The law that is stated, drawn exactly, on a grid. Where it is not the theorem's own, eta and tau are paid for."""

    FAST = "fast"
    """Floating-point noise from unpredictable bits: the theorem is about real numbers, and low-order bits may leak."""

    @classmethod
    def of(cls, grade: "Grade | str") -> "Grade":
        """The grade, or the one of that name."""
        try:
            return cls(grade)
        except ValueError:
            raise ParameterError(
                f'grade must be "exact" or "fast", got {shown(grade)}. Use "exact" wherever something is released.'
            ) from None
