# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Wrong ways to train privately: each is refused, in words that name what was done and never a private number."""

import re

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from torch_training import attached, data_of, loss_of, model_of, plan_of, sgd, walk

from dperm.errors import AssumptionError, DataError, DpermError, LeakError, ParameterError


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_a_step_belongs_to_a_batch():
    model = model_of()
    with attached(plan_of(), model) as private:
        with pytest.raises(ParameterError, match="once for every batch"):
            private.step(torch.zeros(1))
        for x, y in private:
            losses = loss_of(model, x, y)
            private.step(losses)
            with pytest.raises(ParameterError, match="once for every batch"):
                private.step(losses)
            break


def test_no_batch_may_be_left_out():
    model = model_of()
    with attached(plan_of(), model) as private:
        loop = iter(private)
        next(loop)
        with pytest.raises(ParameterError, match="once for every batch"):
            next(loop)
    with attached(plan_of(steps=1, rate=1.0), model) as private:  # the last one neither
        with pytest.raises(ParameterError, match="once for every batch"):
            for _ in private:
                pass


WRONG = {
    "mean": lambda losses: losses.mean(),
    "sum": lambda losses: losses.sum(),
    "one number": lambda losses: losses.mean().reshape(1),
    "two dimensions": lambda losses: losses[:, None],
    "too few": lambda losses: losses[:-1],
    "too many": lambda losses: torch.cat([losses, losses]),
    "no tensor": lambda losses: losses.tolist(),
}


@pytest.mark.parametrize("name", WRONG)
def test_losses_that_are_not_one_for_each_row_are_refused(name):
    model = model_of()
    with attached(plan_of(rate=1.0), model) as private:
        for x, y in private:
            losses = loss_of(model, x, y)
            with pytest.raises(ParameterError, match="one loss for each row") as caught:
                private.step(WRONG[name](losses))
            assert not re.search(r"\d\d", str(caught.value))  # how many rows a sample has is private
            private.step(losses)


def test_losses_without_gradient_are_refused():
    model = model_of()
    with attached(plan_of(rate=1.0), model) as private:
        for x, y in private:
            with torch.no_grad():
                losses = loss_of(model, x, y)
            with pytest.raises(ParameterError, match="gradient"):
                private.step(losses)
            break


def test_losses_that_mix_examples_are_refused():
    model = model_of()
    with pytest.raises(AssumptionError, match="other examples"), attached(plan_of(rate=1.0), model) as private:
        for x, y in private:
            losses = loss_of(model, x, y)
            private.step(losses - losses.mean())


def test_losses_that_mix_examples_are_seen_after_batches_of_one_row_too():
    model = model_of()
    plan = plan_of(rate=1.0, physical_batch_size=39, steps=2)
    with pytest.raises(AssumptionError, match="other examples"), attached(plan, model) as private:
        for k, (x, y) in enumerate(private):  # 39 rows, 1 row, 39 rows
            losses = loss_of(model, x, y)
            if k == 0:
                private.gradients.outputs.clear()  # as if nothing could be said of them
            private.step(losses if k < 2 else losses * losses.mean())


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_one_loop_at_a_time():
    model = model_of()
    with attached(plan_of(), model) as private:
        outer = iter(private)
        x, y = next(outer)
        with pytest.raises(ParameterError, match="between two steps"):
            iter(private)
        private.step(loss_of(model, x, y))
        inner = iter(private)
        with pytest.raises(ParameterError, match="only one loop"):
            next(outer)
        next(inner)


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_a_sample_that_was_seen_cannot_be_dropped_for_another_one():
    model = model_of()
    with attached(plan_of(rate=0.9, physical_batch_size=5), model) as private:
        for x, y in private:
            assert not private.step(loss_of(model, x, y))
            break
        with pytest.raises(ParameterError, match="between two steps"):
            iter(private)
        with pytest.raises(ParameterError, match="between two steps"):
            private.save("nowhere.pt")


USES = {
    "loop": iter,
    "step": lambda private: private.step(torch.zeros(1)),
    "save": lambda private: private.save("nowhere.pt"),
}
LOOKS = {
    "clip norm": lambda private: private.clip_norm,
    "so far": lambda private: private.so_far(),
    "extra": lambda private: private.extra,
    "describe": lambda private: private.describe(),
}


