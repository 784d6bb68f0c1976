# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on epsilon from the true and false positives of an attack with a fixed decision rule (A2, A3).

The decision rule must be fixed in advance, and the training runs must be independent. A run is a member if its data
contain the record, and a non-member otherwise. The numbers of members and non-members may be fixed in advance, so the
coin flips that assign the runs may be stratified. Let TPR and FPR be the true- and false-positive rates, and alpha be
1 - confidence. Two one-sided Clopper-Pearson bounds at level alpha/2 hold simultaneously with probability at least
1 - alpha: TPR >= TPR_lo and FPR <= FPR_hi.
"""

from dperm import checks
from dperm.audit.intervals import MOST_TRIALS, clopper_pearson_lower, clopper_pearson_upper
from dperm.audit.lower_bound import LowerBound, alpha_of, gaussian_bound, gaussian_delta, gaussian_separation, log_ratio
from dperm.presentation.spelling import arg


def from_rates(
    true_positives: int,
    members: int,
    false_positives: int,
    non_members: int,
    *,
    delta: float,
    confidence: float = 0.95,
) -> LowerBound:
    """Return the smallest epsilon of (epsilon, delta)-DP consistent with the rates, without further assumptions (A2).

    The true- and false-positive rates (TPR, FPR) and the true- and false-negative rates (TNR, FNR) of an attack satisfy
    TPR <= e^epsilon FPR + delta and TNR <= e^epsilon FNR + delta. So epsilon is at least the maximum of 0,
    log((TPR_lo - delta) / FPR_hi) and log((1 - FPR_hi - delta) / (1 - TPR_lo)). Here TPR_lo and FPR_hi are
    Clopper-Pearson bounds, which hold simultaneously at the confidence level. For example, 900 true positives in 1000
    runs and 100 false positives in 1000 runs give 1.98970631 at delta = 0 and 95 % confidence.

    Parameters
    ----------
    true_positives, members
        Number of runs with the record that were classified as "in", and number of all runs with the record.
    false_positives, non_members
        Number of runs without the record that were classified as "in", and number of all runs without the record.
    delta
        Delta at which epsilon is bounded, in [0, 1).
    confidence
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    delta, alpha = checks.small_delta("delta", delta), alpha_of(confidence)
    tp, fp, n1, n0 = _counts(true_positives, members, false_positives, non_members)
    tpr, tnr = clopper_pearson_lower([tp, n0 - fp], [n1, n0], alpha / 2)
    fpr, fnr = clopper_pearson_upper([fp, n1 - tp], [n0, n1], alpha / 2)
    epsilon = max(log_ratio(float(tpr) - delta, float(fpr)), log_ratio(float(tnr) - delta, float(fnr)))
    return LowerBound(epsilon, delta, confidence, "Clopper-Pearson on two rates (A2)")


def gaussian_from_rates(
    true_positives: int,
    members: int,
    false_positives: int,
    non_members: int,
    *,
    delta: float,
    confidence: float = 0.95,
) -> LowerBound:
    """Return the smallest epsilon consistent with the rates, for a mechanism with a Gaussian trade-off curve (T19, A3).

    The curve G_mu is the trade-off curve between two normal distributions of variance 1 whose means differ by mu. The
    Gaussian mechanism, its compositions and full-batch DP-GD have such a curve. The function computes the lower bound
    max(0, Phi^-1(1 - FPR_hi) - Phi^-1(FNR_hi)) on mu, and converts it to epsilon at ``delta`` [Nasr et al. 2023]. Here
    Phi is the standard normal distribution function, and FPR_hi and FNR_hi are Clopper-Pearson upper bounds on the
    false-positive and false-negative rates. For other mechanisms, the result is not a bound on epsilon.

    Parameters
    ----------
    true_positives, members, false_positives, non_members
        See `from_rates`.
    delta
        Delta at which epsilon is bounded, in (0, 1).
    confidence
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    LowerBound
        Lower bound on epsilon at ``delta``, valid for a Gaussian trade-off curve.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    delta = gaussian_delta(delta)
    mu = gaussian_mu_from_rates(true_positives, members, false_positives, non_members, confidence=confidence)
    return gaussian_bound(mu, delta=delta, confidence=confidence, method="mu-GDP from two rates (A3)")


def gaussian_mu_from_rates(
    true_positives: int, members: int, false_positives: int, non_members: int, *, confidence: float = 0.95
) -> float:
    """Return a lower bound on the parameter mu of a Gaussian trade-off curve G_mu (T19, A3).

    The bound is 0 if the attack is not clearly better than guessing. For example, 900 true positives in 1000 runs and
    100 false positives in 1000 runs give 2.34709723 at 95 % confidence. See `gaussian_from_rates` for the curve and the
    formula.

    Parameters
    ----------
    true_positives, members, false_positives, non_members
        See `from_rates`.
    confidence
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    float
        Lower bound on mu, at least 0.
    """
    alpha = alpha_of(confidence)
    tp, fp, n1, n0 = _counts(true_positives, members, false_positives, non_members)
    fpr, fnr = clopper_pearson_upper([fp, n1 - tp], [n0, n1], alpha / 2)
    mu = gaussian_separation(float(fpr), float(fnr))
    # max(0, mu), never |mu|: an attack that does worse than chance shows nothing
    return max(0.0, mu)


def _counts(tp: int, n1: int, fp: int, n0: int) -> tuple[int, int, int, int]:
    n1, n0 = checks.count("members", n1, most=MOST_TRIALS), checks.count("non_members", n0, most=MOST_TRIALS)
    tp = checks.count("true_positives", tp, f"It cannot exceed {arg('members', n1)}.", least=0, most=n1)
    fp = checks.count("false_positives", fp, f"It cannot exceed {arg('non_members', n0)}.", least=0, most=n0)
    return tp, fp, n1, n0
