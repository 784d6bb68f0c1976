# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact privacy loss of one posterior sample, by integrating the density with the constants of a plan (T50-T52).

The density is e^(-tau sum w f - ||theta||^2/(2 sigma^2)) with the plan's own tau and sigma; that the sampler draws from
it is tested with the method (tests/methods/test_posterior.py), and for mutants here. In one and in two dimensions the
hockey-stick divergence of neighbours is compared with what the plan's event claims: never above, and nearly as large
where all losses are lines. The cap on the trials is looked at separately.
"""

import math
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dperm import ApproxDP, account
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.methods import posterior as posterior_module
from dperm.methods import rejection as rejection_module
from dperm.methods.posterior import PosteriorSampling
from dperm.noise import NotPrivateBits
from dperm.privacy import Adjacency

ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
EPSILONS = (0.0, 0.3, 1.0, 2.0)
WITHIN = 1 + 1e-5  # of the integrals
LEVEL = 1e-4
ROWS = 30
LEANING = (0.8, 0.6)
LOSSES = {
    "logistic": (Logistic(), None),
    "clipped logistic": (Logistic(), 0.5),
    "Huber hinge": (HuberHinge(0.2), None),
    "hinge": (Hinge(), None),
    "absolute": (Pinball(0.5), None),
    "quantile": (Pinball(0.9), None),
    "Huber": (Huber(0.3), None),
    "clipped squared": (Squared(), 0.3),
}

Rows = tuple[tuple[tuple[float, ...], float, int], ...]
"""Bounded rows with their targets, and how many there are of each."""


def spec_of(name: str, dim: int = 1, strength: float = 20.0) -> ProblemSpec:
    loss, clip = LOSSES[name]
    return ProblemSpec(loss, 1.0, dim, n=ROWS, clip=clip, regularization=strength)


def plan_of(spec: ProblemSpec, adjacency: Adjacency, method: Any = PosteriorSampling) -> Any:
    return method().plan(spec, ApproxDP(1.0, 1e-5, adjacency))


# Densities of what is released.


def line_for(sampler: Any, count: int) -> np.ndarray:
    """Points around the posteriors of all data of ROWS rows, for sums as integrals."""
    furthest = ROWS * sampler.spec.lipschitz / sampler.spec.strength + 9 * sampler.deviation
    return np.linspace(-furthest, furthest, count)


def plane_for(sampler: Any) -> np.ndarray:
    """The same in the plane: fine along LEANING, which the logarithms of ratios depend on."""
    fine, coarse = line_for(sampler, 4001), line_for(sampler, 121)
    along, across = np.array(LEANING), np.array([-LEANING[1], LEANING[0]])
    return (fine[:, np.newaxis, np.newaxis] * along + coarse[:, np.newaxis] * across).reshape(-1, 2)


def probabilities(sampler: Any, rows: Rows, thetas: np.ndarray) -> np.ndarray:
    """The posterior of these rows on the points, summing to 1."""
    loss, clip = sampler.spec.loss, sampler.spec.clip
    total = np.zeros(len(thetas))
    for x, target, times in rows:
        limits = None if clip is None else clip / np.linalg.norm(x)
        total += times * loss.losses(thetas @ np.array(x), np.full(len(thetas), target), limits)
    logs = -sampler.temperature * total - (thetas**2).sum(axis=1) / (2 * sampler.deviation**2)
    density = np.exp(logs - logs.max())
    return density / density.sum()


def divergences(p: np.ndarray, q: np.ndarray) -> list[float]:
    """The larger of both hockey-stick divergences at each epsilon."""
    return [max(excess(p, q, epsilon), excess(q, p, epsilon)) for epsilon in EPSILONS]


def excess(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def crowds(loss: Any) -> list[Rows]:
    """Nobody, rows that pull far to one side, rows that pull to both, and rows around the kink."""
    ends = (-1.0, 1.0) if loss.labels is LabelKind.NUMBER else (-1, 1)
    pulls = tuple(((1.0,), end, ROWS // 2 - 1) for end in ends)
    return [(), (((1.0,), ends[0], ROWS - 1),), (((1.0,), ends[1], ROWS - 1),), pulls, (((0.3,), ends[1], ROWS - 1),)]


def records(loss: Any) -> list[Any]:
    ends = (-1.0, 0.0, 1.0) if loss.labels is LabelKind.NUMBER else (-1, 1)
    return [((x,), end, 1) for x in (1.0, -1.0, 0.5) for end in ends]


def neighbours(loss: Any, adjacency: Adjacency) -> list[tuple[Rows, Rows]]:
    found: list[tuple[Rows, Rows]] = []
    for crowd in crowds(loss):
        for one in records(loss):
            if adjacency is ADD_REMOVE:
                found.append(((*crowd, one), crowd))
            else:
                found.extend(((*crowd, one), (*crowd, other)) for other in records(loss) if other != one)
    return found


@lru_cache
def claimed(event: Any, adjacency: Adjacency) -> list[float]:
    profile = account(event, adjacency)
    return [profile.delta(epsilon) for epsilon in EPSILONS]


def largest_share(plan: Any, pairs: list[tuple[Rows, Rows]]) -> float:
    """Of the delta that the event claims, how much neighbours have, at epsilon = 1; never more at any epsilon."""
    allowed, largest = claimed(plan.event, plan.adjacency), 0.0
    thetas = line_for(plan.sampler, 20_001)[:, np.newaxis] if plan.spec.dim == 1 else plane_for(plan.sampler)
    density = lru_cache(lambda rows: probabilities(plan.sampler, rows, thetas))
    for one, two in pairs:
        found = divergences(density(one), density(two))
        assert all(share <= most * WITHIN for share, most in zip(found, allowed, strict=True))
        largest = max(largest, found[2] / allowed[2])
    return largest


@BOTH
@pytest.mark.parametrize("strength", [3.0, 60.0])
@pytest.mark.parametrize("name", LOSSES)
def test_no_neighbours_on_a_line_have_more_than_the_event_claims(name, strength, adjacency):
    """T50, both orders; for the logistic loss rows on the steep side, and kinks within the posterior."""
    plan = plan_of(spec_of(name, strength=strength), adjacency)
    largest_share(plan, neighbours(plan.spec.loss, adjacency))


@BOTH
@pytest.mark.parametrize("name", ["clipped logistic", "hinge", "absolute", "Huber", "clipped squared"])
def test_losses_that_are_lines_have_nearly_as_much_as_the_event_claims(name, adjacency):
    """A factor 2 in tau or in Delta_g would be seen many times over: all but 1 % of delta is there."""
    plan = plan_of(spec_of(name, strength=400.0), adjacency)
    share = largest_share(plan, neighbours(plan.spec.loss, adjacency))
    assert share > (0.9 if name == "clipped logistic" else 0.98)


def test_the_logistic_loss_is_nearly_a_line_where_a_crowd_outvotes_a_record():
    """Many short rows of the other class, whose losses hardly bend, move the posterior to where its slope is 0.99."""
    plan = plan_of(ProblemSpec(Logistic(), 1.0, 1, n=60_000, regularization=100.0), ADD_REMOVE)
    thetas, crowd = np.linspace(-8.0, -3.0, 20_001)[:, np.newaxis], (((0.02,), -1, 60_000),)
    rows = [crowd, (*crowd, ((1.0,), 1, 1))]
    with_it, without = (probabilities(plan.sampler, one, thetas) for one in rows)
    found, allowed = divergences(with_it, without), claimed(plan.event, ADD_REMOVE)
    assert all(share <= most * WITHIN for share, most in zip(found, allowed, strict=True))
    assert found[0] > 0.9 * allowed[0]


@BOTH
@pytest.mark.parametrize("name", ["logistic", "hinge", "absolute"])
def test_no_neighbours_in_the_plane_have_more_than_the_event_claims(name, adjacency):
    plan = plan_of(spec_of(name, dim=2), adjacency)
    pairs = neighbours(plan.spec.loss, adjacency)
    largest_share(plan, [(leaning(one), leaning(two)) for one, two in pairs[:: len(pairs) // 5]])


def leaning(rows: Rows) -> Rows:
    """In the plane: a crowd along the first axis, and the record in which neighbours differ aslant."""
    crowd, single = ([row for row in rows if (row[2] > 1) is many] for many in (True, False))
    moved = [((x * LEANING[0], x * LEANING[1]), y, times) for (x,), y, times in single]
    return (*(((x, 0.0), y, times) for (x,), y, times in crowd), *moved)


def test_weights_count():
    """A class of weight 3 in the plan, and a record of it in the data."""
    spec = ProblemSpec(Hinge(), 1.0, 1, n=ROWS, weight=3.0, regularization=400.0)
    plan = plan_of(spec, ADD_REMOVE)
    share = largest_share(plan, [((((1.0,), 1, 3),), ())])
    assert share > 0.98


# The cap.


def test_a_sampler_that_may_fail_is_covered_whatever_it_then_releases():
    """K = N(0, 1), K' = N(mu, 1), failures that are seen, of all probabilities up to zeta; the last attain it."""
    for mu, zeta in ((0.3, 1e-3), (1.0, 0.05), (4.0, 0.3)):
        for epsilon in np.linspace(0.0, 8.0, 33):
            claim = zeta + (1 - zeta) * gaussian_delta(mu, epsilon)
            shares = [
                one + (1 - one) * gaussian_delta(mu, epsilon + math.log((1 - other) / (1 - one)))
                for one in (0.0, zeta / 2, zeta)
                for other in (0.0, zeta / 2, zeta)
            ]
            assert max(shares) == pytest.approx(claim, rel=1e-12)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """T6, also below epsilon = 0."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def hardest(sampler: Any) -> Any:
    """Data that attain the acceptance bound: a squared loss, unit rows along the axes."""
    dim = sampler.spec.dim
    X = np.eye(dim)[np.arange(sampler.rows) % dim]
    space = FeatureSpace(dim, norm=1.0, intercept=False)
    return enforce(X, np.zeros(sampler.rows), space, Interval(-1.0, 1.0))


def assert_failures_are_covered(posterior: ModuleType, rejection: ModuleType) -> None:
    """The probability that all trials fail, where the acceptance bound is attained, is in the event."""
    spec = ProblemSpec(Squared(), 1.0, 2, n=200, clip=50.0, regularization=3.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "RejectionSampler", rejection.RejectionSampler)
        plan = posterior.PosteriorSampling().plan(spec, ApproxDP(1.0, 1e-5, REPLACE_ONE))
    chance = 1 / (1 + 100 / 3.0)
    failure = (1 - chance) ** plan.sampler.trials
    assert 0 < failure <= plan.event.events[1].delta


def assert_the_cap_is_kept(rejection: ModuleType) -> None:
    """Zeros as often as the binomial law says, for data that attain the bound."""
    spec = ProblemSpec(Squared(), 1.0, 2, clip=50.0, regularization=3.0)
    sampler = rejection.RejectionSampler(spec, 0.4, 60, 0.3)
    data, chance = hardest(sampler), 1 / (1 + 60 / (3.0 * 2))
    found = [sampler.sample(data, NotPrivateBits(seed).stream()).any() for seed in range(300)]
    failures, expected = 300 - sum(found), (1 - chance) ** sampler.trials
    assert stats.binom.cdf(failures, 300, expected) > LEVEL
    assert stats.binom.sf(failures - 1, 300, expected) > LEVEL


def test_failures_are_covered_and_the_cap_is_kept():
    assert_failures_are_covered(posterior_module, rejection_module)
    assert_the_cap_is_kept(rejection_module)


# The sampler draws from the density that was integrated.


def assert_the_law_is_the_density(rejection: ModuleType) -> None:
    """By Kolmogorov and Smirnov, at the sampler's own tau and sigma = 1/sqrt(tau Lambda)."""
    for name in ("logistic", "hinge", "absolute"):
        loss, _ = LOSSES[name]
        given = ProblemSpec(loss, 1.0, 1, regularization=6.0)
        sampler = rejection.RejectionSampler(given, 3.0, ROWS, 1e-9)
        assert sampler.deviation == pytest.approx(1 / math.sqrt(18.0))
        rows = (((1.0,), 1, 14), ((1.0,), -1, 5), ((0.5,), -1, 6))
        found = draws(sampler, rows, loss)
        thetas = np.linspace(-8, 8, 40_001)[:, np.newaxis]
        cumulated = np.cumsum(probabilities(sampler, rows, thetas))
        assert stats.kstest(found, lambda t: np.interp(t, thetas[:, 0], cumulated)).pvalue > LEVEL  # noqa: B023


