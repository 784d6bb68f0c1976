# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of private learning, each against an assertion of tests/attacks that must fail on it.

A mutant is a module with one line changed the way such lines have gone wrong elsewhere: a factor 2 dropped, a
determinant, a tolerance or a weight forgotten, a norm for its square, a step not counted. The assertions are those of
the attacks themselves, run on the changed module put in the place of the real one; if a mutant survives, the attacks
have lost a test, and if its line is not found, the list has to follow the source.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.data import bounded as bounded_module
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval
from dperm.erm import table_objective
from dperm.erm.losses import HuberHinge
from dperm.erm.residual_losses import Huber
from dperm.methods import ObjectivePerturbation
from dperm.methods import gradient as gradient_module
from dperm.methods import objective as objective_module
from dperm.methods import output as output_module
from dperm.methods import plan as plan_module
from dperm.noise import NotPrivateBits
from dperm.privacy import Adjacency
from dperm.sensitivity import objective as objective_sensitivity

ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
LINE = FeatureSpace(1, norm=1.0, intercept=False)
Check = Callable[[ModuleType], None]


def attack(name: str, folder: str = "attacks") -> ModuleType:
    """The file of this name in tests/attacks or another folder, for its assertions."""
    path = Path(__file__).parents[1] / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


output = attack("test_output_sensitivity")
objective = attack("test_objective_privacy")
gradient = attack("test_gradient_privacy")
regression = attack("test_regression_privacy")
softmax = attack("test_softmax_privacy")
fixed_event = attack("test_plan_from_event", "methods")


# What must hold, of a module in the place of the real one.


def instead(owner: Any, **parts: Any) -> Any:
    """Parts of the real module replaced, as a context."""
    context = pytest.MonkeyPatch.context()

    class Replaced:
        def __enter__(self) -> None:
            patch = context.__enter__()
            for name, part in parts.items():
                patch.setattr(owner, name, part)

        def __exit__(self, *error: Any) -> None:
            context.__exit__(*error)

    return Replaced()


SCALES = (
    "approximate_minimizer_sensitivity",
    "determinant_is_free",
    "gamma_norm_scale",
    "gaussian_scale",
    "objective_share",
    "relative_curvature",
    "require_determinant_charge",
)


def perturbed_by(module: ModuleType) -> Any:
    """Objective perturbation with a mutant of its noise, or of the sensitivities and scales behind the noise."""
    if hasattr(module, "pure_perturbation"):
        names = ("gaussian_perturbation", "pure_perturbation")
        return instead(objective_module, **{name: getattr(module, name) for name in names})
    return instead(objective_module, **{name: getattr(module, name) for name in SCALES if hasattr(module, name)})


def solutions_stay_within_the_sensitivity(sensitivity: ModuleType) -> None:
    with instead(output_module, output_sensitivity=sensitivity.output_sensitivity):
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            found = output.case("Huber hinge", output.Dressing())
            assert output.share_of_the_bound(found, adjacency) <= 1


def the_tolerance_is_covered(methods_output: ModuleType) -> None:
    spec = output.case("Huber hinge", output.Dressing()).spec
    plan = methods_output.OutputPerturbation("gaussian").plan(spec, ApproxDP(1.0, 1e-5, REPLACE_ONE))
    output.assert_stopping_early_is_covered(plan, REPLACE_ONE)


def pure_loss_is_covered(plan: Any, radius: float = 1.0, weights: tuple[float, float] = (1.0, 1.0)) -> None:
    objective.largest_share_of_epsilon(plan, objective.pairs(radius, plan.adjacency, objective.FEW), weights)


def pure_noise_is_enough(perturbation: ModuleType) -> None:
    with perturbed_by(perturbation):
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            pure_loss_is_covered(objective.pure_plan(objective.spec_of("Huber hinge"), adjacency))


def the_determinant_of_a_clipped_loss_is_charged(perturbation: ModuleType) -> None:
    with perturbed_by(perturbation):
        pure_loss_is_covered(objective.pure_plan(objective.free_spec(REPLACE_ONE, 1.0), REPLACE_ONE), 2.0)


