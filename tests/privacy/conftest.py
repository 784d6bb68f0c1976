# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Oracles in 50-digit arithmetic (mpmath), independent of the code under test."""

import math

import mpmath as mp
import pytest


def _exact_log_delta(epsilon: float, mu: float) -> mp.mpf:
    """log of T6's printed formula; the digits lost to cancellation are added to the working precision."""
    center = epsilon / mu - mu / 2
    with mp.workdps(int(130 + center * center / 2 + abs(math.log10(mu)))):
        eps, m = mp.mpf(epsilon), mp.mpf(mu)
        u = eps / m - m / 2
        first = mp.erfc(u / mp.sqrt(2)) / 2
        second = mp.exp(eps) * mp.erfc((u + m) / mp.sqrt(2)) / 2
        return mp.log(first - second)


@pytest.fixture(scope="session")
def exact_log_delta():
    return _exact_log_delta


@pytest.fixture(scope="module", autouse=True)
def fifty_digits():
    """What the tests themselves compute with mpmath."""
    with mp.workdps(50):
        yield