@pytest.mark.parametrize("name", {**USES, **LOOKS})
def test_nothing_works_before_the_block(name):
    with pytest.raises(ParameterError, match="with block"):
        {**USES, **LOOKS}[name](attached(plan_of()))


@pytest.mark.parametrize("name", USES)
def test_nothing_is_drawn_after_the_block(name):
    with attached(plan_of()) as private:
        pass
    with pytest.raises(ParameterError, match="with block"):
        USES[name](private)


@pytest.mark.filterwarnings("ignore:the loop ended before")
def test_a_loop_does_not_outlive_its_block():
    model = model_of()
    with attached(plan_of(), model) as private:
        loop = iter(private)
        x, y = next(loop)
        private.step(loss_of(model, x, y))
    with pytest.raises(ParameterError, match="with block"):
        next(loop)


def test_what_was_run_can_be_looked_at_after_the_block():
    with attached(plan_of()) as private:
        pass
    assert "NOT a guarantee" in private.so_far()
    assert private.clip_norm == 1.0


def test_a_training_is_entered_once():
    training = attached(plan_of())
    with training, pytest.raises(ParameterError, match="entered once"), training:
        pass
    with pytest.raises(ParameterError, match="entered once"), training:
        pass


def test_a_training_that_failed_is_not_entered_again():
    """What it drew would not be counted."""
    training, model = attached(plan_of()), model_of()
    with pytest.raises(KeyboardInterrupt), training:
        raise KeyboardInterrupt
    with pytest.raises(ParameterError, match="entered once"), training:
        walk(training, model)


def test_there_is_no_release_before_the_end_or_after_an_error():
    training = attached(plan_of())
    with training as private, pytest.raises(ParameterError, match="release"):
        private.release  # noqa: B018
    failed = attached(plan_of())
    with pytest.raises(KeyError), failed:
        raise KeyError
    with pytest.raises(ParameterError, match="release"):
        failed.release  # noqa: B018


def test_the_optimizer_is_not_stepped_by_hand():
    model = model_of()
    optimizer = sgd(model)
    with plan_of().attach(model, optimizer, data_of()) as private:
        for x, y in private:
            losses = loss_of(model, x, y)
            losses.mean().backward(retain_graph=True)
            with pytest.raises(LeakError, match="by hand"):
                optimizer.step()
            private.step(losses)
            with pytest.raises(LeakError, match="by hand"):
                optimizer.step()


def test_what_backward_leaves_in_the_gradients_is_not_used():
    model = model_of()
    with attached(plan_of(), model) as private:
        for x, y in private:
            losses = loss_of(model, x, y)
            (1e12 * losses.sum()).backward(retain_graph=True)
            private.step(losses)
            assert max(float(value.grad.abs().max()) for value in model.parameters()) < 100


def test_what_backward_left_in_frozen_parameters_is_not_used():
    """Optimizers step along every gradient that they find, also where nothing is trained."""
    model = model_of()
    optimizer = sgd(model)
    X, y = data_of()
    loss_of(model, X, y).sum().backward()
    for value in model[0].parameters():
        value.requires_grad_(False)
    extra = nn.Parameter(torch.ones(1))
    before = [value.detach().clone() for value in (*model[0].parameters(), extra)]
    with plan_of().attach(model, optimizer, (X, y)) as private:
        optimizer.add_param_group({"params": [extra]})
        for x, label in private:
            losses = loss_of(model, x, label)
            (extra * losses.detach().sum()).sum().backward()
            private.step(losses)
    assert all(torch.equal(one, two) for one, two in zip(before, (*model[0].parameters(), extra), strict=True))