def the_determinant_is_free_from_t36b_s_lambda_on(perturbation: ModuleType) -> None:
    """Not at a quarter of it, R^2/epsilon = 40."""
    with perturbed_by(perturbation):
        for strength in (11.0, 42.0):
            spec = objective.free_spec(ADD_REMOVE, None).with_regularization(strength)
            pure_loss_is_covered(objective.pure_plan(spec, ADD_REMOVE, 0.1), 2.0)


def replacements_need_twice_t36b_s_lambda(perturbation: ModuleType) -> None:
    spec = replace(objective.free_spec(ADD_REMOVE, None), dim=2)
    with perturbed_by(perturbation):
        objective.assert_crossed_records_are_covered(objective.pure_plan(spec, REPLACE_ONE))


def gaussian_noise_is_enough(perturbation: ModuleType) -> None:
    with perturbed_by(perturbation):
        plan = objective.gaussian_plan(objective.spec_of("Huber hinge", strength=1.0), ADD_REMOVE)
        objective.largest_share_of_delta(plan, objective.pairs(1.0, ADD_REMOVE, objective.FEW))


def replacements_are_covered(accounting: ModuleType) -> None:
    with instead(objective_module, objective_noise_multiplier=accounting.objective_noise_multiplier):
        plan = objective.gaussian_plan(objective.spec_of("Huber hinge", strength=1000.0), REPLACE_ONE)
        objective.largest_share_of_delta(plan, objective.pairs(1.0, REPLACE_ONE, objective.FEW))


def the_profile_covers_removals(accounting: ModuleType) -> None:
    with instead(objective, objective_delta=accounting.objective_delta):
        plan = objective.gaussian_plan(objective.spec_of("Huber hinge", strength=1.0), ADD_REMOVE)
        objective.largest_share_of_delta(plan, objective.pairs(1.0, ADD_REMOVE, objective.FEW))


def the_solver_s_ball_is_covered(perturbation: ModuleType) -> None:
    with perturbed_by(perturbation):
        spec = objective.spec_of("clipped logistic", dim=3)
        for plan in (objective.gaussian_plan(spec, REPLACE_ONE), objective.pure_plan(spec, REPLACE_ONE)):
            objective.assert_the_blur_covers_the_ball(plan)


def coefficients_are_blurred(methods_objective: ModuleType) -> None:
    spy = objective.Spy([])
    plan = methods_objective.ObjectivePerturbation("gaussian").plan(
        objective.spec_of("Huber hinge", dim=4), ApproxDP(1.0, 1e-5, ADD_REMOVE)
    )
    methods_objective.minimize = spy
    objective.linear_terms(plan, spy, 3)


def longer_rows_bend_more(spec_module: ModuleType) -> None:
    spec = spec_module.ProblemSpec(HuberHinge(0.5), 4.0, 1, clip=2.0)
    pure_loss_is_covered(ObjectivePerturbation().plan(spec, PureDP(1.0, ADD_REMOVE)), 4.0)


def heavier_rows_bend_more(spec_module: ModuleType) -> None:
    spec = spec_module.ProblemSpec(HuberHinge(0.5), 1.0, 1, weight=4.0)
    pure_loss_is_covered(ObjectivePerturbation().plan(spec, PureDP(1.0, ADD_REMOVE)), 1.0, (1.0, 4.0))


def gradients_stay_within_the_sensitivity(
    *, loss: str = "hinge", space: Any = None, spec: Any = None, of: Any = None, enforce: Any = None
) -> None:
    """With class weights, an intercept and rows that are too long; parts of the pipeline may be replaced."""
    found, weights = space or gradient.SPACES["norm and intercept"], (0.5, 3.0)
    with instead(gradient, ProblemSpec=spec or gradient.ProblemSpec, enforce=enforce or gradient.enforce):
        problem = gradient.spec_of(loss, found, 3.0)
        plan = gradient.plan_of(problem, ADD_REMOVE, steps=5)
        assert gradient.largest_share(plan, found, weights, of or gradient.loss_gradient) <= 1


def rows_stay_within_their_norm(grid_rows: ModuleType) -> None:
    with instead(bounded_module, RowGrid=grid_rows.RowGrid), np.errstate(all="ignore"):
        gradients_stay_within_the_sensitivity()


