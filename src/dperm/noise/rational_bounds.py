# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rational bounds on exp and log, from the correctly rounded functions of the `decimal` module.

Samplers use them for comparisons left undecided by floating point, with more digits until the comparison is decided.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction

DIGITS = 40
"""Decimal digits of the first attempt; each further attempt doubles them."""

Bounds = tuple[Fraction, Fraction]


def exp_bounds(exponent: Fraction, digits: int) -> Bounds:
    """Return (lower, upper) bounds on e^-exponent for exponent >= 0, of relative width about 10^-digits.

    The quotient has relative error 10^-(p-1) at p digits and changes the exponential by a factor
    exp(exponent 10^-(p-1)). `Context.exp` is correctly rounded.
    """
    context = _context(digits + 4 + len(str(int(exponent))))
    # copy_negate: the minus sign would round to the 28 digits of the thread's own context
    value = Fraction(context.exp(_quotient(exponent, context).copy_negate()))
    slack = Fraction(1, 10**digits)
    return value * (1 - slack), value * (1 + slack)


def log_bounds(value: Fraction, digits: int) -> Bounds:
    """Return (lower, upper) bounds on -log(value) for 0 < value < 1, of absolute width about 10^-digits."""
    context = _context(digits + 8)
    found = -Fraction(context.ln(_quotient(value, context)))
    slack = (1 + found) * Fraction(1, 10 ** (digits + 4))
    return found - slack, found + slack


def round_outward(bounds: Bounds, bits: int) -> tuple[int, int]:
    """Return ``bounds`` in units of 2^-bits, the lower one rounded down and the upper one rounded up."""
    return math.floor(bounds[0] * 2**bits), math.ceil(bounds[1] * 2**bits)


def _quotient(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _context(digits: int) -> Context:
    # no traps: the thread's own settings must not turn an inexact digit into an exception
    return Context(prec=digits, Emin=-(10**9), Emax=10**9, traps=[])
