# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Membership inference against PyTorch models: scores, the loss threshold, LiRA."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from dperm import ApproxDP
from dperm.errors import ParameterError
from dperm.torch import fit
from dperm.torch.audit import lira, lira_against, logit_scores, loss_threshold

RECORDS, FEATURES = 120, 60


def records(seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels that can only be learnt by heart."""
    made = torch.Generator().manual_seed(seed)
    return torch.randn(RECORDS, FEATURES, generator=made), torch.randint(0, 2, (RECORDS,), generator=made)


def make_model() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return nn.Linear(FEATURES, 2)


def train(model: nn.Module, subset: tuple[torch.Tensor, torch.Tensor]) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(30):
        optimizer.zero_grad()
        functional.cross_entropy(model(subset[0]), subset[1]).backward()
        optimizer.step()


@pytest.mark.parametrize("classes", [2, 5])
def test_scores_are_logits_of_the_own_class(classes):
    model, labels = nn.Linear(FEATURES, classes).double(), torch.arange(RECORDS) % classes
    inputs = records()[0].double()
    p = torch.softmax(model(inputs), 1)[torch.arange(RECORDS), labels].detach().numpy()
    assert logit_scores(model, (inputs, labels)) == pytest.approx(np.log(p) - np.log1p(-p))
    assert model.training


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_output_is_the_logit_of_class_1(shape):
    model = nn.Sequential(nn.Linear(FEATURES, 1), nn.Flatten(0) if shape == (-1,) else nn.Identity())
    inputs, labels = records()
    expected = functional.binary_cross_entropy_with_logits(model(inputs).reshape(-1), labels.float(), reduction="none")
    assert -np.log(1 / (1 + np.exp(-logit_scores(model, (inputs, labels))))) == pytest.approx(
        expected.detach().numpy(), rel=1e-4
    )


def test_scores_do_not_saturate():
    model = nn.Linear(1, 2, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.0], [500.0]]))
    found = logit_scores(model, (torch.ones(12, 1).double(), torch.arange(12) % 2))
    assert found[:2].tolist() == [-500.0, 500.0]


def test_a_loss_threshold_tells_members_of_a_model_that_learnt_by_heart():
    members, others, model = records(1), records(2), make_model()
    train(model, members)
    found = loss_threshold(model, members, others)
    assert found.roc.auc > 0.6
    assert found.roc.members == pytest.approx(np.sort(logit_scores(model, members))[::-1])


def test_lira_beats_one_threshold_for_all():
    shares = []
    found = lira(make_model, train, records=records(), models=32, seed=2, progress=shares.append)
    assert found.roc.auc > 0.8
    assert found.roc.auc > found.baseline.auc + 0.05
    assert shares[-1] == 1
    assert found.finding(ApproxDP(0.5, 1e-3, "add_remove")).violation


def test_lira_finds_little_in_private_models():
    def privately(model, subset):
        fit(
            model,
            subset,
            functional.cross_entropy,
            epsilon=0.5,
            delta=1e-3,
            n=60,
            batch_size=60,
            epochs=1,
            grade="fast",
            progress=False,
        )

    found = lira(make_model, privately, records=records(), models=8, seed=2)
    assert found.roc.auc < 0.62
    assert not found.finding(ApproxDP(0.5, 1e-3, "add_remove")).violation


@pytest.mark.parametrize("independent", [True, False])
def test_a_trained_model_is_attacked_with_shadow_models(independent):
    target, data = make_model(), records()
    member = np.random.default_rng(5).random(RECORDS) < 0.5
    chosen = torch.from_numpy(member)
    train(target, (data[0][chosen], data[1][chosen]))
    options = {"make_model": make_model, "train": train, "records": data, "models": 16, "seed": 4}
    found = lira_against(target, member, independent_coins=independent, **options)
    assert found.roc.auc > 0.75
    claimed = ApproxDP(0.1, 1e-3, "add_remove")
    if independent:
        assert found.finding(claimed).violation
    else:
        assert found.adjacency is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((records()[0], records()[1].float()), "records must be a pair"),
        ((records()[0], records()[1][:-1]), "records must be a pair"),
        (records()[0], "records must be a pair"),
        ((records()[0], records()[1] + 1), "labels must be whole numbers from 0 to 1"),
        ((records()[0] * torch.nan, records()[1]), "must not return NaN scores"),
    ],
    ids=["no classes", "too few labels", "no labels", "another class", "NaN"],
)
def test_bad_records_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        logit_scores(make_model(), given)


def test_members_must_be_truth_values():
    with pytest.raises(ParameterError, match="member must be a list of True and False"):
        lira_against(make_model(), np.arange(RECORDS), make_model=make_model, train=train, records=records())


def test_a_model_is_no_function_that_makes_models():
    records = torch.zeros(40, 3), torch.arange(40) % 2
    with pytest.raises(ParameterError, match="make_model must be a function that makes a new model"):
        lira(nn.Linear(3, 2), lambda model, half: None, records=records, models=6)
