# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Findings: no bound hides another, assumptions are said, and what does not belong together is refused."""

import math
from itertools import permutations

import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting import Gaussian, Laplace, Poisson, account
from dperm.audit.claim import audit_delta, is_gaussian
from dperm.audit.finding import WITHIN_CLAIM, Finding, claimed_digits, measured_digits
from dperm.audit.lower_bound import GAUSSIAN, LowerBound
from dperm.errors import ParameterError
from dperm.privacy import RDP, ZCDP

PURE = PureDP(1.0, "add_remove")
APPROX = ApproxDP(1.0, 1e-5, "add_remove")
CURVE = account(Gaussian(3.73063163481597), "add_remove")
"""Of APPROX."""


def bound(epsilon, delta=0.0, *, confidence=0.95, assumes=""):
    return LowerBound(epsilon, delta, confidence, "test", assumes)


def finding(bounds, claimed=PURE, **more):
    named = bounds if isinstance(bounds, dict) else {"any": bounds}
    return Finding("a subject", claimed, named, more.pop("confidence", 0.95), **more)


def orders(bounds):
    return [dict(order) for order in permutations(bounds.items())]


@pytest.mark.parametrize("claimed", [ZCDP(0.01, "add_remove"), GDP(0.1, "add_remove"), APPROX], ids=str)
def test_an_infinite_bound_beside_no_claim_hides_nothing(claimed):
    """inf - inf is no number, and comparisons with it depend on the order."""
    for bounds in orders({"nothing": bound(math.inf), "refuting": bound(50.0, 1e-5), "weak": bound(0.0, 1e-5)}):
        found = finding(bounds, claimed)
        assert found.violation and found.strongest == "refuting" and found.tightness > 1
        assert str(found).startswith("VIOLATION")


def test_where_nothing_is_claimed_nothing_is_refuted():
    found = finding(bound(math.inf), APPROX)
    assert not found.violation and found.tightness == 0
    assert finding(bound(math.inf), PURE).violation and finding(bound(math.inf), PURE).tightness == math.inf
    assert finding(bound(0.0), PureDP(0.0, "add_remove")).tightness == 0


@pytest.mark.parametrize(
    ("claimed", "profile", "refuted"),
    [
        (PURE, None, False),
        (APPROX, None, False),
        (ApproxDP(1.0, 1e-5, "add_remove"), CURVE, True),
        (GDP(0.2, "add_remove"), None, True),
        (ZCDP(0.02, "add_remove"), None, False),
        (ZCDP(0.02, "add_remove"), account(Gaussian(5.0), "add_remove"), True),
        (RDP([(2.0, 0.04)], "add_remove"), None, False),
    ],
    ids=["pure", "approximate", "curve of a Gaussian", "GDP", "zCDP", "zCDP by a Gaussian", "RDP"],
)
def test_a_gaussian_bound_refutes_gaussian_claims_alone(claimed, profile, refuted):
    found = finding(bound(30.0, 1e-5, assumes=GAUSSIAN), claimed, profile=profile)
    assert found.violation is refuted and found.as_dict()["violation"] is refuted
    said = "as is claimed" if refuted else "which is not claimed"
    assert GAUSSIAN in str(found) and said in str(found) and str(found).startswith("VIOLATION") is refuted


def test_a_conditional_bound_does_not_hide_one_that_refutes():
    for bounds in orders({"conditional": bound(30.0, 1e-5, assumes=GAUSSIAN), "plain": bound(2.0, 1e-5)}):
        found = finding(bounds, APPROX)
        assert found.violation and found.strongest == "plain" and "Gaussian" not in str(found)


def test_other_assumptions_have_to_be_granted():
    odd = bound(3.0, assumes="the moon is full")
    assert not finding(odd).violation and "only if the moon is full" in str(finding(odd))
    assert finding(odd, granted={"the moon is full"}).violation
    assert not finding(odd, granted={GAUSSIAN}).violation
    with pytest.raises(ParameterError, match="granted must be a set"):
        finding(odd, granted="the moon is full")


def test_curves_that_are_gaussian_are_known():
    assert is_gaussian(account(Gaussian(2.0) * 5 + Gaussian(1.0), "replace_one"))
    assert is_gaussian(GDP(1.0, "add_remove").profile()) and is_gaussian(CURVE)
    for event in (Laplace(1.0), Poisson(Gaussian(1.0), rate=0.1) * 3, Gaussian(1.0) + Laplace(1.0)):
        assert not is_gaussian(account(event, "add_remove"))


