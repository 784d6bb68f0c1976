# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old location of the decision rules, now in `dperm.audit.thresholds`."""

from dperm.deprecation import deprecated_names

_NAMES = ("Tally", "RATES", "GAUSSIAN_RATES", "PURE_GUESSES", "APPROXIMATE_GUESSES", "GAUSSIAN_GUESSES")

__getattr__ = deprecated_names(
    __name__,
    {"Rule": "dperm.audit.thresholds:DecisionRule", **{name: f"dperm.audit.thresholds:{name}" for name in _NAMES}},
)
