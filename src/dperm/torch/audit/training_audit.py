# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audit of one training run by canaries in its data: a lower bound on the epsilon of a real DP-SGD run (A6, A7)."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np
from torch import nn
from torch.optim import Optimizer

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.audit.one_run_tradeoff import gaussian_one_run, gaussian_one_run_mu
from dperm.audit.ranking import ranked_guesses, too_few_guesses
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.noise.bits import Bits
from dperm.torch.audit.arguments import check_progress_function, of_type, trainable
from dperm.torch.audit.canaries import TrainingCanaries
from dperm.torch.audit.canary_dataset import check_plan, with_canaries
from dperm.torch.audit.canary_scores import Watch
from dperm.torch.audit.sampled_bound import sampled_one_run
from dperm.torch.fit import OptimizerMaker, optimizer_of
from dperm.torch.loss_functions import Loss, losses_of, per_example
from dperm.torch.plan import DPSGDPlan

Guesses = tuple[int, int]
SHARE = 10
"""By default one canary in ten is guessed to be in, and one in ten to be out.

This is nearly optimal for a Gaussian trade-off curve and a few hundred to a few thousand canaries.
"""


class Access(StrEnum):
    """Access that an auditor has to a training run: white box or black box. The guarantee covers both."""

    WHITE_BOX = "white_box"
    """The auditor sees the noisy gradient of every step, and therefore the model after every step."""
    BLACK_BOX = "black_box"
    """The auditor sees only the losses of the canaries under the initial and the final model."""

    @classmethod
    def of(cls, access: "Access | str") -> "Access":
        """Return the kind of access with this name.

        Parameters
        ----------
        access
            Member of the enumeration, or its value "white_box" or "black_box".

        Returns
        -------
        Access
            Member of the enumeration.

        Raises
        ------
        ParameterError
            If the name is unknown.
        """
        try:
            return cls(access)
        except ValueError:
            raise ParameterError(
                argument="access", rule=f"must be one of {', '.join(cls)}", got=shown(access)
            ) from None


