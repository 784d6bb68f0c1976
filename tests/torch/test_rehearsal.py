# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Loops in which one record acts on another one's loss or gradient are refused before anything is charged (T46)."""

import warnings
from collections import UserDict

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    linear,
    scaled_dot_product_attention,
)
from torch.utils.data import default_collate

import dperm.torch.rehearsal.trial_runs as rehearsal_module
from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError, DpermWarning, ParameterError
from dperm.torch import DPSGD, fit
from dperm.torch.rehearsal import Rehearsal


def data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(40, 6, generator=generator)
    return inputs, (inputs[:, 0] > 0).long()


def losses(output: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(output, y, reduction="none")


def run(loss, *, model=None, dataset=None, budget=None, steps=3, **options):
    model = model or nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(0.3), nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = DPSGD(1.0, rate=0.5, steps=steps, grade="fast").plan(n=40, epsilon=2.0, delta=1e-5)
    stepped = 0
    with plan.attach(model, optimizer, dataset or data(), budget, **options) as private:
        for x, y in private:
            stepped += private.step(loss(model, x, y))
    return private, stepped


MIXING = {
    "divided by the number of rows": lambda m, x, y: losses(m(x), y) / len(x),
    "divided by a sum without gradient": lambda m, x, y: (own := losses(m(x), y)) / own.detach().sum(),
    "running sum": lambda m, x, y: losses(m(x), y).cumsum(0),
    "class weights of the batch": lambda m, x, y: losses(m(x), y) * torch.bincount(y, minlength=2)[y],
    "centred inputs": lambda m, x, y: losses(m(x - x.mean(0)), y),
    "sorted inputs": lambda m, x, y: losses(m(x[x[:, 0].argsort()]), y),
    "a shape beside another one": lambda m, x, y: ((m(x)[:, :1] - y) ** 2).mean(1),
    "only one class uses the batch": lambda m, x, y: losses(m(x), y) + torch.where(y == 1, m(x).sum(), 0.0),
    "every second row": lambda m, x, y: losses(m(x), y) * (1 + torch.arange(len(x)) % 2),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXING)
def test_a_loop_that_mixes_records_is_refused_and_costs_nothing(name):
    budget = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9)
    with pytest.raises(AssumptionError, match=r"depends on|one record acts on"):
        run(MIXING[name], budget=budget)
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def test_a_loop_that_keeps_records_apart_runs_and_counts_its_steps():
    private, stepped = run(lambda m, x, y: losses(m(x), y))
    assert stepped == private.steps_taken == 3


def test_random_numbers_of_torch_in_the_loop_are_allowed():
    run(lambda m, x, y: losses(m(x + 0.1 * torch.randn(x.shape)), y))


def test_a_loop_with_random_numbers_in_which_records_mix_is_refused():
    with pytest.raises(AssumptionError, match="one record acts on"):
        run(lambda m, x, y: losses(m(x + torch.randn(x.shape) + x.sum(0)), y))