def draws(sampler: Any, rows: Rows, loss: Any) -> np.ndarray:
    X = np.repeat([x for x, *_ in rows], [times for *_, times in rows], axis=0)
    y = np.repeat([target for _, target, _ in rows], [times for *_, times in rows])
    target = Interval(-1.0, 1.0) if loss.labels is LabelKind.NUMBER else Classes((-1, 1))
    envelope, stream = sampler.envelope(enforce(X, y, FeatureSpace(1, norm=1.0, intercept=False), target)), bits(31)
    return np.concatenate([envelope.accepted(5000, stream)[:, 0] for _ in range(6)])


def bits(seed: int) -> Any:
    return NotPrivateBits(seed).stream()


def test_the_law_is_the_density():
    assert_the_law_is_the_density(rejection_module)


# Mutants.


def neighbours_are_covered(posterior: ModuleType) -> None:
    """And a temperature is certified: what is too hot is refused by the accountant."""
    for adjacency in (ADD_REMOVE, REPLACE_ONE):
        try:
            plan = plan_of(spec_of("hinge", strength=400.0), adjacency, posterior.PosteriorSampling)
        except AssumptionError:
            raise AssertionError("nothing was certified") from None
        largest_share(plan, neighbours(plan.spec.loss, adjacency)[:20])


