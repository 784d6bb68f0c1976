# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One training, audited by the canaries in its data: a lower bound on the epsilon of a real DP-SGD run (A6, A7)."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.optim import Optimizer

from dperm.accounting.budget import Budget
from dperm.audit.finding import Finding
from dperm.noise.bits import Bits
from dperm.torch.audit.arguments import progress_of, trainable
from dperm.torch.audit.canaries import Canaries
from dperm.torch.audit.joining import check_plan, joined
from dperm.torch.audit.verdict import Access, Guesses, check_enough, finding_of, guesses_of
from dperm.torch.audit.watch import Watch
from dperm.torch.fit import OptimizerMaker, optimizer_of
from dperm.torch.loss_functions import Loss, losses_of, per_example
from dperm.torch.plan import DPSGDPlan


def audit_training(
    plan: DPSGDPlan,
    model: nn.Module,
    canaries: Canaries,
    *,
    dataset: Any,
    loss: Loss,
    optimizer: Optimizer | OptimizerMaker | None = None,
    access: Access | str = Access.WHITE_BOX,
    guesses: Guesses | None = None,
    confidence: float = 0.95,
    ledger: Budget | None = None,
    bits: Bits | None = None,
    progress: Callable[[float], None] | None = None,
) -> Finding:
    """Train ``model`` by the plan on data set and canaries, and say what they show about its epsilon.

    The training is a real one, with the front end's own samples, clipping and noise; ``model`` is trained in place, and
    has the guarantee of the plan. To keep its release, or to write the loop yourself, use `joined`, `Watch` and
    `finding_of`.

    Parameters
    ----------
    plan
        With n for data set and canaries together.
    model
        Any module that `DPSGD` can train.
    canaries
        The auditor's records, with their coins.
    dataset
        Pairs (input, target), as for `dperm.torch.fit`.
    loss
        As for `dperm.torch.fit`.
    optimizer
        As for `dperm.torch.fit`.
    access
        "white_box": the auditor sees the noisy gradient of every step; "black_box": the loss of the last model alone.
        Both are covered by the guarantee; the first comes nearer to it.
    guesses
        Numbers (k+, k-) of canaries that are guessed to be in and to be out: those of the highest and of the lowest
        scores. They are fixed in advance; None: a tenth of the canaries each.
    confidence
        Of the lower bound.
    ledger, bits
        As for `DPSGDPlan.attach`.
    progress
        Called with the share of the steps that was done.
    """
    check_plan(plan, canaries, dataset)
    trainable(model)
    progress_of(progress)
    seen, asked = Access.of(access), guesses_of(guesses, len(canaries))
    check_enough(asked, len(canaries), delta=plan.goal.delta, confidence=confidence)
    data, each, made = joined(dataset, canaries), per_example(loss), optimizer_of(optimizer, None, model)
    watch = Watch(plan, model, canaries=canaries, loss=loss)
    with plan.attach(model, made, data, ledger, progress=False, bits=bits) as private:
        for batch in private:
            if private.step(losses_of(model, each, batch)):
                if seen is Access.WHITE_BOX:
                    watch.see(private)
                if progress is not None:
                    progress(private.steps_taken / plan.steps)
    return finding_of(plan, watch, access=seen, guesses=asked, confidence=confidence)