def test_it_can_be_switched_off_for_random_numbers_that_torch_does_not_know():
    import numpy as np

    noise = np.random.default_rng(1)

    def jittered(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return losses(m(x + torch.from_numpy(noise.normal(size=x.shape)).float()), y)

    with pytest.raises(AssumptionError, match="rehearsal=False"):
        run(jittered)
    assert run(jittered, rehearsal=False)[1] == 3


def test_torchs_random_numbers_go_on_as_if_nothing_had_been():
    found = []
    for rehearsal in (True, False):
        torch.manual_seed(3)
        model = nn.Linear(6, 2)
        run(lambda m, x, y: losses(m(x), y), model=model, steps=1, rehearsal=rehearsal)
        found.append(torch.random.get_rng_state())
    assert torch.equal(*found)


def test_records_that_are_not_finite_do_not_disturb_it():
    inputs, labels = data()
    inputs[3], inputs[20, 1] = float("nan"), float("inf")
    assert run(lambda m, x, y: losses(m(x), y), dataset=(inputs, labels))[1] == 3


PENALTIES = {
    "a penalty in the loss": lambda m, x, y: losses(m(x), y) + 0.1 * (m[0].weight ** 2).sum(),
    "a weight used again": lambda m, x, y: losses(linear(m[0](x), m[0].weight.t()[:2, :]), y),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_parameters_that_are_used_outside_of_the_model_are_named(name):
    model = nn.Sequential(nn.Linear(6, 5))
    loss = PENALTIES[name]
    with pytest.raises(AssumptionError, match=r"'0.weight'.* outside of the model|other examples|rows"):
        run(loss, model=model)


def test_mixing_that_begins_after_the_first_step_is_refused_at_a_secret_step():
    """Of 400 steps, 8 secret ones are rehearsed: mixing at the last 399 is missed with probability 0."""
    private = {}

    def drifting(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        own = losses(m(x), y)
        return own if not private["run"].steps_taken else own / len(x)

    model = nn.Linear(6, 2)
    plan = DPSGD(1.0, rate=0.5, steps=400, grade="fast").plan(n=40, epsilon=2.0, delta=1e-5)
    with pytest.raises(AssumptionError, match="one record acts on"):
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data()) as private["run"]:
            for x, y in private["run"]:
                private["run"].step(drifting(model, x, y))


def test_fit_refuses_targets_of_another_shape():
    inputs, _ = data()
    with pytest.warns(UserWarning, match="target size"), pytest.raises(AssumptionError, match="one record acts on"):
        fit(
            nn.Linear(6, 1),
            (inputs, inputs[:, 0]),
            nn.MSELoss(),
            epsilon=1.0,
            delta=1e-5,
            n=40,
            batch_size=20,
            epochs=1,
        )


def large(rows: int, *, features: int = 6) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(rows, features)
    return inputs, (inputs[:, 0] > 0).long()


def rehearse(loss, dataset, *, model=None, steps=1, budget=None, **options):
    """One training whose sample is the whole data set, and what it spent."""
    rows = len(dataset[0])
    model = model or nn.Linear(dataset[0].shape[1], 2)
    budget = budget or MemoryBudget(ApproxDP(50.0, 1e-3, "add_remove"), blocks=9)
    plan = DPSGD(1.0, rate=1.0, steps=steps, grade="fast").plan(n=rows, epsilon=5.0, delta=1e-5)
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), dataset, budget, **options) as private:
        for x, y in private:
            private.step(loss(model, x, y))
    return budget.spent["epsilon"]


def centred_if(condition):
    return lambda m, x, y: losses(m(x - x.mean(0) if condition(x) else x), y)


SUBTLE = {
    "loss / len(x)": lambda m, x, y: losses(m(x), y) / len(x),
    "class weights of the batch": lambda m, x, y: cross_entropy(
        m(x), y, weight=len(y) / (2.0 * torch.bincount(y, minlength=2).clamp(min=1)), reduction="none"
    ),
    "divided by the maximum": lambda m, x, y: losses(m(x / x.abs().max()), y),
    "centred beyond 100 rows": centred_if(lambda x: len(x) > 100),
    "centred if an entry is 0.5": centred_if(lambda x: bool((x == 0.5).any())),
    "zeroed if an input is infinite": lambda m, x, y: losses(m(x * 0 if x.isinf().any() else x), y),
    "skipped where a loss is not finite": lambda m, x, y: torch.where(
        (own := losses(m(x), y)).isfinite().all(), own, 0 * own.nan_to_num(0, 0, 0)
    ),
    "one mean for all rows": lambda m, x, y: cross_entropy(m(x), y).expand(len(x)),
}  # fmt: skip


@pytest.mark.parametrize("rows", [300, 2000])
@pytest.mark.parametrize("name", SUBTLE)
def test_influences_of_one_in_many_rows_and_rare_gates_are_refused_before_the_charge(name, rows):
    budget = MemoryBudget(ApproxDP(50.0, 1e-3, "add_remove"), blocks=9)
    with pytest.raises(AssumptionError, match=r"one record acts on|depends on the model's output for other"):
        rehearse(SUBTLE[name], large(rows), budget=budget)
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def test_a_maximum_that_all_records_share_is_seen_as_well():
    """Pixels: every record has an entry of 1, so that rows alone have the maximum of the batch."""
    inputs, labels = torch.rand(300, 6), torch.randint(0, 2, (300,))
    inputs[:, 3] = 1
    with pytest.raises(AssumptionError, match="one record acts on"):
        rehearse(lambda m, x, y: losses(m(x / x.max()), y), (inputs, labels))