WRONG = {
    "no claim": ({"claimed": None}, "claimed must be the guarantee.*got no claim"),
    "a number": ({"claimed": 1.0}, r"claimed must be the guarantee.*got 1\.0"),
    "looser curve": ({"profile": PureDP(3.0, "add_remove").profile()}, "at least as strong as claimed, got epsilon 3"),
    "other neighbours": ({"profile": PureDP(1.0, "replace_one").profile()}, "the adjacency of claimed"),
    "no curve": ({"profile": "abc"}, "profile must be a privacy profile, such as account"),
    "confidence of 7": ({"confidence": 7.0}, "confidence must be"),
    "confidence of 0": ({"confidence": 0.0}, "confidence must be"),
    "unpaid": ({"confidence": 0.99}, r"confidence must not be above the confidence of any bound, got 0\.99"),
    "no bounds": ({"bounds": {}}, "at least one statistic"),
    "bounds of another kind": ({"bounds": {"x": 1.0}}, r"bounds\['x'\] must be a LowerBound, got 1\.0"),
    "a list": ({"bounds": [bound(1.0)]}, "bounds must be a mapping"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_belong_together_is_refused(case):
    wrong, words = WRONG[case]
    given = {"claimed": PURE, "bounds": {"any": bound(2.0)}, "confidence": 0.95, "profile": None, **wrong}
    with pytest.raises(ParameterError, match=words):
        Finding("a subject", **given)


def test_a_curve_that_promises_as_much_or_more_is_taken():
    assert finding(bound(0.9, 1e-5), APPROX, profile=CURVE).claimed_epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    tighter = finding(bound(0.9), PURE, profile=PureDP(0.5, "add_remove").profile())
    assert tighter.violation and tighter.claimed_epsilon(0.0) == 0.5


@pytest.mark.parametrize(
    ("claimed", "delta", "found"),
    [(PURE, None, 0.0), (APPROX, None, 1e-5), (APPROX, 0.01, 0.01), (GDP(1.0, "add_remove"), 0.1, 0.1)],
    ids=["pure", "its own", "given", "GDP"],
)
def test_the_delta_of_a_claim(claimed, delta, found):
    assert audit_delta(claimed, delta) == found


def test_a_delta_at_which_nothing_is_claimed_is_refused():
    for claimed, delta in ((APPROX, 0.0), (APPROX, 1e-6), (ZCDP(0.1, "add_remove"), 0.0)):
        with pytest.raises(ParameterError, match="delta must be a value at which"):
            audit_delta(claimed, delta)
    assert audit_delta(APPROX, 1e-6, profile=CURVE) == 1e-6
    with pytest.raises(ParameterError, match="delta is required: a ZCDP"):
        audit_delta(ZCDP(0.1, "add_remove"))
    assert audit_delta(ZCDP(0.1, "add_remove"), usual=1e-5) == 1e-5


@pytest.mark.parametrize(("epsilon", "words"), [(0.092, "is not a leak"), (1.5, "with probability at most 5 %")])
def test_every_bound_stands_beside_the_claim_and_the_value_of_no_leak(epsilon, words):
    found = Finding("a method", PURE, {"low-order bits": bound(epsilon)}, 0.95)
    data = found.as_dict()
    assert data["bounds"]["low-order bits"]["claimed_epsilon"] == PURE.epsilon == 1.0
    assert data["bounds"]["low-order bits"]["no_leak_epsilon"] == 0.0
    assert data["explanation"] == found.explanation and words in found.explanation
    assert "An attack that learns nothing gives a bound of 0." in found.explanation


def test_the_verdict_is_a_fact_with_the_sentence_of_the_record():
    for epsilon, code in ((0.5, "audit.no-violation"), (1.5, "audit.violation")):
        found = Finding("a method", PURE, {"any": bound(epsilon)}, 0.95)
        assert found.verdict.code == code and str(found.verdict) == str(found) == found.as_dict()["result"]
        assert found.verdict.values["measured_epsilon"] == epsilon and found.verdict.values["claimed_epsilon"] == 1.0


def test_a_shared_error_probability_is_explained_and_older_records_stay_valid():
    two = {"a": bound(0.5, confidence=0.99), "b": bound(0.2, confidence=0.96)}
    found = Finding("a method", PURE, two, 0.95)
    assert [fact.code for fact in found.explanations] == ["audit.within-claim", "audit.shared-error"]
    assert "The 2 statistics share the error probability of 5 %" in found.explanation
    assert found.matches_explanation(found.explanation) and found.matches_explanation(str(WITHIN_CLAIM))
    assert found.matches_explanation(found.explanation.replace("gives a bound of 0", "shows 0"))  # up to 0.10.0
    assert not found.matches_explanation("All is well.") and not found.matches_explanation("")
    alone = Finding("a method", PURE, {"a": bound(0.5)}, 0.95)
    exact = Finding("a method", PURE, {"a": bound(0.5, confidence=1.0), "b": bound(0.4, confidence=1.0)}, 1.0)
    assert alone.explanation == exact.explanation == str(WITHIN_CLAIM)


@pytest.mark.parametrize(
    ("epsilon", "claimed", "measured"),
    [(1.0, "1", "1"), (0.98765, "0.9877", "0.9876"), (0.000012345, "1.235e-05", "1.234e-05"), (math.inf, "inf", "inf")],
)
def test_numbers_are_rounded_as_in_stored_records(epsilon, claimed, measured):
    assert claimed_digits(epsilon) == claimed and measured_digits(epsilon) == measured
