# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of exponentials over equally spaced frequencies."""

import math

import numpy as np

from dperm.accounting.laws.law import Array, ComplexArray

CHUNK = 4096  # nodes in one matrix product


def frequency_sums(loss: Array, weight: Array, spacing: float, terms: int) -> ComplexArray:
    """sum_j w_j e^{i k d L_j} for k < terms, with k = B a + b: about 2 sqrt(terms) exponentials a node."""
    block = max(16, 2 ** round(math.log2(terms) / 2))
    inner, outer = spacing * np.arange(min(block, terms)), spacing * block * np.arange(-(-terms // block))
    total = np.zeros((len(outer), len(inner)), complex)
    for start in range(0, len(loss), CHUNK):
        part = loss[start : start + CHUNK]
        slow = np.exp(np.multiply.outer(1j * outer, part)) * weight[start : start + CHUNK]
        total += slow @ np.exp(np.multiply.outer(1j * inner, part)).T
    return total.ravel()[:terms]