def clipped_gradients_are_clipped(kernels: ModuleType) -> None:
    with instead(table_objective, GradientKernel=kernels.GradientKernel):
        gradients_stay_within_the_sensitivity(loss="clipped hinge")


def all_coefficients_are_regularised(objective_of_tables: ModuleType) -> None:
    """In a pass for the gradient, and in one for the second derivatives as well."""
    found = gradient.SPACES["norm and intercept"]
    data = gradient.enforce(np.full((1, 3), np.nan), np.zeros(1), found, Classes((-1, 1)), invalid="drop")
    spec = gradient.ProblemSpec(HuberHinge(0.5), found.radius, 4, regularization=2.0)
    computed = objective_of_tables.TableObjective(data, spec, np.zeros(4))
    assert computed.gradient(np.ones(4)) == pytest.approx(2 * np.ones(4))
    assert computed.gradient_and_hessian(np.ones(4), np.eye(4))[0] == pytest.approx(2 * np.ones(4))


def a_plan_of(methods_gradient: ModuleType, space: Any, **options: Any) -> Any:
    goal = ApproxDP(1.0, 1e-5, ADD_REMOVE)
    return methods_gradient.GradientPerturbation(**options).plan(gradient.spec_of("hinge", space), goal)


def every_noisy_step_is_charged(methods_gradient: ModuleType) -> None:
    space, drawn = gradient.SPACES["norm"], []
    plan = a_plan_of(methods_gradient, space, steps=7)
    methods_gradient.loss_gradient = lambda data, spec, theta: drawn.append(1) or np.zeros(spec.dim)
    gradient.run(plan, None)
    gradient.assert_steps_are_counted(plan, len(drawn))


def rounding_is_covered(methods_gradient: ModuleType) -> None:
    plan = a_plan_of(methods_gradient, gradient.SPACES["norm"])
    limit = gradient.gradient_error(plan.spec, plan.most_rows, plan.descent.projection)
    assert plan.mechanism.statistic.numerical_error >= limit


def rows_are_not_counted(methods_gradient: ModuleType) -> None:
    space = gradient.SPACES["norm and intercept"]
    plan = a_plan_of(methods_gradient, space, steps=1, step_size=2.0, average=0.0)
    with instead(gradient.GaussianMechanism, noisy=lambda mechanism, value, stream: value):
        gradient.assert_the_normaliser_is_public(plan, space)


def descents_take_their_steps_within_the_projection(descent: ModuleType) -> None:
    found = descent.DescentSettings(steps=9, step_size=1.0, momentum=0.5, average=0.5, projection=3.0)
    seen = []
    descent.descend(lambda theta: seen.append(theta.copy()) or np.ones(4), found, 4)
    assert len(seen) == 9
    assert np.linalg.norm(seen, axis=1).max() <= found.longest


def linear_terms_have_their_law(linear_term: ModuleType) -> None:
    streams = [NotPrivateBits(seed).stream() for seed in range(300)]
    term = linear_term.GaussianTerm(3.7, 6)
    objective.assert_gaussian(np.array([term.draw(stream) for stream in streams]), 3.7)
    term = linear_term.GammaNormTerm(0.4, 6)
    objective.assert_gamma_norm(np.array([term.draw(stream) for stream in streams]), 0.4)


# Regression and several classes.


def both_tails_of_a_regression_are_covered(perturbation: ModuleType) -> None:
    with perturbed_by(perturbation):
        regression.assert_both_tails_are_covered(regression.two_tailed_plan())


def both_tails_are_in_the_profile(accounting: ModuleType) -> None:
    with instead(objective_module, objective_noise_multiplier=accounting.objective_noise_multiplier):
        regression.assert_both_tails_are_covered(regression.two_tailed_plan())


def labels_are_within_their_interval(targets: ModuleType) -> None:
    """A gradient whose slope has no limit of its own: the label decides, were it not clipped."""
    data = regression.enforce(np.ones((1, 1)), np.array([1e6]), LINE, targets.Interval(-1.0, 1.0))
    spec = regression.ProblemSpec(Huber(5.0), LINE.radius, 1)
    pull = regression.loss_gradient(data, spec, np.array([0.5]))
    assert abs(pull[0]) <= 0.5


