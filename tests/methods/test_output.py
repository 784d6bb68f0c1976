# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output perturbation: T29 and T30 (sensitivity), T31 (tolerance), T32 (noise), T55 (intercept)."""

import math

import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.accounting import Gaussian, Laplace, Pure, ReplaceOneOnly
from dperm.data.space import FeatureSpace
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism, LaplaceMechanism
from dperm.methods import OutputPerturbation
from dperm.methods.defaults import output_regularization
from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import mu_for
from dperm.sensitivity import output_sensitivity


@pytest.mark.parametrize(("adjacency", "records"), [("replace_one", 2), ("add_remove", 1)])
def test_the_sensitivity_is_l_over_lambda_for_each_record_that_changes(adjacency, records, spec):
    """T30: n = 1000, lambda = .01, L = 1: .2 for a record replaced."""
    given = spec(radius=1.0, regularization=1000 * 0.01)
    assert output_sensitivity(given, Adjacency.of(adjacency)) == pytest.approx(records * 0.1, rel=1e-12)
    assert output_sensitivity(given, Adjacency.of(adjacency)) >= records * 0.1


def test_the_solver_adds_twice_its_tolerance_over_lambda(spec):
    """T31: .2 becomes .2002 for a gradient of 1e-6 in mean scale, 1e-3 in sum scale."""
    mechanism = GaussianMechanism.calibrate(0.2, GDP(1.0, "replace_one"), dim=4, numerical_error=1e-3 / 10)
    assert mechanism.calibration.sensitivity == pytest.approx(0.2002, rel=1e-6)
    plan = OutputPerturbation().plan(spec(regularization=10.0), GDP(1.0, "replace_one"))
    assert plan.mechanism.numerical_error == pytest.approx(plan.tolerance / 10.0)
    assert plan.mechanism.calibration.sensitivity >= plan.mechanism.sensitivity + 2 * plan.tolerance / 10.0


@pytest.mark.parametrize(("adjacency", "records"), [("replace_one", 2), ("add_remove", 1)])
@pytest.mark.parametrize(("noise", "kind"), [("gamma_norm", GammaNormMechanism), ("laplace", LaplaceMechanism)])
def test_pure_noise_is_the_sensitivity_over_epsilon(adjacency, records, noise, kind, spec):
    """T32, T7; Laplace noise to sqrt(d) times the L2 sensitivity (T5)."""
    given = spec(regularization=5.0, clip=0.5)
    plan = OutputPerturbation(noise).plan(given, PureDP(0.5, adjacency))
    wanted = records * 0.5 / 5.0 / 0.5 * (math.sqrt(given.dim) if noise == "laplace" else 1)
    assert isinstance(plan.output_noise, kind)
    assert wanted <= plan.output_noise.scale <= wanted * (1 + 1e-5)


@pytest.mark.parametrize(("adjacency", "records"), [("replace_one", 2), ("add_remove", 1)])
def test_gaussian_noise_is_the_sensitivity_over_mu(adjacency, records, spec):
    """T32, T6."""
    plan = OutputPerturbation("gaussian").plan(spec(regularization=5.0), ApproxDP(1.0, 1e-5, adjacency))
    wanted = records * plan.spec.lipschitz / 5.0 / mu_for(1.0, 1e-5)
    assert wanted <= plan.output_noise.scale <= wanted * (1 + 1e-5)


def test_the_event_is_the_noise_under_its_own_adjacency(spec):
    given = spec(regularization=5.0)
    assert isinstance(OutputPerturbation().plan(given, GDP(1.0, "add_remove")).event, Gaussian)
    assert isinstance(OutputPerturbation().plan(given, GDP(1.0, "replace_one")).event, ReplaceOneOnly)
    assert isinstance(OutputPerturbation().plan(given, PureDP(1.0, "replace_one")).event, Pure)
    laplace = OutputPerturbation("laplace").plan(given, PureDP(1.0, "add_remove")).event
    assert isinstance(laplace, Laplace)


@pytest.mark.parametrize(
    ("dim", "goal", "kind"),
    [
        (4, PureDP(1.0, "add_remove"), GammaNormMechanism),
        (4, ApproxDP(1.0, 0.0, "add_remove"), GammaNormMechanism),
        (2**20 + 1, PureDP(1.0, "add_remove"), LaplaceMechanism),
        (12, ApproxDP(1.0, 1e-5, "add_remove"), GammaNormMechanism),  # 13 < (1/.268)^2 = 13.9
        (13, ApproxDP(1.0, 1e-5, "add_remove"), GaussianMechanism),
        (4, GDP(1.0, "add_remove"), GaussianMechanism),
    ],
)
def test_auto_takes_the_smaller_noise(dim, goal, kind, spec):
    plan = OutputPerturbation().plan(spec(dim=dim, regularization=5.0), goal)
    assert isinstance(plan.output_noise, kind)


def test_a_kinked_loss_is_refused_with_a_remedy(spec):
    with pytest.raises(AssumptionError, match=r"T31.*huber_hinge.*gradient"):
        OutputPerturbation().plan(spec(Hinge()), PureDP(1.0, "add_remove"))


def test_gaussian_noise_for_a_pure_goal_is_refused(spec):
    with pytest.raises(ConversionError, match="pure"):
        OutputPerturbation("gaussian").plan(spec(), PureDP(1.0, "add_remove"))


def test_an_unknown_noise_is_refused():
    with pytest.raises(ParameterError, match="noise must be one of auto, gaussian, gamma_norm, laplace, got 'normal'"):
        OutputPerturbation("normal")


@pytest.mark.parametrize("goal", ["strong", None, 1.0])
def test_a_goal_that_is_none_is_refused(goal, spec):
    with pytest.raises(ParameterError, match="goal must be a guarantee"):
        OutputPerturbation().plan(spec(), goal)


def test_the_chosen_lambda_is_the_least_of_the_quadratic_model(spec):
    """The rule: Lambda R0^2/8 + n beta sigma0^2/(2 Lambda^2) with R0 = 2 sqrt(d)/R is least there."""
    given, goal = spec(HuberHinge(0.5), n=10_000), ApproxDP(1.0, 1e-5, "replace_one")
    # pure noise is the smaller in four dimensions
    sigma = math.sqrt(given.dim + 1) * 2 * given.lipschitz

    def cost(strength: float) -> float:
        far = 4 * given.dim / given.radius**2
        return strength * far / 8 + given.n * given.smoothness * sigma**2 / (2 * strength**2)

    chosen = output_regularization(given, goal).value
    assert cost(chosen) < min(cost(0.98 * chosen), cost(1.02 * chosen))
    assert output_regularization(spec(n=None), goal).value == pytest.approx(
        2 * given.radius * math.sqrt(given.dim + 1) * 2 * spec().lipschitz
    )


def test_with_an_intercept_the_lipschitz_constant_is_that_of_rows_with_their_constant():
    """T55: ||x|| alone would be too small; T54: the constant column is a coefficient like the others."""
    space = FeatureSpace(3, bounds=((0.0, 1.0),) * 3)
    assert space.radius == pytest.approx(math.sqrt(3 + 1))
    assert ProblemSpec(Logistic(), space.radius, space.size).lipschitz == pytest.approx(2.0)