def audit_training(
    plan: DPSGDPlan,
    model: nn.Module,
    canaries: TrainingCanaries,
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
    """Train ``model`` on the data set and the canaries according to the plan, and return a lower bound on epsilon.

    The function performs a real training run, with the sampling, clipping and noise of `DPSGDPlan.attach`. ``model`` is
    trained in place, and satisfies the guarantee of the plan. To keep the release of the training run, or to write the
    training loop yourself, use `with_canaries`, `Watch` and `finding_of` instead.

    *Guarantees.* If the training run satisfies the claim of the plan, the lower bound exceeds the claimed epsilon with
    probability at most 1 - confidence.

    Parameters
    ----------
    plan
        Plan whose n is the number of records in the data set plus the number of canaries.
    model
        Any module accepted by `DPSGDPlan.attach`.
    canaries
        Records inserted by the auditor, with the coin flips that decide on their inclusion.
    dataset
        Pairs (input, target) without the canaries, as for `dperm.torch.fit`.
    loss
        See `dperm.torch.fit`.
    optimizer
        See `dperm.torch.fit`.
    access
        With "white_box", the auditor sees the noisy gradient of every step. With "black_box", the auditor sees only the
        losses of the canaries under the initial and the final model. The guarantee covers both, and "white_box" usually
        gives tighter bounds.
    guesses
        Pair of numbers: the canaries guessed to be in the data (those with the highest scores), and the canaries
        guessed to be out (those with the lowest scores). Both numbers must be fixed in advance. None uses a tenth of
        the canaries for each.
    confidence
        Confidence level of the lower bound, in (0, 1).
    ledger, bits
        See `DPSGDPlan.attach`.
    progress
        Callback that receives the completed fraction of the steps, in [0, 1].

    Returns
    -------
    Finding
        Lower bound on epsilon and the verdict on the claim.

    Raises
    ------
    ParameterError
        If the plan, the canaries and the data set are incompatible, or there are too few guesses to refute any claim.
    """
    check_plan(plan, canaries, dataset)
    trainable(model)
    check_progress_function(progress)
    seen, counts = Access.of(access), guesses_of(guesses, len(canaries))
    check_enough(counts, len(canaries), delta=plan.goal.delta, confidence=confidence)
    data, each, made = with_canaries(dataset, canaries), per_example(loss), optimizer_of(optimizer, None, model)
    watch = Watch(plan, model, canaries=canaries, loss=loss)
    with plan.attach(model, made, data, ledger, progress=False, bits=bits) as private:
        for batch in private:
            if private.step(losses_of(model, each, batch)):
                if seen is Access.WHITE_BOX:
                    watch.see(private)
                if progress is not None:
                    progress(private.steps_taken / plan.steps)
    return finding_of(plan, watch, access=seen, guesses=counts, confidence=confidence)


def guesses_of(guesses: object, canaries: int) -> Guesses:
    """Return the numbers of canaries guessed to be in and to be out; None: a tenth each."""
    if guesses is None:
        return canaries // SHARE, canaries // SHARE
    if not isinstance(guesses, tuple | list) or len(guesses) != 2:
        raise ParameterError(
            argument="guesses", rule="must be two numbers, (in, out), fixed in advance", got=shown(guesses)
        )
    found = checks.count("guesses[0]", guesses[0], least=0), checks.count("guesses[1]", guesses[1], least=0)
    if not 1 <= sum(found) <= canaries:
        raise ParameterError(
            argument="guesses", rule=f"must be for 1 to {canaries} canaries, all of them", got=str(sum(found))
        )
    return found


def check_enough(guesses: Guesses, canaries: int, *, delta: float, confidence: float) -> None:
    """Refuse an audit that could not refute anything even with all guesses right."""
    right = sum(guesses)
    if gaussian_one_run_mu(right, right, canaries, confidence=confidence) == 0:
        raise too_few_guesses(right, canaries, delta=delta, confidence=confidence)


def finding_of(
    plan: DPSGDPlan,
    watch: Watch,
    *,
    access: Access | str = Access.WHITE_BOX,
    guesses: Guesses | None = None,
    confidence: float = 0.95,
) -> Finding:
    """Return the lower bound on epsilon and the verdict on the claim, for a training run observed by a `Watch`.

    Parameters
    ----------
    plan
        Plan of the training run, with its claim.
    watch
        Observer of the training run. For "white_box", it must have seen every step. For "black_box", only the initial
        and the final model are used.
    access, guesses, confidence
        See `audit_training`.

    Returns
    -------
    Finding
        Lower bound on epsilon and the verdict on the claim.

    Raises
    ------
    ParameterError
        If the observer has not seen every step ("white_box"), or does not belong to the plan, or there are too few
        guesses to refute any claim.
    """
    if of_type("plan", plan, DPSGDPlan) != of_type("watch", watch, Watch).plan:
        raise ParameterError(
            argument="plan", rule="must be the plan of the watch: the claim of another plan was not audited"
        )
    seen, counts = Access.of(access), guesses_of(guesses, len(watch.canaries))
    check_enough(counts, len(watch.canaries), delta=plan.goal.delta, confidence=confidence)
    if seen is Access.WHITE_BOX and watch.steps_seen != plan.steps:
        raise ParameterError(
            f"watch has seen {watch.steps_seen} of {plan.steps} steps.", remedy="Call watch.see after each step."
        )
    scores = _finite(watch.white_box if seen is Access.WHITE_BOX else watch.black_box)
    right = ranked_guesses(scores, watch.canaries.coins, guesses_in=counts[0], guesses_out=counts[1])
    bound = _bound(plan, (right, sum(counts), len(scores)), confidence)
    facts = {"canaries": len(scores), "guesses": sum(counts), "access": seen.value, "steps": plan.steps}
    subject = "a DP-SGD training run, by the canaries in its data"
    # the bound assumes the law claimed by the plan
    return Finding(
        subject, plan.goal, {_NAMES[seen]: bound}, confidence, facts=facts, granted=frozenset({bound.assumes})
    )


_NAMES = {
    Access.WHITE_BOX: "likelihood ratios of the noisy gradients",
    Access.BLACK_BOX: "fall of the loss",
}


def _bound(plan: DPSGDPlan, sizes: tuple[int, int, int], confidence: float) -> LowerBound:
    """Lower bound from a Gaussian trade-off curve for full samples (T19), otherwise from the sampled events."""
    if plan.rate == 1:
        return gaussian_one_run(*sizes, delta=plan.goal.delta, confidence=confidence)
    return sampled_one_run(plan, sizes, confidence=confidence)


def _finite(scores: Floats) -> Floats:
    if not np.isfinite(scores).all():
        raise ParameterError(
            "scores of canaries are NaN or infinite: the training diverged, or the loss of canaries is not finite.",
            remedy="Use a smaller learning rate, or canaries of the size of the data.",
        )
    return scores
