# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact audit of objective perturbation: a privacy loss that is attained, or a delta from below (A8)."""

from collections.abc import Callable, Mapping

from dperm.audit.claim import checked_claim, claimed_epsilon
from dperm.audit.exact.claims import deltas_of
from dperm.audit.exact.density import Density, Row, Rows
from dperm.audit.exact.hockey_stick import worst_cells
from dperm.audit.exact.largest_loss import largest_loss
from dperm.audit.exact.neighbours import checked_rests, records, rests
from dperm.audit.exact.perturbed import Perturbed, of_plan
from dperm.audit.exact.turns import of_one_score
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.methods.objective import ObjectivePlan

Progress = Callable[[float], None] | None
FEW = 5
"""Places of the record where pairs are many; the worst is at an end."""


def objective(
    subject: ObjectivePlan | Perturbed, *, among: tuple[Rows, ...] | None = None, progress: Progress = None
) -> Finding:
    """A lower bound on the epsilon of objective perturbation, in one dimension, exactly (A8; T35-T41).

    The law of the minimiser is known (T35): for a pure claim the largest privacy loss over neighbours and theta is
    searched for, and what is found is attained; where the claim has a delta, or is a curve (zCDP, GDP, RDP), epsilon is
    bounded from below at that delta, or at several. Of a plan the exact minimiser is looked at, before the noise on the
    coefficients, against what the plan claims of that.

    Parameters
    ----------
    subject
        A plan of `ObjectivePerturbation` for a loss of one score, or a published algorithm (`nips08`, `jmlr_2011`).
    among
        Who stays in the data: sets of rows ((x,), target, count), all within the radius; None for a choice from nobody
        to a crowd.
    progress
        Is told the share that is done.

    Examples
    --------
    >>> from dperm.audit import exact
    >>> print(exact.objective(exact.nips08(epsilon=0.1, strength=0.1)))
    VIOLATION: claimed epsilon 0.1, measured >= 1.26 exactly (largest loss).
    """
    found = _checked(subject)
    of_one_score(found.spec.loss)
    density = Density(found.spec, found.term, (found.spec.weight, found.spec.weight))
    adjacency = checked_claim(found.claimed).adjacency
    stay = rests(found.spec, adjacency) if among is None else checked_rests(among, found.spec, adjacency)
    audit = _by_loss if deltas_of(found.claimed) == (0.0,) else _by_delta
    bounds, facts = audit(found, density, stay, progress)
    return Finding(found.name, found.claimed, bounds, 1.0, found.profile, facts)


def _checked(subject: object) -> Perturbed:
    if isinstance(subject, ObjectivePlan):
        return of_plan(subject)
    if isinstance(subject, Perturbed):
        return subject
    raise ParameterError(
        f"subject must be a plan of ObjectivePerturbation or a Perturbed, such as nips08(0.1, 0.1), got "
        f"{shown(subject)}."
    )


Bounds = tuple[Mapping[str, LowerBound], Mapping[str, object]]


def _by_loss(found: Perturbed, density: Density, stay: tuple[Rows, ...], progress: Progress) -> Bounds:
    """One loss that is attained."""
    adjacency = found.claimed.adjacency
    loss = largest_loss(density, stay, records(found.spec), adjacency=adjacency, progress=progress)
    bound = LowerBound(max(0.0, loss.value), 0.0, 1.0, "privacy loss at a point (A8)")
    return {"largest loss": bound}, {"at": loss.theta, **_who(loss.rest, loss.record, loss.other)}


def _by_delta(found: Perturbed, density: Density, stay: tuple[Rows, ...], progress: Progress) -> Bounds:
    """Epsilon at every delta at which the claim is looked at; as a fact, delta where the claim is worst off."""
    few, at = records(found.spec, FEW), deltas_of(found.claimed)
    every = worst_cells(density, stay, few, adjacency=found.claimed.adjacency, deltas=at, progress=progress)
    method = "exact probabilities of cells (A8)"
    bounds = {
        f"hockey stick at delta {worst.delta:.3g}": LowerBound(worst.epsilon, worst.delta, 1.0, method)
        for worst in every
    }
    claims = [claimed_epsilon(found.claimed, worst.delta, found.profile) for worst in every]
    worst, claim = max(zip(every, claims, strict=True), key=lambda both: both[0].epsilon - both[1])
    pair = worst.pair
    return bounds, {"delta": pair.cells.delta(claim), **_who(pair.rest, pair.record, pair.other)}


def _who(rest: Rows, record: Row | None, other: Row | None) -> dict[str, object]:
    """The neighbours, as facts of the finding."""
    return {"rest": rest, "record": record, "other": other}