def test_losses_that_depend_on_all_outputs_are_refused_before_the_charge_without_a_rehearsal():
    budget = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9)
    with pytest.raises(AssumptionError, match="depends on the model's output for other"):
        run(lambda m, x, y: cross_entropy(m(x), y).expand(len(x)), budget=budget, rehearsal=False)
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def test_a_loop_that_one_record_can_stop_is_refused_before_the_charge():
    def training(react) -> None:
        budget, model = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9), nn.Linear(6, 2)
        plan = DPSGD(1.0, rate=0.5, steps=3, grade="fast").plan(n=40, epsilon=2.0, delta=1e-5)
        with pytest.raises(AssumptionError, match="one record can stop the training"):
            with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data(), budget) as private:
                for x, y in private:
                    own = losses(model(x), y)
                    if not own.isfinite().all():
                        if react == "raise":
                            raise ValueError("not finite")
                        if react == "break":
                            break
                        continue
                    private.step(own)
        assert budget.spent == {"epsilon": 0.0, "delta": 0.0}

    for react in ("raise", "break", "continue"):
        training(react)


class Attention(nn.Module):
    """Attention as of BERT and ViT, with linear layers of their own for queries, keys and values.

    The true gradient of the key bias is 0.
    """

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.heads = nn.LayerNorm(width), heads

    def forward(self, x: Tensor) -> Tensor:
        rows, places, width = x.shape
        q, k, v = (
            layer(self.norm(x)).view(rows, places, self.heads, -1).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        return x + self.out(scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, places, width))


class Encoder(nn.Module):
    """Tokens, positions, two blocks of attention, and a head; or patches of an image in the place of tokens."""

    def __init__(self, first: nn.Module) -> None:
        super().__init__()
        self.first, self.blocks, self.head = first, nn.Sequential(Attention(), Attention()), nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.first(x))[:, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["tokens", "patches"])
def test_attention_with_a_key_bias_of_its_own_is_trained(name, dtype):
    torch.manual_seed(1)
    tokens = torch.randint(0, 50, (300, 8)) if name == "tokens" else torch.randn(300, 8, 12, dtype=dtype)
    model = Encoder(nn.Embedding(50, 16) if name == "tokens" else nn.Linear(12, 16)).to(dtype)
    assert rehearse(lambda m, x, y: losses(m(x), y), (tokens, torch.randint(0, 2, (300,))), model=model, steps=60) > 0


def as_user_dict(records: list) -> UserDict:
    return UserDict(default_collate(records))


