# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A process of a gloo group that tries every way to begin a private training, with and without wrapped models.

Run as a script, with the rank, a folder and the port as arguments. It writes what each attempt raised as JSON.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import distribute_tensor
from torch.nn.parallel import DistributedDataParallel
from torch_training import data_of, loss_of, model_of, plan_of, sgd

from dperm import ApproxDP
from dperm.accounting.memory_budget import MemoryBudget
from dperm.errors import DpermError
from dperm.torch import DPSVRG, PrivateTorchClassifier, fit

LOSS = nn.CrossEntropyLoss()
SPENDS = {"epsilon": 2.0, "delta": 1e-3, "n": 40}


def attempts(model: nn.Module, resume: Path) -> dict[str, Callable[..., object]]:
    """Every entry that trains, by name; each takes a budget."""
    plan, data = plan_of(), data_of()
    svrg = DPSVRG(rate=0.2, steps=2, snapshots=1).plan(40, 2.0, 1e-3, "replace_one")
    X, y = (part.numpy() for part in data)

    def classifier(budget: MemoryBudget) -> object:
        made = PrivateTorchClassifier(model, classes=[0, 1], adjacency="add_remove", ledger=budget, **SPENDS)
        return made.fit(X, y)

    def looped(budget: MemoryBudget, **options: object) -> None:
        with plan.attach(model, sgd(model), data, budget, **options) as private:
            for x, y in private:
                private.step(loss_of(model, x, y))

    return {
        "attach": looped,
        "resume": lambda budget: looped(budget, resume=resume),
        "fit": lambda budget: fit(model, data, LOSS, ledger=budget, **SPENDS),
        "classifier": classifier,
        "svrg": lambda budget: svrg.run(model, sgd(model), data, LOSS, budget),
    }


def outcomes(model: nn.Module, resume: Path) -> dict[str, list[object]]:
    """By entry: the type of the error, its message, and how much was charged."""
    found = {}
    for name, run in attempts(model, resume).items():
        budget = MemoryBudget(ApproxDP(9.0, 9e-3, "add_remove" if name != "svrg" else "replace_one"), blocks=9)
        try:
            run(budget)
            raised, said = None, ""
        except DpermError as error:
            raised, said = type(error).__name__, str(error)
        except Exception as error:
            raised, said = f"foreign {type(error).__name__}", str(error)[:300]
        found[name] = [raised, said, budget.spent["epsilon"]]
    return found


def main(rank: int, folder: Path, port: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    resume = folder / "run.pt"
    found = {"plain": outcomes(model_of(), resume)}
    alone = distributed.new_group([rank], use_local_synchronization=True)
    wrapped = DistributedDataParallel(model_of(), process_group=alone)
    mesh = init_device_mesh("cpu", (2,))
    sharded = fully_shard(model_of(), mesh=mesh)
    spread = model_of()
    spread[0].weight = nn.Parameter(distribute_tensor(spread[0].weight.detach(), mesh))
    distributed.barrier()
    distributed.destroy_process_group()  # from here on only the models show where they come from
    found["ddp"] = outcomes(wrapped, resume)
    found["nested ddp"] = outcomes(nn.Sequential(wrapped), resume)
    found["fsdp"] = outcomes(sharded, resume)
    found["dtensor"] = outcomes(spread, resume)
    os.environ["WORLD_SIZE"] = "2"
    found["environment"] = outcomes(model_of(), resume)
    os.environ["WORLD_SIZE"] = "1"
    if rank == 0:
        found["single"] = outcomes(model_of(), resume)
    (folder / f"{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
