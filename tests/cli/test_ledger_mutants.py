# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mutants of ``dperm ledger`` that must die: comparisons left out, numbers rounded to the wrong side."""

import json
from pathlib import Path

import pytest

from dperm import ApproxDP, Pure, PureDP
from dperm.accounting.serialize import event_to_json
from dperm.cli.grammar import Filling
from dperm.cli.ledger.standing import standings
from dperm.cli.reading import read_expression
from dperm.errors import LedgerError, ParameterError
from dperm.ledger import Ledger
from dperm.ledger.stores import store_of
from dperm.ledger.units import cost_units

EVENT = {"dperm_event": 1, "type": "pure", "epsilon": 0.1, "adjacency": "replace_one"}


@pytest.fixture
def census(tmp_path):
    return Ledger.open(tmp_path / "census.ledger", ApproxDP(3.0, 1e-6, "replace_one"), dataset="x", blocks=10)


CLAIMS = {
    "the digest is not compared": ('line.body.get("digest") != self.receipt.get("digest")', "False"),
    "the event is not compared": ('reserved.body.get("event") != self.event', "False"),
    "a model that was not charged passes": ("        if anchor is None:\n", "        if False:\n"),
    "another line passes": ("line.kind is not Kind.COMMIT or", ""),
    "an edited receipt passes": ("if not receipt_is_signed(self.receipt):", "if False:"),
}


@pytest.mark.parametrize("mutant", CLAIMS)
def test_a_claim_that_is_compared_less_is_found(assert_killed, census, mutant):
    reservation = census.reserve(Pure(0.1, "replace_one"))
    early = {**reservation.receipt, "digest": None}
    reservation.commit("sha256:00")
    receipt = dict(reservation.receipt)

    def problems(module, receipt, event=None):
        with store_of(census.location).read() as books:
            try:
                return len(list(module.Claim(Path("model"), receipt, event).problems(books)))
            except (AttributeError, LedgerError):  # of an anchor that is not there
                return 0

    def check(module):
        assert problems(module, receipt, EVENT) == 0
        assert problems(module, {**receipt, "digest": "sha256:11"}) == 2  # it is not the booked one, and not signed
        assert problems(module, {**receipt, "unit": "one visit"}) == 1
        assert problems(module, receipt, {**EVENT, "epsilon": 0.01}) == 1
        assert problems(module, {}) == 1
        assert problems(module, early) == 1

    assert_killed(check, "dperm.cli.ledger.anchors", *CLAIMS[mutant])


WORDS = {
    "spent is rounded down": ("up(round_up(spent))", "down(float(spent))"),
    "left is rounded up": ("plain_down(round_down(standing.left(name)))", "plain_up(round_up(standing.left(name)))"),
    "equal releases are too large": ("plain(each)", "plain(1.01 * each)"),
    "the blocks are forgotten": (" // (facts.blocks or 1)", ""),
}


@pytest.mark.parametrize("mutant", WORDS)
def test_words_that_say_too_much_are_found(assert_killed, census, mutant):
    for _ in range(3):
        census.reserve(Pure(0.1, "replace_one"))
    (standing,) = standings(census.location)

    def check(module):
        (_, _, spent, left, _), _ = module.meter_rows(standing)
        assert float(spent) >= census.spent["epsilon"]
        assert float(left) <= census.remaining.epsilon
        equal = module.charged(standing.facts).split(" each if")[0].rpartition(" ")[2]
        each = cost_units(standing.facts.rule, (float(equal), 0.0))["epsilon"]
        assert 10 * each <= standing.meters["epsilon"].capacity

    assert_killed(check, "dperm.cli.ledger.words", *WORDS[mutant])


LIMITS = {
    "two limits pass": ("len(sizes.given) != 1", "not sizes.given"),
    "delta without blocks passes": ("if delta > 0 and blocks is None:", "if False:"),
    "the delta is dropped": ("    if delta > 0:\n        return ApproxDP", "    if False:\n        return ApproxDP"),
    "another kind passes": ("if option != own:", "if False:"),
}


@pytest.mark.parametrize("mutant", LIMITS)
def test_a_limit_that_is_read_otherwise_is_found(assert_killed, mutant):
    def refused(function, *arguments):
        try:
            function(*arguments)
        except ParameterError:
            return True
        return False

    def check(module):
        pair = module.Sizes(epsilon=3.0, delta=1e-6)
        assert module.new_limit(pair, "replace_one", 10) == ApproxDP(3.0, 1e-6, "replace_one")
        assert refused(module.new_limit, pair, "replace_one", None)
        assert refused(module.new_limit, module.Sizes(epsilon=3.0, rho=1.0), "replace_one", None)
        assert refused(module.changed_limit, PureDP(1.0, "replace_one"), module.Sizes(rho=2.0))

    assert_killed(check, "dperm.cli.ledger.limits", *LIMITS[mutant])


def test_a_spelling_that_loses_digits_is_found(assert_killed):
    def check(module):
        event = Pure(0.1 + 0.2, "replace_one") * 3
        text = module.spelled(json.loads(event_to_json(event)), "replace_one")
        assert read_expression(text).event(Filling("replace_one")) == event

    old, new = 'else str(value).removesuffix(".0")', 'else f"{value:g}"'
    assert_killed(check, "dperm.accounting.spelling", old, new)
