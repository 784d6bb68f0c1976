# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From the scores of canaries to a finding: guess, count, bound."""

from enum import StrEnum

import numpy as np

from dperm import checks
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.audit.one_run_tradeoff import gaussian_one_run, gaussian_one_run_mu
from dperm.audit.ranking import ranked_guesses, too_few_guesses
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.torch.audit.arguments import of_type
from dperm.torch.audit.evidence import Floats
from dperm.torch.audit.sampled_bound import sampled_one_run
from dperm.torch.audit.watch import Watch
from dperm.torch.plan import DPSGDPlan

Guesses = tuple[int, int]
SHARE = 10
"""One canary of so many is guessed to be in, and as many to be out, unless it is said otherwise: about the best for a
Gaussian trade-off curve and some hundred to some thousand canaries."""


class Access(StrEnum):
    """What the auditor sees of a training; the guarantee covers both."""

    WHITE_BOX = "white_box"
    """The noisy gradient of every step, and so the model after it."""
    BLACK_BOX = "black_box"
    """The losses of the canaries under the model at the end."""

    @classmethod
    def of(cls, access: "Access | str") -> "Access":
        """The access, or the one of that name."""
        try:
            return cls(access)
        except ValueError:
            raise ParameterError(f"access must be one of {', '.join(cls)}, got {shown(access)}.") from None


def guesses_of(guesses: object, canaries: int) -> Guesses:
    """How many canaries are guessed to be in, and to be out: what was given, or a tenth of them each."""
    if guesses is None:
        return canaries // SHARE, canaries // SHARE
    if not isinstance(guesses, tuple | list) or len(guesses) != 2:
        raise ParameterError(f"guesses must be two numbers, (in, out), fixed in advance, got {shown(guesses)}.")
    found = checks.count("guesses[0]", guesses[0], least=0), checks.count("guesses[1]", guesses[1], least=0)
    if not 1 <= sum(found) <= canaries:
        raise ParameterError(f"guesses must be for 1 to all of the {canaries} canaries, got {sum(found)} of them.")
    return found


def check_enough(guesses: Guesses, canaries: int, *, delta: float, confidence: float) -> None:
    """Refuse an audit that could not show anything, if all guesses were right."""
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
    """What a watched training shows: the bound from as many guesses as were fixed in advance.

    Parameters
    ----------
    plan
        What was run, and its claim.
    watch
        What has seen every step, or for "black_box" the model alone.
    access, guesses, confidence
        As for `audit_training`.
    """
    if of_type("plan", plan, DPSGDPlan) != of_type("watch", watch, Watch).plan:
        raise ParameterError("plan must be the one that watch was made with: the claim of another is not what was run.")
    seen, asked = Access.of(access), guesses_of(guesses, len(watch.canaries))
    check_enough(asked, len(watch.canaries), delta=plan.goal.delta, confidence=confidence)
    if seen is Access.WHITE_BOX and watch.steps_seen != plan.steps:
        raise ParameterError(f"watch has seen {watch.steps_seen} of {plan.steps} steps. Call watch.see after each.")
    scores = _finite(watch.white_box if seen is Access.WHITE_BOX else watch.black_box)
    right = ranked_guesses(scores, watch.canaries.coins, guesses_in=asked[0], guesses_out=asked[1])
    bound = _bound(plan, (right, sum(asked), len(scores)), confidence)
    facts = {"canaries": len(scores), "guesses": sum(asked), "access": seen.value, "steps": plan.steps}
    subject = "a training by DP-SGD, by the canaries in its data"
    # what the bound assumes is the law of the plan, and that is what the plan claims
    return Finding(
        subject, plan.goal, {_NAMES[seen]: bound}, confidence, facts=facts, granted=frozenset({bound.assumes})
    )


_NAMES = {
    Access.WHITE_BOX: "likelihood ratios of the noisy gradients",
    Access.BLACK_BOX: "fall of the loss",
}


def _bound(plan: DPSGDPlan, sizes: tuple[int, int, int], confidence: float) -> LowerBound:
    """The trade-off curve of full samples is Gaussian (T19); that of Poisson samples is that of their events."""
    if plan.rate == 1:
        return gaussian_one_run(*sizes, delta=plan.goal.delta, confidence=confidence)
    return sampled_one_run(plan, sizes, confidence=confidence)


def _finite(scores: Floats) -> Floats:
    if not np.isfinite(scores).all():
        raise ParameterError(
            "scores of canaries are NaN or infinite: the training diverged, or loss is not finite on canaries. Use a "
            "smaller learning rate in optimizer, or canaries of the size of the data."
        )
    return scores
