# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audit subjects that add noise to one of two values: additive mechanisms and output perturbation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from dperm.accounting import account
from dperm.audit.black_box.likelihood_ratio import additive_statistic
from dperm.audit.black_box.neighbours import farthest_minimiser_neighbours
from dperm.audit.black_box.noise_rows import noisy_rows
from dperm.audit.black_box.output_statistics import low_order_bits
from dperm.audit.black_box.sample import Progress, Truths, report_progress
from dperm.audit.black_box.statistics import Statistic
from dperm.checks import shown
from dperm.erm.minimize import minimize
from dperm.errors import ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.methods.output import OutputPlan
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, SystemBits
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile

MAIN, BITS = 0.8, 0.2
"""Shares of alpha for the likelihood ratio and for the low-order bits."""


@dataclass(frozen=True)
class AdditiveSubject:
    """Audit subject that releases one of two values with added noise from the sampler of ``mechanism``.

    Attributes
    ----------
    name
        Name of the subject for the report.
    mechanism
        The additive mechanism.
    without, included
        Values before noise is added, from the data sets without and with the record.
    claimed, profile
        Claimed guarantee and its privacy profile.
    facts
        Public facts for the report, such as the distance between the two values.
    bits
        Source of random bits for the noise.
    """

    name: str
    mechanism: AdditiveMechanism
    without: Floats
    included: Floats
    claimed: AnyGuarantee
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    bits: Bits = field(default_factory=SystemBits)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Likelihood ratio and low-order bits."""
        ratio = additive_statistic(self.mechanism, self.without, self.included, share=MAIN)
        return ratio, low_order_bits(self.without, self.included, share=BITS)

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Return one row of noisy values for each run."""
        values = np.where(included[:, np.newaxis], self.included, self.without)
        drawn = noisy_rows(self.mechanism, values, self.bits.stream())
        report_progress(progress)
        return drawn


def of_mechanism(mechanism: AdditiveMechanism, *, bits: Bits | None = None) -> AdditiveSubject:
    """Return an audit subject for an additive mechanism, applied to two values that differ by its sensitivity.

    The value without the record is 0 in all coordinates. With the record, the first coordinate is the sensitivity.

    Parameters
    ----------
    mechanism
        Calibrated additive mechanism, such as a `LaplaceMechanism`.
    bits
        Source of random bits for the noise; None uses the random generator of the operating system.

    Returns
    -------
    AdditiveSubject
        Subject to pass to `dperm.audit.black_box.audit`.

    Raises
    ------
    ParameterError
        If ``mechanism`` is not an additive mechanism.
    """
    if not isinstance(mechanism, AdditiveMechanism):
        raise ParameterError(
            argument="mechanism",
            rule="must be one that adds noise, such as LaplaceMechanism.calibrate(...)",
            got=shown(mechanism),
        )
    values = np.zeros((2, mechanism.statistic.dim))
    values[1, 0] = mechanism.statistic.sensitivity
    facts = {"distance": float(values[1, 0]), "noise_scale": mechanism.scale, "dim": mechanism.statistic.dim}
    profile = account(mechanism.event, mechanism.goal.adjacency)
    name = f"{mechanism.name} mechanism"
    return AdditiveSubject(
        name,
        mechanism,
        without=values[0],
        included=values[1],
        claimed=mechanism.goal,
        profile=profile,
        facts=facts,
        bits=bits or SystemBits(),
    )


def of_output(plan: OutputPlan, *, bits: Bits | None = None) -> AdditiveSubject:
    """Return an audit subject for output perturbation, with fresh noise in every run (T30, T32).

    The empirical risk is minimized once for each of the two neighbouring data sets.
    """
    pair = farthest_minimiser_neighbours(plan.spec, plan.adjacency)
    tolerance = plan.tolerance
    assert tolerance is not None  # output perturbation solves
    out, own = (minimize(pair.data(side), plan.spec, tolerance) for side in (False, True))
    facts = {"neighbours": pair.description, "distance": float(np.linalg.norm(own - out)), "dim": plan.spec.dim}
    name = f"output perturbation ({plan.mechanism.name} noise)"
    return AdditiveSubject(
        name,
        plan.mechanism,
        without=out,
        included=own,
        claimed=plan.goal,
        profile=plan.facts.profile,
        facts=facts,
        bits=bits or SystemBits(),
    )
