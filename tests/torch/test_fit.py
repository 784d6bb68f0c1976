# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""`dperm.torch.fit`: the common case in one call."""

import functools

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_training import data_of, model_of, weights_of

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import DataError, DpermWarning, ParameterError
from dperm.torch import AdamBC, fit
from dperm.torch.loss_functions import per_example

ASKED = {"epsilon": 2.0, "delta": 1e-3, "grade": "fast", "progress": False}
FEW = {**ASKED, "batch_size": 10, "epochs": 1, "n": 40}
LOSSES = {
    "a function without reduction": functools.partial(functional.cross_entropy, reduction="none"),
    "torch's function": functional.cross_entropy,
    "torch's module": nn.CrossEntropyLoss(),
    "a module of sums": nn.CrossEntropyLoss(reduction="sum"),
    "one's own": lambda outputs, targets: functional.cross_entropy(outputs, targets, reduction="none"),
}


def budget() -> MemoryBudget:
    return MemoryBudget(ApproxDP(5.0, 1e-2, "add_remove"), blocks=9)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_every_kind_of_loss_trains_the_model_in_place(loss):
    model = model_of()
    before = weights_of(model)
    release = fit(model, data_of(), loss, **FEW)
    assert release.value is model
    assert not torch.equal(weights_of(model), before)
    assert release.guarantee == ApproxDP(2.0, 1e-3, "add_remove")
    assert release.record.public["steps"] == 4


def test_it_learns():
    data = data_of(1000)
    model = model_of()
    fit(model, data, nn.CrossEntropyLoss(), **{**ASKED, "epsilon": 8.0}, n=1000, epochs=25, learning_rate=0.05)
    assert float((model(data[0]).argmax(1) == data[1]).double().mean()) > 0.9


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_losses_are_those_of_single_examples(loss):
    outputs = torch.randn(6, 2, generator=torch.Generator().manual_seed(3))
    targets = torch.tensor([0, 1, 1, 0, 1, 0])
    expected = functional.cross_entropy(outputs, targets, reduction="none")
    assert torch.equal(per_example(loss)(outputs, targets), expected)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("kind", ["module", "function"])
def test_several_losses_of_an_example_are_reduced_as_asked(reduction, kind):
    outputs, targets = torch.arange(6.0).reshape(3, 2), torch.zeros(3, 2)
    loss = nn.MSELoss(reduction=reduction)
    if kind == "function":
        loss = functools.partial(functional.mse_loss, reduction=reduction)
    found = per_example(loss)(outputs, targets)
    assert torch.equal(found, getattr(outputs.square(), reduction)(1))


def test_the_users_loss_is_not_changed():
    loss = nn.CrossEntropyLoss()
    per_example(loss)
    assert loss.reduction == "mean"


@pytest.mark.parametrize(
    "loss",
    [
        lambda outputs, targets: functional.cross_entropy(outputs, targets),
        lambda outputs, targets: outputs,
        lambda outputs, targets: 1.0,
    ],
    ids=["one number", "two dimensions", "no tensor"],
)
def test_a_loss_that_is_not_one_for_each_example_is_refused_before_the_charge(loss):
    ledger = budget()
    with pytest.raises(ParameterError, match="one loss for each example"):
        fit(model_of(), data_of(), loss, **FEW, ledger=ledger)
    assert ledger.spent["epsilon"] == 0.0


def test_a_loss_with_trained_parameters_is_refused():
    with pytest.raises(ParameterError, match="part of the model"):
        fit(model_of(), data_of(), nn.Linear(2, 1), **FEW)


def test_n_must_be_declared_under_add_remove_only():
    with pytest.raises(ParameterError, match="n must be declared"):
        fit(model_of(), data_of(), functional.cross_entropy, **{**FEW, "n": None})
    free = {**FEW, "n": None, "adjacency": "replace_one"}
    assert fit(model_of(), data_of(), functional.cross_entropy, **free).record.public["n"] == 40


@pytest.mark.filterwarnings("ignore:delta=0.001 is above 1/n")
def test_batch_size_and_epochs_follow_from_public_constants():
    release = fit(model_of(), data_of(), functional.cross_entropy, **ASKED, n=10**6)
    assert release.record.public["steps"] == 1000
    assert release.record.public["batch_size"] >= 256