def neighbours_of_temperatures_are_covered(theory: ModuleType) -> None:
    """T50 enters twice, as a temperature and as the mu that is charged: both from the changed module."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("posterior_temperature", "posterior_mu"):
            patch.setattr(posterior_module, name, getattr(theory, name))
        neighbours_are_covered(posterior_module)


def rounding_is_charged(posterior: ModuleType) -> None:
    spec = ProblemSpec(Logistic(), 1.0, 3, n=10_000, regularization=50.0)
    plan = plan_of(spec, ADD_REMOVE, posterior.PosteriorSampling)
    exact = plan.sampler.temperature * spec.lipschitz * plan.sampler.deviation
    assert 1 / plan.event.events[0].noise_multiplier >= exact + 2.6 * plan.sampler.inexactness


def rounding_errors_are_counted(rejection: ModuleType) -> None:
    """Gap and centre each with the errors of their own modules, at the far end of the cube."""
    sampler = rejection.RejectionSampler(spec_of("logistic", dim=2), 1.0, ROWS, 1e-9)
    length = math.sqrt(2) * sampler.limit
    gap = rejection.value_error(sampler.spec, ROWS, length)
    center = 2 * rejection.gradient_error(sampler.spec, ROWS, length) / 20.0
    rounded = ROWS * sampler.spec.lipschitz * math.sqrt(2) * sampler.grid.step
    assert sampler.inexactness >= 2 * (gap + rounded + center * length / sampler.deviation**2)


REJECTION, POSTERIOR = "dperm.methods.rejection", "dperm.methods.posterior"
MUTANTS = [
    (
        "tau is doubled",
        POSTERIOR,
        "RejectionSampler(spec, tempered_objective_temperature(t, spec.strength)",
        "RejectionSampler(spec, 2 * tempered_objective_temperature(t, spec.strength)",
        neighbours_are_covered,
    ),
    (
        "the mu that is charged is half of T50's",
        POSTERIOR,
        "    return inexact_mu(exact, sampler.inexactness)",
        "    return inexact_mu(exact / 2, sampler.inexactness)",
        neighbours_are_covered,
    ),
    (
        "a replaced record counts once (T50)",
        "dperm.sensitivity.posterior",
        "\nINEXACT_SLOPE = ",
        "\n\ndef records_exchanged(adjacency):\n    return 1\n\n\nINEXACT_SLOPE = ",
        neighbours_of_temperatures_are_covered,
    ),
    (
        "the regulariser is not tempered",
        REJECTION,
        "1 / math.sqrt(self.temperature * self.spec.strength)",
        "1 / math.sqrt(self.spec.strength)",
        assert_the_law_is_the_density,
    ),
    (
        "coins of another probability",
        REJECTION,
        "exponential_coins(self.lines.gaps(proposals), sampler.temperature, stream)",
        "exponential_coins(self.lines.gaps(proposals), sampler.temperature / 2, stream)",
        assert_the_law_is_the_density,
    ),
    (
        "proposals about theta_0, not about where its gradient leads (T52)",
        REJECTION,
        "self.grid.rounded(-loss_gradient(data, self.soft, theta) / self.spec.strength)",
        "self.grid.rounded(0.9 * theta)",
        assert_the_law_is_the_density,
    ),
    (
        "fewer trials than are charged for",
        REJECTION,
        "math.ceil(-math.log(self.failure) / self.acceptance)",
        "math.ceil(-math.log(self.failure) / self.acceptance / 2)",
        lambda module: assert_failures_are_covered(posterior_module, module),
    ),
    (
        "an acceptance bound of half the curvature",
        REJECTION,
        "math.log1p(rows * self.soft.smoothness / (self.spec.strength * spread))",
        "math.log1p(rows * self.soft.smoothness / (2 * self.spec.strength * spread))",
        lambda module: assert_failures_are_covered(posterior_module, module),
    ),
    (
        "the cap is not kept",
        REJECTION,
        "envelope.accepted(min(BATCH, self.trials - done), stream)",
        "envelope.accepted(BATCH, stream)",
        assert_the_cap_is_kept,
    ),
    (
        "failures are not charged (T52)",
        POSTERIOR,
        "return sampled + Approximate(0.0, sampler.failure, goal.adjacency)",
        "return sampled + Approximate(0.0, 0.0, goal.adjacency)",
        lambda module: assert_failures_are_covered(module, rejection_module),
    ),
    (
        "rounding is not charged (T52a)",
        POSTERIOR,
        "    return inexact_mu(exact, sampler.inexactness)",
        "    return exact",
        rounding_is_charged,
    ),
    (
        "the centre of the proposals is taken to be exact",
        REJECTION,
        "(valued + moved + center * 2 * length / self.deviation**2)",
        "(valued + moved)",
        rounding_errors_are_counted,
    ),
]


@pytest.mark.parametrize(
    ("module", "old", "new", "check"), [one[1:] for one in MUTANTS], ids=[one[0] for one in MUTANTS]
)
def test_mutants_die(module, old, new, check, assert_killed):
    assert_killed(check, module, old, new)
