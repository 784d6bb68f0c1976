# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mutants of ``dperm ledger`` that must die: comparisons left out, numbers rounded to the wrong side."""

import json
from pathlib import Path

import pytest

from dperm import ApproxDP, Pure, PureDP
from dperm.accounting.serialize import event_to_json
from dperm.cli.event_grammar import Substitution
from dperm.cli.event_parser import read_expression
from dperm.cli.ledger.account_status import account_statuses
from dperm.errors import DpermWarning, LedgerError, ParameterError
from dperm.ledger import Ledger
from dperm.ledger.stores import store_of
from dperm.ledger.units import cost_units
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.sklearn.header import HEADER

EVENT = {"dperm_event": 1, "type": "pure", "epsilon": 0.1, "adjacency": "replace_one"}


@pytest.fixture
def census(tmp_path):
    Ledger.open(tmp_path / "census.ledger", ApproxDP(3.0, 1e-6, "replace_one"), dataset="x", blocks=10)
    return Ledger(tmp_path / "census.ledger", "main")


ARTEFACTS = {
    "the digest is not compared": ('line.body.get("digest") != self.receipt.get("digest")', "False"),
    "the event is not compared": ('reserved.body.get("event") != self.event', "False"),
    "a model that was not charged passes": ("        if anchor is None:\n", "        if False:\n"),
    "another line passes": ("line.kind is not EntryKind.COMMIT or", ""),
    "an edited receipt passes": ("if not receipt_is_signed(self.receipt):", "if False:"),
    "an edited guarantee passes": ("booked[name] != value", "False"),
    "an edited header passes": ("self.header != header", "False"),
    "another schema passes": ('command.get("schema") != self.schema', "False"),
    "coefficients that do not fit pass": ("        if self.damage:\n", "        if False:\n"),
}


@pytest.mark.parametrize("mutant", ARTEFACTS)
def test_an_artefact_that_is_compared_less_is_found(assert_killed, census, mutant):
    guarantee = guarantee_as_dict(PureDP(0.1, "replace_one"))
    facts = {"guarantee": guarantee, HEADER: "sha256:22", "command": {"schema": "sha256:33"}}
    reservation = census.reserve(Pure(0.1, "replace_one"), facts=facts)
    early = {**reservation.receipt, "digest": None}
    reservation.commit("sha256:00")
    receipt = dict(reservation.receipt)
    whole = {"facts": {"guarantee": guarantee}, "header": "sha256:22", "schema": "sha256:33", "released": True}

    def problems(module, receipt, event=None, **other):
        with store_of(census.location).read() as books:
            try:
                return len(list(module.Artefact(Path("model"), receipt, event, **{**whole, **other}).problems(books)))
            except (AttributeError, LedgerError):  # of an anchor that is not there
                return 0

    def check(module):
        assert problems(module, receipt, EVENT) == 0
        assert problems(module, {**receipt, "digest": "sha256:11"}) == 2  # it is not the booked one, and not signed
        assert problems(module, {**receipt, "unit": "one visit"}) == 1
        assert problems(module, receipt, {**EVENT, "epsilon": 0.01}) == 1
        assert problems(module, {}) == 1
        assert problems(module, early) == 1
        assert problems(module, receipt, EVENT, facts={"guarantee": {**guarantee, "epsilon": 0.01}}) == 1
        assert problems(module, receipt, EVENT, header="sha256:23") == 1
        assert problems(module, receipt, EVENT, header=None) == 1
        assert problems(module, receipt, EVENT, schema="sha256:34") == 1
        assert problems(module, receipt, EVENT, damage="the coefficients do not follow from the release") == 1

    assert_killed(check, "dperm.cli.ledger.artefact", *ARTEFACTS[mutant])


WORDS = {
    "spent is rounded down": ("up(round_up(spent))", "down(float(spent))"),
    "left is rounded up": ("plain_down(round_down(one))", "plain_up(round_up(one))"),
    "the ancestors are forgotten": (
        "status.own.left(name), most)",
        "status.own.left(name), status.own.left(name))",
    ),
    "equal releases are too large": ("format_constant(each)", "format_constant(1.01 * each)"),
    "the blocks are forgotten": (" // (facts.blocks or 1)", ""),
}


@pytest.mark.parametrize("mutant", WORDS)
def test_words_that_say_too_much_are_found(assert_killed, census, mutant):
    for _ in range(3):
        census.reserve(Pure(0.1, "replace_one"))
    with pytest.warns(DpermWarning, match="but its ancestor 'main', which has"):
        child = Ledger.open(census.location, PureDP(5.0, "replace_one"), account="a", dataset="y", parents=["main"])
    standing, below = account_statuses(census.location)

    def check(module):
        ((_, _, _, _, most, _),) = module.meter_rows(below)
        assert float(most) <= child.spendable.epsilon < child.remaining.epsilon
        (_, _, spent, left, _, _), _ = module.meter_rows(standing)
        assert float(spent) >= census.spent["epsilon"]
        assert float(left) <= census.remaining.epsilon
        equal = module.describe_charges(standing.facts).split(" each if")[0].rpartition(" ")[2]
        each = cost_units(standing.facts.rule, (float(equal), 0.0))["epsilon"]
        assert 10 * each <= standing.meters["epsilon"].capacity

    assert_killed(check, "dperm.cli.ledger.formatting", *WORDS[mutant])


LIMITS = {
    "two limits pass": ("len(sizes.size_options) != 1", "not sizes.size_options"),
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
        pair = module.LimitOptions(epsilon=3.0, delta=1e-6)
        assert module.new_limit(pair, "replace_one", 10) == ApproxDP(3.0, 1e-6, "replace_one")
        assert refused(module.new_limit, pair, "replace_one", None)
        assert refused(module.new_limit, module.LimitOptions(epsilon=3.0, rho=1.0), "replace_one", None)
        assert refused(module.changed_limit, PureDP(1.0, "replace_one"), module.LimitOptions(rho=2.0))

    assert_killed(check, "dperm.cli.ledger.limits", *LIMITS[mutant])


def test_a_spelling_that_loses_digits_is_found(assert_killed):
    def check(module):
        event = Pure(0.1 + 0.2, "replace_one") * 3
        text = module.spelled(json.loads(event_to_json(event)), "replace_one")
        assert read_expression(text).event(Substitution("replace_one")) == event

    old, new = 'else str(value).removesuffix(".0")', 'else f"{value:g}"'
    assert_killed(check, "dperm.accounting.spelling", old, new)