@pytest.mark.parametrize("collate", [None, as_user_dict])
def test_a_loop_may_change_its_batch(collate):
    """Keys are popped and tensors edited in place; every call has a copy of its own."""
    inputs, labels = data()
    model = nn.Linear(6, 2)
    plan = DPSGD(1.0, rate=0.5, steps=60, grade="fast").plan(n=40, epsilon=2.0, delta=1e-5)
    records = [{"inputs": x, "labels": y} for x, y in zip(inputs, labels, strict=True)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with plan.attach(model, optimizer, records, example_inputs=(inputs[:2],), collate_fn=collate) as private:
        for batch in private:
            y = batch.pop("labels")
            batch["inputs"].mul_(0.5).add_(1)
            private.step(losses(model(batch["inputs"]), y))
    assert private.steps_taken == 60


def test_a_loop_that_changes_its_batch_trains_on_the_batch_itself():
    """In-place edits of the rehearsal do not reach the step that counts."""
    seen = []

    def halved(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        seen.append(float(x.abs().max()))
        return losses(m(x.mul_(0.5)), y)

    rehearse(halved, large(20))
    assert seen[-1] == seen[0]


def test_batches_of_other_things_than_tensors_are_not_rehearsed_and_the_user_is_told():
    inputs, labels = data()
    records = [{"x": x, "y": y, "name": "n"} for x, y in zip(inputs, labels, strict=True)]
    model, plan = nn.Linear(6, 2), DPSGD(1.0, rate=0.5, steps=3).plan(n=40, epsilon=2.0, delta=1e-5)
    with pytest.warns(DpermWarning, match="not rehearsed"):
        with plan.attach(
            model, torch.optim.SGD(model.parameters(), lr=0.1), records, example_inputs=(inputs[:2],)
        ) as run:
            for batch in run:
                run.step(losses(model(batch["x"]), batch["y"]))


@pytest.mark.filterwarnings("ignore:the noise for .* outweighs the gradients")
def test_a_loop_that_mixes_is_refused_before_the_charge_also_if_the_first_sample_is_empty():
    budget, model = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9), nn.Linear(6, 2)
    plan = DPSGD(1.0, rate=1e-9, steps=3).plan(n=40, epsilon=2.0, delta=1e-5)
    with pytest.raises(AssumptionError, match="one record acts on"):
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data(), budget) as private:
            for x, y in private:
                private.step(losses(model(x), y) / len(x))
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def counted(model: nn.Module, steps: int, rows: int = 64) -> tuple[list[int], int]:
    """Steps at which there was a rehearsal, and rows of all later ones."""
    plan = DPSGD(1.0, rate=1.0, steps=steps, grade="fast").plan(n=rows, epsilon=5.0, delta=1e-5)
    found, later = [], 0
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), large(rows)) as private:
        for x, y in private:
            if not private.step(losses(model(x), y)):
                found.append(private.steps_taken)
                later += len(x) if private.steps_taken else 0
    return sorted(set(found)), later


@pytest.mark.parametrize("model", [lambda: nn.Linear(6, 2), lambda: nn.Sequential(nn.Linear(6, 2), nn.Dropout(0.1))])
def test_later_rehearsals_are_at_secret_steps_and_have_two_percent_of_the_rows_at_most(model, monkeypatch):
    monkeypatch.setattr(rehearsal_module, "process_time", lambda: 0.0)  # no rehearsal waits for its share of the time
    one, two = (counted(model(), 400) for _ in range(2))
    assert one[0][0] == two[0][0] == 0
    assert len(one[0]) - 1 in (4, 8)
    assert one[0] != two[0]  # equal with probability below 1e-9
    assert 0 < max(one[1], two[1]) <= 0.02 * 400 * 64


def test_later_rehearsals_wait_for_their_share_of_the_cpu_time(monkeypatch):
    """A step takes 1 second and a rehearsal 6, also in the estimate: the share of 2 % allows one in 300 steps."""
    rehearsal, clock, done = Rehearsal(None, [], 1.0, steps=1000), [0.0], []
    monkeypatch.setattr(rehearsal_module, "process_time", lambda: clock[0])
    rehearsal._note_time(60.0, 10)
    rehearsal._later = list(range(1, 1000, 50))
    for step in range(1000):
        if rehearsal._is_affordable(step):
            clock[0] += 6
            rehearsal._note_time(6.0, 1)
            rehearsal._schedule(step)
            done.append(step)
        clock[0] += 1
    assert 3 <= len(done) and 6 * len(done) <= 0.02 * clock[0]