@pytest.mark.parametrize(
    "optimizer",
    [lambda model: torch.optim.SGD(model.parameters(), lr=0.1), lambda model: AdamBC, lambda model: None],
    ids=["an optimizer", "a class", "left out"],
)
def test_optimizers_of_every_kind(optimizer):
    model = model_of()
    assert fit(model, data_of(), functional.cross_entropy, **FEW, optimizer=optimizer(model)).value is model


def test_a_learning_rate_is_for_optimizers_that_are_made_here():
    model = model_of()
    made = []

    def maker(parameters, lr):
        made.append(lr)
        return torch.optim.SGD(parameters, lr=lr)

    fit(model, data_of(), functional.cross_entropy, **FEW, optimizer=maker, learning_rate=0.25)
    assert made == [0.25]
    given = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ParameterError, match="learning_rate must be left out"):
        fit(model, data_of(), functional.cross_entropy, **FEW, optimizer=given, learning_rate=0.25)
    with pytest.raises(ParameterError, match="optimizer must be"):
        fit(model, data_of(), functional.cross_entropy, **FEW, optimizer="adam")


def test_frozen_parameters_stay():
    model = model_of()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    fit(model, data_of(), functional.cross_entropy, **FEW)
    assert torch.equal(model[0].weight, before)


def test_losses_are_shown_on_request_only_and_labelled(capsys):
    fit(model_of(), data_of(), functional.cross_entropy, **FEW)
    assert capsys.readouterr() == ("", "")
    fit(model_of(), data_of(), functional.cross_entropy, **FEW, show_loss=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.endswith("(not covered by the guarantee)") for line in lines)


def test_the_budget_is_charged_once():
    ledger = budget()
    release = fit(model_of(), data_of(), functional.cross_entropy, **FEW, ledger=ledger)
    assert 0 < ledger.spent["epsilon"] <= 2.0
    assert release.record.ledger is not None


WRONG_LABELS = {
    "floats": lambda y: y.float(),
    "out of range": lambda y: y + 7,
    "another shape": lambda y: y[:, None],
}


@pytest.mark.parametrize("change", WRONG_LABELS.values(), ids=WRONG_LABELS)
def test_labels_that_the_loss_does_not_take_are_refused_before_the_charge(change):
    ledger, (x, y) = budget(), data_of()
    with pytest.raises(DataError, match=r"Nothing was charged\. Check dtype, shape and range of the labels") as caught:
        fit(model_of(), (x, change(y)), nn.CrossEntropyLoss(), **FEW, ledger=ledger)
    assert ledger.spent["epsilon"] == 0
    assert caught.value.__context__ is None, "the error of torch can repeat a label"


def test_an_error_after_the_charge_says_that_the_charge_stays():
    ledger = budget()

    def loss(outputs, targets):
        if ledger.spent["epsilon"] > 0:
            raise ValueError("label 7 of record 3")
        return functional.cross_entropy(outputs, targets, reduction="none")

    with pytest.raises(DataError, match="The charge is not refunded") as caught:
        fit(model_of(), data_of(), loss, **{**FEW, "batch_size": 10}, ledger=ledger)
    assert "record 3" not in str(caught.value)


def test_records_must_be_pairs():
    with pytest.raises(ParameterError, match="pair"):
        fit(model_of(), (*data_of(), torch.zeros(40)), functional.cross_entropy, **FEW)


def test_a_map_style_data_set_and_a_target_that_zeros_cannot_stand_for():
    x, y = data_of()
    pairs = [(row, label + 1) for row, label in zip(x, y, strict=True)]

    def loss(outputs, targets):
        if bool((targets == 0).any()):
            raise ValueError("no such target")
        return functional.cross_entropy(outputs, targets - 1, reduction="none")

    def collate(batch):
        return torch.stack([row for row, _ in batch]), torch.stack([label for _, label in batch])

    # an empty sample would be one row of zeros: every record is drawn
    asked = {**FEW, "batch_size": 40}
    assert fit(model_of(), pairs, loss, **asked, collate_fn=collate).record.public["steps"] == 1


def test_a_delta_above_one_in_n_is_warned_of_once():
    with pytest.warns(DpermWarning, match="above 1/n") as found:
        fit(model_of(), data_of(), functional.cross_entropy, **{**FEW, "delta": 0.1})
    assert len(found) == 1