def residuals_are_clipped(residual_losses: ModuleType) -> None:
    """Of the squared loss, at the ends of the labels and of the projection."""
    with instead(regression, GRADIENTS={"squared": (residual_losses.Squared(), 0.5)}):
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            plan = regression.gradient_plan("squared", regression.Dressing().space, adjacency)
            assert regression.largest_share_of_a_gradient(plan, regression.Dressing()) <= 1


def regression_needs_its_constant(spec_module: ModuleType) -> None:
    """L = R kappa, not R."""
    spec = spec_module.ProblemSpec(Huber(3.0), LINE.radius, 1, n=1)
    data = regression.enforce(np.ones((1, 1)), np.array([1.0]), LINE, Interval(-1.0, 1.0))
    pull = regression.loss_gradient(data, spec, np.array([100.0]))
    assert abs(pull[0]) <= spec.lipschitz


def softmax_gradients_stay_within_the_sensitivity(loss_module: ModuleType) -> None:
    with instead(softmax, Softmax=loss_module.Softmax):
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            plan = softmax.gradient_plan(adjacency)
            assert softmax.largest_share_of_a_gradient(plan) <= 1
        clipped = softmax.gradient_plan(ADD_REMOVE, 1.0, 0.7)
        assert softmax.largest_share_of_a_gradient(clipped) <= 1


def softmax_determinants_are_covered(loss_module: ModuleType) -> None:
    with instead(softmax, Softmax=loss_module.Softmax):
        spec = softmax.ProblemSpec(loss_module.Softmax(3), 1.0, 3, regularization=8 / 3)
        softmax.assert_the_determinant_is_covered(softmax.pure_plan(spec, ADD_REMOVE))


def softmax_determinants_are_charged(perturbation: ModuleType) -> None:
    with perturbed_by(perturbation):
        softmax.assert_the_determinant_is_covered(softmax.pure_plan(softmax.spec_of(strength=8.0), ADD_REMOVE))


def softmax_determinants_count_every_class(accounting: ModuleType) -> None:
    with instead(objective_sensitivity, softmax_determinant_loss=accounting.softmax_determinant_loss):
        softmax.assert_the_determinant_is_covered(softmax.pure_plan(softmax.spec_of(strength=8.0), ADD_REMOVE))


def softmax_gradients_have_the_weight_of_the_plan(spec_module: ModuleType) -> None:
    weights = (3.0, 1.0, 0.5)
    with instead(softmax, ProblemSpec=spec_module.ProblemSpec):
        plan = softmax.gradient_plan(ADD_REMOVE, 3.0)
        assert softmax.largest_share_of_a_gradient(plan, weights) <= 1


def softmax_gradients_are_weighted(kernels: ModuleType) -> None:
    """Half a weight is half a gradient: a record that does not count adds nothing."""
    space, spec = softmax.FeatureSpace(1, norm=1.0), softmax.ProblemSpec(softmax.Softmax(3), 2.0, 6)
    for weights, share in (((1.0, 1.0, 1.0), 1.0), ((0.5, 1.0, 1.0), 0.5)):
        data = softmax.enforce(np.ones((1, 1)), np.zeros(1), space, Classes((0, 1, 2), weights))
        with instead(table_objective, GradientKernel=kernels.GradientKernel):
            pull = softmax.loss_gradient(data, spec, np.zeros(6))
        assert np.linalg.norm(pull) <= share * np.hypot(1.0, 0.25) * np.sqrt(2 / 3) * (1 + 1e-12)


# Plans from an event, without the check of dominance in `Plan.stated_event`, which would stop most of them.


def unchecked_plans() -> Any:
    return instead(plan_module, dominates=lambda declared, actual: True)


def the_problem_does_not_choose_the_event(methods_objective: ModuleType) -> None:
    with unchecked_plans():
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            goal = ApproxDP(1.0, 1e-5, adjacency)
            method = methods_objective.ObjectivePerturbation()
            fixed_event.assert_the_event_is_the_declared_one(HuberHinge(0.5), goal, method)
            fixed_event.assert_classes_do_not_choose_the_event(goal, method)