def test_rows_of_a_rehearsal_are_secret_and_move_to_places_of_the_other_parity():
    rehearsal = Rehearsal(None, [], 1.0)
    drawn = set()
    for rows in [2, 3, 4, 5, 9, 10, 11, 64] * 5:
        chosen = rehearsal._secret_rows((torch.randn(rows, 2),), rows)
        assert 1 <= len(set(chosen.alone)) == len(chosen.alone) == min(5, rows // 2)
        assert all((place + row) % 2 for place, row in enumerate(chosen.alone))
        assert chosen.changed not in chosen.alone
        assert chosen.source != chosen.changed
        drawn.add(tuple(chosen.alone))
    assert len(drawn) > 8


def test_values_that_are_not_finite_are_tried_only_in_loops_that_ask_for_them():
    """A loss that raises an error for NaN, as binary_cross_entropy does, is no reason to refuse a loop."""
    model = nn.Sequential(nn.Linear(6, 1), nn.Sigmoid())
    plain = lambda m, x, y: binary_cross_entropy(m(x)[:, 0], y.float(), reduction="none")  # noqa: E731
    assert rehearse(plain, large(40), model=model) > 0
    with pytest.raises(AssumptionError, match="one record can stop the training"):
        rehearse(lambda m, x, y: plain(m, torch.where(x.isnan().any(), x, x), y), large(40), model=model)


class Dropping(nn.Linear):
    """Dropout by a function, which no attribute of the model switches off."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(functional.dropout(x, 0.1, training=self.training))


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x + 0.01 * torch.randn_like(x)


RANDOM = {
    "length": lambda m, x, y: losses(m(x), y) / len(x),
    "first row": lambda m, x, y: losses(m(x - x[:1]), y),
    "length with noise": lambda m, x, y: losses(m(noisy(x)), y) / len(x),
    "first row under a mask": lambda m, x, y: losses(m((x - x[:1]) * (torch.rand_like(input=x) > 0.5) * 2), y),
    "half of the rows": lambda m, x, y: losses(m(x), y) * (torch.rand(len(x)) < 0.9) / len(x),
    "mean in normal": lambda m, x, y: losses(m(torch.normal(x - x[:1], 0.1)), y),
    "chosen by chance": lambda m, x, y: losses(m(x - x[:1]), y) * torch.bernoulli(torch.full((len(x),), 0.9)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_mixing_is_seen_where_random_numbers_are_drawn(name):
    with pytest.raises(AssumptionError, match="one record acts on"):
        rehearse(RANDOM[name], large(300), model=Dropping(6, 2))


def test_random_numbers_alone_are_no_reason_to_refuse_a_loop():
    assert rehearse(lambda m, x, y: losses(m(noisy(x)), y), large(300), model=Dropping(6, 2)) > 0

    def rejecting(m, x, y):
        noise = torch.randn(())
        while noise.abs() < 0.5:
            noise = torch.randn(())
        mask = torch.bernoulli(torch.full_like(x, 0.3)) + torch.empty_like(x).uniform_(0, 0.1)
        return losses(m(x * mask + 0 * noise), y)

    assert rehearse(rejecting, large(300)) > 0


OWN = torch.Generator().manual_seed(1)


def cropped(x: Tensor) -> Tensor:
    """Two draws for each row, and then one more for each, of the same shape."""
    scaled = torch.stack([row * torch.rand(()) + torch.rand(()) for row in x])
    return scaled * torch.stack([torch.rand(()) for _ in x])[:, None]


ACCEPTED = {
    "one draw for each row": lambda x: x + 0.1 * torch.stack([torch.randn(6) for _ in x]),
    "several draws for each row": cropped,
    "a draw for each row between others": lambda x: noisy(torch.rand(()) * x * torch.stack([torch.rand(1) for _ in x])),
    "a generator of the loop": lambda x: x + 0.1 * torch.randn(x.shape, generator=OWN),
}


@pytest.mark.parametrize("rows", [9, 300])
@pytest.mark.parametrize("name", ACCEPTED)
def test_random_numbers_of_rows_and_of_own_generators_are_compared(name, rows):
    """Warnings are errors: rows alone are compared, also where the loss depends on the length alone."""
    state = OWN.get_state()
    assert rehearse(lambda m, x, y: losses(m(ACCEPTED[name](x)), y), large(rows)) > 0
    OWN.set_state(state)
    with pytest.raises(AssumptionError, match="one record acts on"):
        rehearse(lambda m, x, y: losses(m(ACCEPTED[name](x)), y) / len(x), large(rows))
    assert torch.equal(OWN.get_state(), state), "a rehearsal restores generators of the loop"


@pytest.mark.parametrize("rows", [32, 300])
def test_mixing_with_a_probability_of_one_half_is_refused_before_the_charge(rows):
    """Each of 16 seeds shows mixup with probability 7/16 at least: 10 trainings pass with probability below 1e-3."""

    def gated(m, x, y):
        if torch.rand((), generator=OWN if rows == 300 else None) < 0.5:
            x = 0.6 * x + 0.4 * x[torch.randperm(len(x))]
        return losses(m(x), y)

    for _ in range(10):
        with warnings.catch_warnings(), pytest.raises(AssumptionError, match="one record acts on"):
            warnings.simplefilter("ignore", DpermWarning)
            rehearse(gated, large(rows))


def masked(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    valid = x > 0
    mask = torch.zeros_like(valid)
    mask[valid] = torch.rand(int(valid.sum())) < 0.5
    return ((m(x * ~mask) - x) ** 2 * mask).sum(1)


def test_loops_whose_number_of_random_numbers_depends_on_records_are_warned_of():
    with pytest.warns(DpermWarning) as told:
        assert rehearse(masked, large(300), model=nn.Linear(6, 6)) > 0
    found = " ".join(str(warning.message) for warning in told)
    assert "rows alone were not compared" in found
    assert "depends on the values of records" in found and "torch.rand(mask.shape)[mask]" in found


def test_noise_that_one_record_switches_on_is_mixing():
    with pytest.raises(AssumptionError, match="one record acts on"):
        rehearse(lambda m, x, y: losses(m(noisy(x) if (x == 0.5).any() else x), y), large(300))


def test_a_loss_that_depends_on_the_step_uses_steps_taken():
    def training(weight) -> None:
        model, plan = nn.Linear(6, 2), DPSGD(1.0, rate=1.0, steps=60, grade="fast").plan(40, epsilon=5.0, delta=1e-5)
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), large(40)) as private:
            for place, (x, y) in enumerate(private):
                private.step(losses(model(x), y) * weight(place, private))

    training(lambda place, private: (private.steps_taken + 1) / 100)
    with pytest.raises(AssumptionError, match=r"use private\.steps_taken instead"):
        training(lambda place, private: (place + 1) / 100)


def test_random_choices_of_rows_are_warned_of():
    with pytest.warns(DpermWarning, match="rows alone were not compared.*class weights"):
        rehearse(lambda m, x, y: losses(m(x), y) + 0 * torch.randperm(len(x)), large(300))


def test_a_misuse_in_a_rehearsal_has_its_own_message(tmp_path):
    """A loop that counts batches instead of steps saves in the middle of a rehearsal."""
    model, plan = nn.Linear(6, 2), DPSGD(1.0, rate=1.0, steps=3, grade="fast").plan(n=40, epsilon=5.0, delta=1e-5)
    with pytest.raises(ParameterError, match="right after step returned True"):
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), large(40)) as private:
            for place, (x, y) in enumerate(private):
                private.step(losses(model(x), y))
                if place == 3:
                    private.save(tmp_path / "run.pt")


def test_a_misuse_that_the_loop_caught_hides_no_other_error(tmp_path):
    model, plan = nn.Linear(6, 2), DPSGD(1.0, rate=1.0, steps=3, grade="fast").plan(n=40, epsilon=5.0, delta=1e-5)
    with pytest.raises(AssumptionError, match="one record can stop the training"):
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), large(40)) as private:
            for x, y in private:
                with pytest.raises(ParameterError, match="right after step returned True"):
                    private.save(tmp_path / "run.pt")
                if not x.isfinite().all():
                    raise ValueError
                private.step(losses(model(x), y))


ONE_ROW = {
    "squeezed outputs": lambda m, x, y: binary_cross_entropy_with_logits(m(x).squeeze(), y, reduction="none"),
    "squeezed losses": lambda m, x, y: ((m(x) - y[:, None]) ** 2).squeeze(),
}


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("name", ONE_ROW)
def test_a_loop_that_fails_on_one_row_is_refused_before_the_charge(name, noisy):
    """The last part of a sample of 513 rows, or an empty sample, is a batch of one row."""
    budget = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9)
    inputs, labels = data()
    loss = ONE_ROW[name]
    with pytest.raises(AssumptionError, match=r"a batch of a single row.*write squeeze\(1\), flatten\(1\)"):
        run(
            lambda m, x, y: loss(m, x + noisy * torch.randn(x.shape) if noisy else x, y),
            model=nn.Linear(6, 1),
            dataset=(inputs, labels.float()),
            budget=budget,
        )
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def test_a_loop_that_skips_batches_of_one_row_is_refused_before_the_charge():
    budget, model = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9), nn.Linear(6, 2)
    plan = DPSGD(1.0, rate=0.5, steps=3, grade="fast").plan(n=40, epsilon=2.0, delta=1e-5)
    with pytest.raises(AssumptionError, match="a batch of a single row"):
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), data(), budget) as private:
            for x, y in private:
                if len(x) > 1:
                    private.step(losses(model(x), y))
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def counting(last: int, budget=None, **options):
    """A training whose loop ends after the batch number ``last``."""
    model, plan = nn.Linear(6, 2), DPSGD(1.0, rate=1.0, steps=400, grade="fast").plan(n=40, epsilon=5.0, delta=1e-5)
    with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), large(40), budget, **options) as private:
        for place, (x, y) in enumerate(private):
            private.step(losses(model(x), y))
            if place == last:
                break
    return private


@pytest.mark.parametrize("last", range(5))
def test_a_loop_that_ends_in_the_first_rehearsal_is_told_to_count_steps(last):
    """Nothing was charged. The last batch holds an unusual value, which may be why the loop ended."""
    budget = MemoryBudget(ApproxDP(5.0, 1e-4, "add_remove"), blocks=9)
    refusal = ParameterError if last < 4 else AssumptionError
    with pytest.raises(refusal, match=r"^the loop ended during a rehearsal.*count steps with private\.steps_taken"):
        counting(last, budget)
    assert budget.spent == {"epsilon": 0.0, "delta": 0.0}


def test_a_loop_that_ends_in_a_later_rehearsal_is_released_with_a_warning(monkeypatch):
    monkeypatch.setattr(rehearsal_module, "process_time", lambda: 0.0)  # no rehearsal waits for its share of the time
    model, plan = nn.Linear(6, 2), DPSGD(1.0, rate=1.0, steps=400, grade="fast").plan(n=40, epsilon=5.0, delta=1e-5)
    with pytest.warns(DpermWarning, match=r"ended during a rehearsal.*private\.steps_taken.*steps are charged"):
        with plan.attach(model, torch.optim.SGD(model.parameters(), lr=0.1), large(40)) as private:
            for x, y in private:
                if not private.step(losses(model(x), y)) and private.steps_taken:
                    break
    assert private.release.guarantee.epsilon == 5.0


def test_a_loop_that_counts_batches_and_ends_between_rehearsals_is_released_with_a_warning():
    with pytest.warns(
        DpermWarning, match=r"before the last of the \d+ planned steps, .* charged.*private\.steps_taken"
    ):
        assert counting(5).steps_taken == 1
    with pytest.warns(DpermWarning, match="before the last of the"):
        assert counting(3, rehearsal=False).steps_taken == 4


@pytest.mark.parametrize("kind", ["linear", "GRU"])
def test_a_gradient_penalty_is_refused_before_the_charge_and_attacked_inputs_are_not(kind):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.layer(x[:, None])[0][:, 0])

    plan = DPSGD(clip_norm=1.0, batch_size=8, steps=2).plan(n=64, epsilon=4.0, delta=1e-5, adjacency="add_remove")
    data = (torch.randn(64, 3), torch.randint(0, 2, (64,)))

    def train(budget, penalty):
        model = nn.Linear(3, 2) if kind == "linear" else Recurrent()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with plan.attach(model, optimizer, data, budget, progress=False) as private:
            for batch, target in private:
                x = batch.clone().requires_grad_()
                losses = cross_entropy(model(x), target, reduction="none")
                (gradient,) = torch.autograd.grad(losses.sum(), x, create_graph=penalty)
                attacked = (x + 0.1 * gradient.sign()).detach()
                extra = gradient.square().sum(1) if penalty else 0.0
                private.step(cross_entropy(model(attacked), target, reduction="none") + extra)

    budget = MemoryBudget(ApproxDP(10.0, 1e-4, "add_remove"), blocks=2)
    with pytest.raises(AssumptionError, match=r"contains gradients \(create_graph=True\)"):
        train(budget, penalty=True)
    assert not budget.entries
    train(budget, penalty=False)
    assert len(budget.entries) == 1
