# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The amount that can really be spent: the least along the ancestors, each under its own filter."""

import pytest

from dperm import GDP, RDP, ZCDP, ApproxDP, Gaussian, Laplace, Pure, PureDP
from dperm.errors import BudgetError, ConversionError, DpermWarning

ONE = "replace_one"
LIMITS = {
    "pure": (PureDP(2.0, ONE), {}),
    "approximate": (ApproxDP(2.0, 1e-6, ONE), {"blocks": 5}),
    "other share": (ApproxDP(2.0, 1e-5, ONE), {"blocks": 20}),
    "advanced": (ApproxDP(4.0, 1e-6, ONE), {"blocks": 5, "composition": "advanced"}),
    "zCDP": (ZCDP(0.5, ONE), {}),
    "GDP": (GDP(1.5, ONE), {}),
    "RDP": (RDP([(8.0, 0.9)], ONE), {}),
}


def covers(ledger, event):
    try:
        ledger.check(event)
    except (BudgetError, ConversionError):
        return False
    return True


@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
@pytest.mark.parametrize("above", ["pure", "approximate", "advanced", "zCDP"])
@pytest.mark.parametrize("below", LIMITS)
def test_the_largest_release_fits_and_a_slightly_larger_one_does_not(open_file, below, above):
    """The size is in the child's currency; the event with this cost is found by bisection over its noise."""
    limit, more = LIMITS[above]
    open_file(limit, account="parent", **more).reserve(Laplace(20.0))
    limit, more = LIMITS[below]
    child = open_file(limit, account="child", parents=["parent"], **more)
    child.reserve(Laplace(40.0))
    kind = Gaussian if covers(child, Gaussian(1e6)) else Laplace
    low, high = 1e-2, 1e6
    for _ in range(30):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if covers(child, kind(middle)) else (middle, high)
    rule = child.account_facts.rule
    largest = dict(zip(rule.names, rule.cost(kind(high)), strict=True))[rule.names[0]]
    found = child.spendable
    size = found.curve[0][1] if below == "RDP" else next(iter(vars(found).values()))
    size = size**2 if below in ("GDP", "advanced") else size
    assert size == pytest.approx(largest, rel=1e-6)


def test_among_equal_filters_the_smallest_remainder_counts_exactly(open_at):
    census = open_at(PureDP(1.0, ONE), account="census")
    north = open_at(PureDP(0.75, ONE), account="north", parents=["census"])
    town = open_at(PureDP(0.5, ONE), account="town", parents=["north"])
    assert town.spendable == town.remaining == PureDP(0.5, ONE)
    census.reserve(Pure(0.875, ONE))
    assert town.remaining == PureDP(0.5, ONE)
    assert town.spendable == PureDP(0.125, ONE)
    with pytest.raises(BudgetError, match="'census'"):
        town.reserve(Pure(0.126, ONE))
    town.reserve(Pure(0.125, ONE)).commit("sha256:00")
    assert town.spendable == north.spendable == PureDP(0.0, ONE)


def test_releases_are_counted_along_the_ancestors(open_at):
    census = open_at(ApproxDP(4.0, 3e-6, ONE), account="census", blocks=3)
    with pytest.warns(DpermWarning, match="'census', which has ApproxDP"):
        north = open_at(ApproxDP(2.0, 5e-6, ONE), account="north", blocks=5, parents=["census"])
    assert (north.spendable.epsilon, north.spendable.delta) == (2.0, pytest.approx(3e-6))
    for _ in range(3):
        census.reserve(Laplace(1e3))
    assert north.remaining.epsilon == 2.0 and north.balances()[0].releases_left == 5
    assert north.spendable == ApproxDP(0.0, 0.0, ONE)


def test_balances_list_the_account_and_every_ancestor_once(open_at):
    census = open_at(PureDP(2.0, ONE), account="census")
    for name, parents in {"north": ["census"], "old": ["census"], "joined": ["north", "old"]}.items():
        ledger = open_at(PureDP(1.0, ONE), account=name, parents=parents)
    ledger.reserve(Pure(0.25, ONE)).commit("sha256:00")
    census.reserve(Pure(0.5, ONE)).commit("sha256:01")
    found = ledger.balances()
    assert [one.account for one in found] == ["joined", "north", "old", "census"]
    assert [one.spent["epsilon"] for one in found] == [0.25, 0.25, 0.25, 0.75]
    assert found[-1].remaining == PureDP(1.25, ONE) == census.remaining
    assert found[-1].to_dict()["limit"] == {"kind": "PureDP", "epsilon": 2.0, "adjacency": ONE}


def test_a_child_with_more_than_its_parent_has_left_is_warned_about(open_at):
    census = open_at(PureDP(1.0, ONE), account="census")
    census.reserve(Pure(0.5, ONE))
    with pytest.warns(
        DpermWarning, match=r"'census', which has PureDP\(epsilon=0.5.* The largest release that every account covers"
    ):
        open_at(PureDP(0.75, ONE), account="north", parents=["census"])


def test_a_child_within_its_parent_is_not_warned_about(open_at, recwarn):
    open_at(ApproxDP(4.0, 1e-6, ONE), account="census", blocks=10)
    open_at(ApproxDP(2.0, 1e-6, ONE), account="north", blocks=10, parents=["census"])
    open_at(ZCDP(0.01, ONE), account="south", parents=["census"])
    assert not recwarn.list
