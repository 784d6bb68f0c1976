# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A private training runs in one process: every other way to begin one is refused before anything is charged."""

import json
import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch_ranks
from torch import nn
from torch_training import attached, data_of, model_of, plan_of, walk

from dperm import ApproxDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import DpermWarning, ParameterError
from dperm.torch import PrivateTorchClassifier, fit
from dperm.torch.single_process import check_single_process

REASONS = {
    "plain": "world size 1, got 2",
    "ddp": "DistributedDataParallel",
    "nested ddp": "DistributedDataParallel",
    "fsdp": "FSDPModule",
    "dtensor": "DTensor",
    "environment": "WORLD_SIZE",
}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory) -> list[dict[str, dict[str, list[object]]]]:
    """What two processes of one gloo group were told."""
    folder = tmp_path_factory.mktemp("ranks")
    model = model_of()
    with attached(plan_of(), model) as private:
        walk(private, model, 2)
        private.save(folder / "run.pt")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script, clean = Path(torch_ranks.__file__), {k: v for k, v in os.environ.items() if k != "WORLD_SIZE"}
    paths = os.pathsep.join(path for path in sys.path if path)
    running = [
        subprocess.Popen(
            [sys.executable, script, str(rank), folder, port],
            env={**clean, "PYTHONPATH": paths},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in running:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("case", REASONS)
def test_every_entry_refuses_several_processes_before_a_charge(ranks, case):
    for found in ranks:
        for entry, (raised, said, spent) in found[case].items():
            assert raised == "ParameterError", (entry, raised, said)
            assert REASONS[case] in said and "Train in one process" in said, (entry, said)
            assert spent == 0.0, entry


def test_one_process_without_a_group_trains(ranks):
    for entry, (raised, said, spent) in ranks[0]["single"].items():
        assert raised is None and spent > 0, (entry, said)


@pytest.mark.parametrize("size", ["2", "+2", "2.0", " 2 ", "2e0", "inf", "nan", "many"])
def test_a_world_size_above_one_or_without_a_number_is_refused(size, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(ParameterError, match=r"WORLD_SIZE must be 1 or unset, got .*Train in one process"):
        check_single_process(model_of())


@pytest.mark.parametrize("name", ["SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
def test_several_tasks_of_a_launcher_give_a_warning(name, monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv(name, "2")
    with pytest.warns(DpermWarning, match=f"{name} is above 1"):
        check_single_process(model_of())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setenv("WORLD_SIZE", "1")
        check_single_process(model_of())
        monkeypatch.delenv("WORLD_SIZE")
        monkeypatch.setenv(name, "1")
        check_single_process(model_of())


def told_of_tasks(train):
    """Number of warnings about tasks in a training."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train()
    return sum("SLURM_NTASKS is above 1" in str(one.message) for one in caught)


def test_a_training_warns_once_of_several_tasks(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("SLURM_NTASKS", "4")
    X, y = data_of()

    def train():
        model = model_of()
        with attached(plan_of(), model) as private:
            walk(private, model)

    def whole():
        fit(model_of(), (X, y), nn.CrossEntropyLoss(), epsilon=2.0, delta=1e-3, n=len(X), epochs=1, progress=False)

    def classifier():
        PrivateTorchClassifier(module=model_of(), epsilon=2.0, delta=1e-3, classes=(0, 1), epochs=1, batch_size=8).fit(
            X.numpy(), y.numpy()
        )

    assert [told_of_tasks(each) for each in (train, train, whole, classifier)] == [1, 1, 1, 1]


@pytest.mark.parametrize("size", ["", "1", "1.0"])
def test_other_values_of_the_variable_are_no_reason_to_refuse(size, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", size)
    with attached(plan_of()):
        pass


def test_a_variable_that_appears_after_attach_is_seen_before_the_charge(monkeypatch):
    budget, model = MemoryBudget(ApproxDP(5.0, 5e-3, "add_remove"), blocks=5), model_of()
    with pytest.raises(ParameterError, match="WORLD_SIZE"), attached(plan_of(), model, ledger=budget) as private:
        monkeypatch.setenv("WORLD_SIZE", "4")
        walk(private, model)
    assert budget.entries == ()
