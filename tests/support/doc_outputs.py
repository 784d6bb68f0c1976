# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the output that a page shows with the output that its example prints.

- White space and the length of ruled lines do not count, so that pages may wrap long lines.
- Numbers with a decimal point or an exponent agree within ``TOLERANCE``, relative. Integers agree exactly.
- Widths of brackets below ``ROUNDING`` are sums of rounding errors, and agree within a factor of ten.
- Identifiers of ``VOLATILE`` (digests, keys, times, versions) agree with any other of the same form.
- Blocks marked ``noisy``, as in ``pycon noisy 0.2``, print private noise or an attack without a seed. All their numbers
  agree within that tolerance, relative to the larger one.
"""

import doctest
import math
import re

TOLERANCE = 1e-6
"""Relative: results of floating-point arithmetic differ between processors and BLAS versions in their last digits."""

ROUNDING = 1e-9
VOLATILE = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\+00:00)?"), "<time>"),
    (re.compile(r"\b(?<=dperm |numpy |torch |ython )\d+\.\d+\.\d+\b"), "<version>"),
    (re.compile(r"\b(?=[0-9a-f]*[a-f])[0-9a-f]{12,}\b|\b[0-9]{32,}\b|(?<=sha256:)[0-9a-f]{6,}\b"), "<hex>"),
    (re.compile(r"(?<=, )[0-9a-f]{12}$", re.MULTILINE), "<hex>"),
    (re.compile(r"(?<=fit-)[0-9a-f]{32}\b"), "<hex>"),
)
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:,\d{3})*(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w])")
RULE = re.compile(r"─+")


class Checker(doctest.OutputChecker):
    """Output checker of doctest with the rules of this module in place of its option flags."""

    def __init__(self, tolerance: float | None = None) -> None:
        self.tolerance = tolerance

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return agree(want, got, self.tolerance)


def agree(shown: str, printed: str, noisy: float | None = None) -> bool:
    """Whether two outputs agree; ``noisy`` is the tolerance of a block with private noise."""
    one, other = plain(shown), plain(printed)
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(near(first, second, noisy) for first, second in pairs)


def plain(text: str) -> str:
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text)
    return " ".join(RULE.sub("─", text.replace("<BLANKLINE>", "")).split())


def near(one: str, other: str, noisy: float | None) -> bool:
    if noisy is None and not (inexact(one) and inexact(other)):
        return one == other
    first, second = value(one), value(other)
    if rounding(one) and rounding(other):
        return 0.1 <= first / second <= 10
    return math.isclose(first, second, rel_tol=TOLERANCE if noisy is None else noisy)


def rounding(number: str) -> bool:
    """Whether a number is a width of a bracket, and not a delta such as 1e-12."""
    return 0 < abs(value(number)) < ROUNDING and not number.startswith("1e")


def inexact(number: str) -> bool:
    return "." in number or "e" in number.lower()


def value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))
