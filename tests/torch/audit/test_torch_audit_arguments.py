# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an audit of a training cannot use is refused by name, before anything is trained."""

import numpy as np
import pytest
import torch
from torch import nn
from torch_canaries import canaries_of, data_of, linear, margin_loss, plan_of, sgd

from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.torch import audit
from dperm.torch.audit import (
    TrainingCanaries,
    Watch,
    audit_training,
    finding_of,
    lira,
    lira_against,
    logit_scores,
    mislabelled_canaries,
    one_hot,
    random_canaries,
    with_canaries,
)

X, Y = torch.zeros(60, 3), torch.zeros(60, dtype=torch.long)
ZERO = torch.tensor(0)
RECORDS = (torch.ones(80, 3), torch.arange(80) % 2)
NAN = float("nan")

MAKING = {
    "NaN targets": (lambda: TrainingCanaries((X, X[:, 0] * NAN)), "records must be finite"),
    "complex": (lambda: TrainingCanaries((X + 1j, Y)), "records must be real numbers"),
    "size for shape": (lambda: one_hot(50, ZERO, shape=60), "shape must be a tuple"),
    "no shape": (lambda: random_canaries(50, 2, shape=None), "shape must be a tuple"),
    "scale": (lambda: one_hot(50, ZERO, shape=(60,), scale=1e300), "scale must be at most 3.4"),
    "huge": (lambda: random_canaries(2**53, 2, shape=(3,)), "at most 8,589,934,592 entries"),
    "NaN target": (lambda: one_hot(50, torch.tensor(NAN), shape=(60,)), "records must be finite"),
    "list of labels": (lambda: mislabelled_canaries(X, [0] * 60, classes=2), "labels must be whole numbers"),
    "truths for labels": (lambda: mislabelled_canaries(X, Y.bool(), classes=2), "labels must be whole numbers"),
    "small type": (
        lambda: mislabelled_canaries(X, Y.to(torch.uint8), classes=300),
        "classes must fit into the type of labels",
    ),
    "joined text": (lambda: with_canaries(data_of(), "x"), "canaries must be a TrainingCanaries"),
    "no data": (
        lambda: with_canaries((data_of()[0][:0], data_of()[1][:0]), canaries_of()),
        "dataset must hold at least one record",
    ),
}


@pytest.mark.parametrize(("call", "words"), MAKING.values(), ids=MAKING)
def test_canaries_that_are_none_are_refused(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"plan": "x"}, "plan must be a DPSGDPlan, got 'x'"),
        ({"canaries": canaries_of().records}, "canaries must be a TrainingCanaries"),
        ({"model": "x"}, "model must be a Module"),
        ({"model": linear().requires_grad_(False)}, "model must have parameters to be trained"),
        ({"model": nn.Linear(5, 1)}, "model and loss must take the canaries' inputs"),
        ({"progress": "x"}, "progress must be a function"),
    ],
    ids=["plan", "canaries", "model", "frozen", "size", "progress"],
)
def test_arguments_of_an_audit_are_named(given, words):
    asked = {"plan": plan_of(2.0), "model": linear(), "canaries": canaries_of(), **given}
    plan, model, canaries = (asked.pop(name) for name in ("plan", "model", "canaries"))
    with pytest.raises(ParameterError, match=words):
        audit_training(plan, model, canaries, dataset=data_of(), loss=margin_loss, optimizer=sgd, **asked)


def test_a_watch_is_for_one_plan():
    watch = Watch(plan_of(2.0), linear(), canaries=canaries_of(), loss=margin_loss)
    with pytest.raises(ParameterError, match="plan must be the plan of the watch"):
        finding_of(plan_of(0.01), watch, access="black_box")
    assert finding_of(plan_of(2.0), watch, access="black_box").bound.epsilon == 0
    with pytest.raises(ParameterError, match="watch must be a Watch"):
        finding_of(plan_of(2.0), "x")
    with pytest.raises(ParameterError, match="private must be a PrivateTraining"):
        watch.see(None)


def against(**given):
    asked = {"make_model": lambda: nn.Linear(3, 2), "train": lambda *_: None, "records": RECORDS, "models": 6, **given}
    return lira_against(asked.pop("target", nn.Linear(3, 2)), asked.pop("member", np.arange(80) % 3 == 0), **asked)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: logit_scores("x", RECORDS), "model must be a Module"),
        (lambda: logit_scores(nn.Linear(5, 2), RECORDS), "model must take the inputs of records"),
        (lambda: logit_scores(nn.Unflatten(1, (1, 3)), RECORDS), "model must return one output for each record"),
        (lambda: logit_scores(nn.Linear(3, 1), (RECORDS[0], torch.arange(80) % 3)), "labels must be 0 or 1"),
        (lambda: logit_scores(nn.Linear(3, 2), (X[:0], Y[:0])), "records must hold at least one record"),
        (lambda: lira("x", print, records=RECORDS, models=6), "make_model must be a function"),
        (lambda: lira(lambda: 3, print, records=RECORDS, models=6), "result of make_model must be a Module"),
        (lambda: against(train=None), "train must be a function"),
        (lambda: against(member=[[True], [True, False]]), "member must be an array"),
        (lambda: against(member=[True]), "for each of 80 records, got 1"),
        (lambda: against(independent_coins="x"), "independent_coins must be True or False"),
    ],
    ids=["model", "inputs", "shape", "labels", "none", "make", "made", "train", "ragged", "length", "coins"],
)
def test_arguments_of_membership_attacks_are_named(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_canaries_do_not_follow_from_numbers_of_the_same_seed():
    found = random_canaries(50, 2, shape=(3,), seed=5)
    same = generator(5).standard_normal((50, 3), dtype=np.float32)
    assert not np.isin(found.records[0].numpy(), same).any()


@pytest.mark.parametrize(
    ("old", "new"),
    [("Canaries", "TrainingCanaries"), ("joined", "with_canaries"), ("mislabelled", "mislabelled_canaries")],
)
def test_old_names_work_with_a_warning(old, new):
    with pytest.warns(DeprecationWarning, match=f"use dperm.torch.audit.{new}"):
        assert getattr(audit, old) is getattr(audit, new)