def lambda_covers_the_event_s_curvature(methods_objective: ModuleType) -> None:
    with unchecked_plans():
        fixed_event.assert_lambda_is_rounded_up(methods_objective.ObjectivePerturbation())


def the_exact_loss_is_below_the_event(methods_objective: ModuleType) -> None:
    with unchecked_plans():
        fixed_event.assert_the_exact_loss_is_near_the_event(methods_objective.ObjectivePerturbation())


def coefficients_have_the_noise_of_the_event(declared_event: ModuleType) -> None:
    with unchecked_plans(), instead(objective_module, noise_share=declared_event.noise_share):
        the_problem_does_not_choose_the_event(objective_module)


def fewer_classes_keep_lambda(dominance: ModuleType) -> None:
    with instead(objective_module, largest_curvature=dominance.largest_curvature):
        the_problem_does_not_choose_the_event(objective_module)


def dominance_needs_every_part(dominance: ModuleType) -> None:
    fixed_event.assert_dominance_needs_every_part(dominance.dominates)


# The mutants.


@dataclass(frozen=True)
class Mutant:
    """One line of one module, what it becomes, and what then fails."""

    name: str
    module: str
    old: str
    new: str
    check: Check


MUTANTS = [
    Mutant(
        "a replacement moves the minimiser once, not twice (T30)",
        "dperm.sensitivity.minimizer",
        "else 2 * spec.lipschitz",
        "else spec.lipschitz",
        solutions_stay_within_the_sensitivity,
    ),
    Mutant(
        "strong convexity counts twice (T30, C0.3)",
        "dperm.sensitivity.minimizer",
        "adjacency)) / Fraction(spec.strength))",
        "adjacency)) / Fraction(2 * spec.strength))",
        solutions_stay_within_the_sensitivity,
    ),
    Mutant(
        "the solver is taken to be exact (T31)",
        "dperm.methods.output",
        "self._mechanism(spec, goal, minimizer_error(spec, tolerance))",
        "self._mechanism(spec, goal, 0.0)",
        the_tolerance_is_covered,
    ),
    Mutant(
        "the determinant is forgotten, pure (T35, E3)",
        "dperm.methods.objective",
        "round_down(Fraction(own) - Fraction(charge))",
        "own",
        pure_noise_is_enough,
    ),
    Mutant(
        "the determinant is forgotten, Gaussian (T37)",
        "dperm.sensitivity.objective",
        "    return quotient_up(spec.bend, spec.strength)\n",
        "    return 0.0\n",
        gaussian_noise_is_enough,
    ),
    Mutant(
        "the determinant is not in the profile (T37)",
        "dperm.accounting.objective_noise",
        "c, mu = determinant_loss(curvature), 1 / noise_multiplier",
        "c, mu = 0.0, 1 / noise_multiplier",
        the_profile_covers_removals,
    ),
    Mutant(
        "gamma-norm noise for L where a record is replaced (T36a)",
        "dperm.sensitivity.objective",
        "quotient_up(gradient_sensitivity(spec, adjacency), epsilon)",
        "quotient_up(spec.lipschitz, epsilon)",
        pure_noise_is_enough,
    ),
    Mutant(
        "the law of one record where two are exchanged (T40, T41)",
        "dperm.accounting.objective_noise",
        "return union_bound(c, mu) if monotone",
        "return one_sided_bound(c, mu) if monotone",
        replacements_are_covered,
    ),
    Mutant(
        "no determinant for the clipped logistic loss either (T36b, T44)",
        "dperm.sensitivity.objective",
        "if spec.is_clipped or type(spec.loss) is not Logistic:",
        "if type(spec.loss) is not Logistic:",
        the_determinant_of_a_clipped_loss_is_charged,
    ),
    Mutant(
        "no determinant from any Lambda on (T36b)",
        "dperm.sensitivity.objective",
        "return spec.strength >= records_exchanged(adjacency) * quotient_up(4 * spec.smoothness, epsilon)",
        "return True",
        the_determinant_is_free_from_t36b_s_lambda_on,
    ),
    Mutant(
        "no determinant for replacements from R^2/epsilon on (T36b)",
        "dperm.sensitivity.objective",
        "records_exchanged(adjacency) * quotient_up(4",
        "quotient_up(4",
        replacements_need_twice_t36b_s_lambda,
    ),
    Mutant(
        "noise on the coefficients for half of the ball (T43, E33)",
        "dperm.sensitivity.minimizer",
        "round_up(2 * (Fraction(tolerance)",
        "round_up((Fraction(tolerance)",
        the_solver_s_ball_is_covered,
    ),
    Mutant(
        "the rounding of b is forgotten (T43)",
        "dperm.sensitivity.minimizer",
        "(Fraction(tolerance) + Fraction(rounding))",
        "Fraction(tolerance)",
        the_solver_s_ball_is_covered,
    ),
    Mutant(
        "the objective spends what the coefficients spend as well (T43)",
        "dperm.sensitivity.objective",
        "return lowered(epsilon * (1 - OUTPUT_SHARE)), lowered(delta * (1 - TAIL_SHARE))",
        "return epsilon, delta",
        the_solver_s_ball_is_covered,
    ),
    Mutant(
        "the approximate minimiser is released as it is (T43)",
        "dperm.methods.objective",
        "return self.mechanism.noisy(theta, stream)",
        "return theta",
        coefficients_are_blurred,
    ),
    Mutant(
        "curvature grows with the norm, not with its square (C0.3)",
        "dperm.erm.spec",
        "self.weight * self.radius**2 * self.loss.bend",
        "self.weight * self.radius * self.loss.bend",
        longer_rows_bend_more,
    ),
    Mutant(
        "the class weight is not in the curvature",
        "dperm.erm.spec",
        "self.weight * self.radius**2 * self.loss.bend",
        "self.radius**2 * self.loss.bend",
        heavier_rows_bend_more,
    ),
    Mutant(
        "the class weight is not in the Lipschitz constant",
        "dperm.erm.spec",
        "return self.weight * longest",
        "return longest",
        lambda module: gradients_stay_within_the_sensitivity(spec=module.ProblemSpec),
    ),
    Mutant(
        "the constant column is not in the radius (T54)",
        "dperm.data.space",
        "return math.hypot(self.row_norm, self.constant) * (1 + 2.0**-50)",
        "return self.row_norm * (1 + 2.0**-50)",
        lambda module: gradients_stay_within_the_sensitivity(space=module.FeatureSpace(3, norm=4.0)),
    ),
    Mutant(
        "rows are taken to keep their norm (T44)",
        "dperm.data.grid_rows",
        "return np.asarray(is_long) if is_long.any() else None",
        "return None",
        rows_stay_within_their_norm,
    ),
    Mutant(
        "noise for clipped gradients on gradients that are not (E10, T44)",
        "dperm.erm.kernels",
        "return np.asarray(self.clip / self.grid.step / rows.lengths.astype(np.float64))",
        "return None",
        clipped_gradients_are_clipped,
    ),
    Mutant(
        "gradients of long rows are clipped as those of rows of norm 1 (T44)",
        "dperm.erm.kernels",
        "self.clip / self.grid.step / rows.lengths.astype(np.float64)",
        "self.clip / np.ones(rows.count)",
        clipped_gradients_are_clipped,
    ),
    Mutant(
        "the intercept is not regularised (E17, T54)",
        "dperm.erm.table_objective",
        "found = kernel.gradient(self.data.sums(kernel)) + self.spec.strength * theta",
        "found = kernel.gradient(self.data.sums(kernel)) + self.spec.strength * np.append(theta[:-1], 0.0)",
        all_coefficients_are_regularised,
    ),
    Mutant(
        "the intercept is not regularised in passes with second derivatives (E17, T54)",
        "dperm.erm.table_objective",
        "gradient = kernel.gradient(sums) + self.spec.strength * theta",
        "gradient = kernel.gradient(sums) + self.spec.strength * np.append(theta[:-1], 0.0)",
        all_coefficients_are_regularised,
    ),
    Mutant(
        "one step is not charged (E28)",
        "dperm.methods.gradient",
        "self.mechanism.event * self.descent.steps)",
        "self.mechanism.event * (self.descent.steps - 1))",
        every_noisy_step_is_charged,
    ),
    Mutant(
        "one step too many (E28)",
        "dperm.methods.descent",
        "for step in range(descent.steps):",
        "for step in range(descent.steps + 1):",
        descents_take_their_steps_within_the_projection,
    ),
    Mutant(
        "iterates are not projected",
        "dperm.methods.descent",
        "project(moved, descent.projection), theta",
        "moved, theta",
        descents_take_their_steps_within_the_projection,
    ),
    Mutant(
        "rounding of the gradient is not in its sensitivity",
        "dperm.methods.gradient",
        "dim=spec.dim, numerical_error=error)",
        "dim=spec.dim)",
        rounding_is_covered,
    ),
    Mutant(
        "gradients are divided by the number of rows (E9, T45)",
        "dperm.methods.gradient",
        "return (noisy + strength * theta) / normaliser",
        "return (noisy + strength * theta) / data.rows",
        rows_are_not_counted,
    ),
    Mutant(
        "half of the Gaussian noise in the objective",
        "dperm.methods.linear_term",
        "return rounded_gaussian(self.scale / self.grid.step",
        "return rounded_gaussian(self.scale / 2 / self.grid.step",
        linear_terms_have_their_law,
    ),
    Mutant(
        "half of the gamma-norm noise in the objective",
        "dperm.methods.linear_term",
        "return gamma_norm(self.scale / self.grid.step",
        "return gamma_norm(self.scale / 2 / self.grid.step",
        linear_terms_have_their_law,
    ),
]

