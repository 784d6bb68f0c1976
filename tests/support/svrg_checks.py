# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What must hold of DP-SVRG, whichever module it comes from: mutants have to fail here."""

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dperm.accounting import Gaussian, Poisson
from dperm.noise import SystemBits
from dperm.privacy import Adjacency
from dperm.torch import svrg, svrg_training
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.loss_functions import per_example
from dperm.torch.model_checks.check import check_model
from dperm.torch.records import TensorRecords
from dperm.torch.sampling import SingletonGroups


def plan_of(*, adjacency: str = "add_remove", module: Any = svrg, **changes: Any) -> Any:
    asked = {"rate": 0.2, "steps": 7, "snapshots": 3, "grade": "fast", **changes}
    return module.DPSVRG(asked.pop("clip_norm", 0.5), 1.0, **asked).plan(40, 2.0, 1e-3, adjacency)


def descent_of(
    model: nn.Module,
    data: tuple[Tensor, Tensor],
    *,
    plan: Any = None,
    loss: Any = functional.cross_entropy,
    module: Any = svrg_training,
    **changes: Any,
) -> Any:
    records = TensorRecords(data)
    ready = SimpleNamespace(records=records, groups=SingletonGroups(records.count))
    chosen = plan_of(**changes) if plan is None else plan
    gradients = PerExampleGradients(model, sites=check_model(model, data[0]))
    return module.NoisyDirections(chosen, gradients, per_example(loss), ready, SystemBits().stream())


def assert_both_queries_are_charged(plan: Any) -> None:
    """A sampled Gaussian for every step, one of all records for every snapshot."""
    counted = [(event.rate, count) for event, count in plan.event.singles() if isinstance(event, Poisson)]
    assert counted == [(plan.rate, plan.steps), (1.0, plan.snapshots)]


def assert_draws_are_those_of_the_event(plan: Any, module: Any = svrg_training) -> None:
    """Noise is drawn as many times as there are sampled Gaussians in the event."""
    drawn = {"noise": 0, "snapshot_noise": 0}

    class Counting:
        def __init__(self, name: str) -> None:
            self.name = name

        def add(self, sums: Any, stream: Any) -> Any:
            drawn[self.name] += 1
            return getattr(plan, self.name).add(sums, stream)

    counting = SimpleNamespace(
        method=plan.method,
        rate=plan.rate,
        n=plan.n,
        steps=plan.steps,
        interval=plan.interval,
        noise=Counting("noise"),
        snapshot_noise=Counting("snapshot_noise"),
    )
    model = nn.Linear(2, 2)
    data = (torch.ones(40, 2), torch.zeros(40, dtype=torch.long))
    descent = descent_of(model, data, plan=counting, module=module)
    with descent.gradients:
        directions = len(list(descent.directions()))
    counted = [count for event, count in plan.event.singles() if isinstance(event, Poisson)]
    assert directions == plan.steps
    assert [drawn["noise"], drawn["snapshot_noise"]] == counted


def assert_one_record_is_covered(plan: Any, module: Any = svrg_training) -> None:
    """A record moves both sums by the sensitivity of the event at most, and some record by nearly that."""
    replaced = plan.adjacency is Adjacency.REPLACE_ONE
    sampled = [event.event for event, _ in plan.event.singles() if isinstance(event, Poisson)]
    assert all(isinstance(event, Gaussian) for event in sampled)
    scales = (plan.noise.scale, plan.snapshot_noise.scale)
    for moves, event, scale in zip(_moves(plan, module, replaced=replaced), sampled, scales, strict=True):
        allowed = (2 if replaced else 1) * scale / event.noise_multiplier  # as the accountant has it
        assert max(moves) <= allowed * (1 + 1e-6)
        assert max(moves) >= 0.9 * allowed


def _moves(plan: Any, module: Any, *, replaced: bool) -> tuple[list[float], list[float]]:
    """How far records move the sum of differences and that of gradients, in clip norms."""
    inner, full = [], []
    for first, second in (((30.0, 0), (30.0, 1)), ((0.01, 0), (-0.01, 0)), ((-5.0, 1), (40.0, 1))):
        ends = [_sums(plan, module, record) for record in (first, second if replaced else None)]
        for moves, before, after in zip((inner, full), *ends, strict=True):
            moves.append(math.sqrt(sum(float((b - a).square().sum()) for a, b in zip(before, after, strict=True))))
    return inner, full


def _sums(plan: Any, module: Any, record: tuple[float, int] | None) -> tuple[list[Tensor], list[Tensor]]:
    """Both sums over some records and one more, without noise: the gradient at the anchor is opposite to that here."""
    x, y = [0.3, -0.2], [0, 1]
    if record is not None:
        x, y = [*x, record[0]], [*y, record[1]]
    model = nn.Linear(1, 2).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.5], [-0.5]]))
        model.bias.zero_()
    data = (torch.tensor(x, dtype=torch.float64)[:, None], torch.tensor(y))
    descent = descent_of(model, data, plan=plan, module=module, loss=signed)
    with descent.gradients:
        inner = descent.difference(list(data), [-value.detach() for value in model.parameters()])
        sums = descent.gradients.clipped_sum(
            descent._losses(list(data)), clip_norm=plan.method.snapshot_clip_norm, double=True
        )
    parameters = list(model.parameters())
    return [inner[value] for value in parameters], [sums[value] for value in parameters]


def signed(outputs: Tensor, targets: Tensor) -> Tensor:
    """Its gradient changes its sign with that of the parameters."""
    margin = (outputs[:, 0] - outputs[:, 1]) * (1 - 2 * targets)
    return 3 * margin.abs()