OTHERS = {
    "another model's": lambda model: sgd(model_of()),
    "a part": lambda model: sgd(model[0]),
    "more": lambda model: torch.optim.SGD([*model.parameters(), nn.Parameter(torch.ones(1))], lr=0.1),
    "LBFGS": lambda model: torch.optim.LBFGS(model.parameters()),
    "none": lambda model: None,
    "a scheduler": lambda model: torch.optim.lr_scheduler.StepLR(sgd(model), 1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_optimizers_are_refused(name):
    model = model_of()
    with pytest.raises(ParameterError, match="optimizer must"):
        plan_of().attach(model, OTHERS[name](model), data_of())


@pytest.mark.parametrize("clipping", ["flat", "normalized"])
def test_a_parameter_that_is_trained_later_is_refused(clipping):
    model = model_of()
    model[0].weight.requires_grad_(False)
    with attached(plan_of(rate=1.0, clipping=clipping), model) as private:
        model[0].weight.requires_grad_(True)
        for x, y in private:
            with pytest.raises(ParameterError, match="frozen or unfrozen"):
                private.step(loss_of(model, x, y))
            break


class Flow(IterableDataset):
    def __iter__(self):
        return iter([])


DATA = {
    "a loader": (lambda: DataLoader(TensorDataset(*data_of())), ParameterError, "DataLoader"),
    "a stream": (Flow, ParameterError, "map-style"),
    "a number": (lambda: 3, ParameterError, "map-style"),
    "a generator": (lambda: iter([]), ParameterError, "map-style"),
    "an empty list": (list, DataError, "at least one record"),
    "unequal lengths": (lambda: (torch.ones(4, 3), torch.ones(5)), DataError, "equally many records"),
    "a scalar": (lambda: (torch.ones(4, 3), torch.tensor(1.0)), DataError, "first dimension"),
    "arrays": (lambda: tuple(value.numpy() for value in data_of()), ParameterError, "from_numpy"),
    "a list of tensors": (lambda: list(data_of()), ParameterError, "list of tensors"),
}


@pytest.mark.parametrize(("dataset", "error", "words"), DATA.values(), ids=DATA)
def test_data_that_cannot_be_sampled_are_refused(dataset, error, words):
    with pytest.raises(error, match=words), attached(plan_of(), dataset=dataset()):
        pass


def test_messages_hold_no_private_number():
    for dataset in ((torch.full((41, 3), 77.0), torch.full((43,), 78.0)), DataLoader(TensorDataset(*data_of(41)))):
        with pytest.raises(DpermError) as caught, attached(plan_of(), dataset=dataset):
            pass
        assert not re.search(r"\b(41|43|77|78)\b", str(caught.value))


def test_too_many_records_are_refused_without_their_number(monkeypatch):
    plan = plan_of()
    monkeypatch.setattr(type(plan), "most_records", 30)
    with pytest.raises(DataError, match="public limit of 30") as caught, attached(plan):
        pass
    assert "40" not in str(caught.value)


def test_under_replacements_the_number_of_records_is_public():
    with pytest.raises(DataError, match="n=41") as caught, attached(plan_of(41, adjacency="replace_one")):
        pass
    assert "40" not in str(caught.value)
    with attached(plan_of(40, adjacency="replace_one")):
        pass


def test_models_that_are_too_large_for_the_noise_are_refused(monkeypatch):
    plan = plan_of()
    monkeypatch.setattr(type(plan), "most_parameters", 20)
    with pytest.raises(AssumptionError, match="trained parameters"), attached(plan):
        pass


OPTIONS = {
    "num_workers": {"num_workers": -1},
    "collate_fn": {"collate_fn": 3},
    "example_inputs": {"example_inputs": torch.ones(2, 3)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_options_are_refused_by_name(name):
    with pytest.raises(ParameterError, match=name):
        attached(plan_of(), **OPTIONS[name])


@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm_that_is_switched_to_training_within_the_block_is_refused(affine):
    """It was in evaluation mode when the model was checked. Statistics would be published, also without gradient."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, affine=affine), nn.Linear(4, 2)).eval()
    before = model[1].running_mean.clone()
    with attached(plan_of(rate=1.0), model) as private:
        for x, y in private:
            model.train()
            with pytest.raises(AssumptionError, match="layer '1'"):
                model(x)
            with torch.no_grad(), pytest.raises(AssumptionError, match="layer '1'"):
                model(x)
            with pytest.raises(ParameterError, match="another mode"):
                private.step(torch.zeros(len(x), requires_grad=True))
            model.eval()
            private.step(loss_of(model, x, y))
    assert torch.equal(before, model[1].running_mean)
    model.train()(torch.ones(2, 3))