MUTANTS += [
    Mutant(
        "T40 for a regression, whose slopes have both signs (T39)",
        "dperm.methods.objective",
        "    monotone = spec.loss.monotone\n",
        "    monotone = True\n",
        both_tails_of_a_regression_are_covered,
    ),
    Mutant(
        "one of two tails (T39, T40)",
        "dperm.accounting.objective_noise",
        "one_sided_bound(c, mu) if monotone else two_sided_bound(c, mu)",
        "one_sided_bound(c, mu)",
        both_tails_are_in_the_profile,
    ),
    Mutant(
        "labels are not clipped",
        "dperm.data.targets",
        "np.clip(numbers, self.low, self.high, out=numbers)\n        numbers -= self.center\n        "
        "numbers /= self.half_width\n        return np.clip(numbers, -1.0, 1.0, out=numbers)",
        "return (numbers - self.center) / self.half_width",
        labels_are_within_their_interval,
    ),
    Mutant(
        "the clip of the squared loss is forgotten (T44)",
        "dperm.erm.residual_losses",
        "return self.slope if limits is None else np.minimum(limits, self.slope)",
        "return self.slope",
        residuals_are_clipped,
    ),
    Mutant(
        "the slope of a loss is taken to be 1 (T53)",
        "dperm.erm.spec",
        "min(self.radius * self.loss.slope, math.inf",
        "min(self.radius, math.inf",
        regression_needs_its_constant,
    ),
    Mutant(
        "softmax gradients of length 1 (T53)",
        "dperm.erm.softmax",
        "slope: ClassVar[float] = math.sqrt(2)",
        "slope: ClassVar[float] = 1.0",
        softmax_gradients_stay_within_the_sensitivity,
    ),
    Mutant(
        "softmax gradients are not clipped (T46)",
        "dperm.erm.softmax",
        "slopes * np.minimum(limits / lengths, 1.0)[:, np.newaxis]",
        "slopes",
        softmax_gradients_stay_within_the_sensitivity,
    ),
    Mutant(
        "half the mean eigenvalue of a softmax Hessian (T53a)",
        "dperm.erm.softmax",
        "return 1 / self.classes",
        "return 1 / (2 * self.classes)",
        softmax_determinants_are_covered,
    ),
    Mutant(
        "the determinant of one score for all classes (T37, T53a)",
        "dperm.sensitivity.objective",
        "return determinant_loss(curvature) if spec.outputs == 1 else",
        "return determinant_loss(curvature) if True else",
        softmax_determinants_are_charged,
    ),
    Mutant(
        "one class less in the determinant (T53a)",
        "dperm.accounting.softmax",
        "return raised((classes - 1) * math.log1p(curvature), 4)",
        "return raised((classes - 2) * math.log1p(curvature), 4)",
        softmax_determinants_count_every_class,
    ),
    Mutant(
        "the class weight is not in the Lipschitz constant of several classes",
        "dperm.erm.spec",
        "return self.weight * longest",
        "return longest",
        softmax_gradients_have_the_weight_of_the_plan,
    ),
    Mutant(
        "softmax gradients without their weights",
        "dperm.erm.kernels",
        "amounts = weights * slopes if slopes.ndim == 1 else weights[:, np.newaxis] * slopes",
        "amounts = weights * slopes if slopes.ndim == 1 else slopes",
        softmax_gradients_are_weighted,
    ),
]


MUTANTS += [
    Mutant(
        "the event is chosen by the problem that was discovered (T70)",
        "dperm.methods.objective",
        "perturbation=found, declared=event",
        "perturbation=found",
        the_problem_does_not_choose_the_event,
    ),
    Mutant(
        "Lambda is rounded down, so the curvature is above the event's (T70)",
        "dperm.methods.objective",
        "quotient_up(spec.bend, round_down(",
        "quotient_down(spec.bend, round_down(",
        lambda_covers_the_event_s_curvature,
    ),
    Mutant(
        "the noise multiplier is relative to an L without the weight (T70)",
        "dperm.methods.objective",
        "        term = GaussianTerm(gaussian_scale(spec, exact.noise_multiplier), spec.dim)",
        "        term = GaussianTerm(exact.noise_multiplier * spec.lipschitz / spec.weight, spec.dim)",
        the_exact_loss_is_below_the_event,
    ),
    Mutant(
        "the determinant of the event is forgotten in Lambda (T37, T70)",
        "dperm.methods.objective",
        "    least = least_regularization(exact, spec)\n",
        "    least = 0.1 * least_regularization(exact, spec)\n",
        lambda_covers_the_event_s_curvature,
    ),
    Mutant(
        "a replacement counts once in the noise on the coefficients (T43, T70)",
        "dperm.methods.declared_event",
        "GDP(quotient_down(2.0, multiplier)",
        "GDP(quotient_down(4.0, multiplier)",
        coefficients_have_the_noise_of_the_event,
    ),
    Mutant(
        "the number of classes that were found chooses the curvature (T53a, T70)",
        "dperm.accounting.dominance",
        "else curvature * declared.classes / scores",
        "else curvature * declared.classes",
        fewer_classes_keep_lambda,
    ),
    Mutant(
        "more classes than declared (T53a, T70)",
        "dperm.accounting.dominance",
        "return actual.classes <= declared.classes",
        "return True",
        dominance_needs_every_part,
    ),
    Mutant(
        "both tails under the event of one (T39, T40, T70)",
        "dperm.accounting.dominance",
        "return actual.monotone or not declared.monotone",
        "return True",
        dominance_needs_every_part,
    ),
    Mutant(
        "less noise than declared (T70)",
        "dperm.accounting.dominance",
        "return actual.noise_multiplier >= declared.noise_multiplier",
        "return True",
        dominance_needs_every_part,
    ),
    Mutant(
        "more curvature than declared (T37, T70)",
        "dperm.accounting.dominance",
        "if Fraction(actual.curvature) > largest_curvature(declared, scores):",
        "if False:",
        dominance_needs_every_part,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_an_unsafe_mutant_is_killed(mutant, assert_killed):
    assert_killed(mutant.check, mutant.module, mutant.old, mutant.new)


def test_the_assertions_look_at_the_module_that_they_are_given(assert_killed):
    """A harmless change survives: nothing here fails for another reason than what it says."""
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        assert_killed(
            solutions_stay_within_the_sensitivity,
            "dperm.sensitivity.minimizer",
            "adjacency)) / Fraction(spec.strength))",
            "adjacency)) / Fraction(spec.strength / 2))",
        )


def test_the_real_modules_are_back_in_place():
    assert gradient_module.loss_gradient is gradient.loss_gradient
    assert objective_module.objective_share is objective_sensitivity.objective_share
