# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Posterior sampling: the temperature (T50, T51), the exact sampler (T52), its cap (T52b), and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from dperm import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.accounting import MemoryBudget, account
from dperm.accounting.event import Composed
from dperm.accounting.events import Approximate, Gaussian
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.errors import AdjacencyError, AssumptionError, ConversionError, DataError, NotPrivateWarning, ParameterError
from dperm.methods.posterior import FAILURE, PosteriorSampling, posterior_regularization
from dperm.methods.rejection import RejectionSampler, affordable_strength
from dperm.noise import NotPrivateBits
from dperm.privacy.gaussian_profile import mu_for

ADJACENCIES = pytest.mark.parametrize(("adjacency", "records"), [("replace_one", 2), ("add_remove", 1)])
LINE, PLANE = (FeatureSpace(dim, norm=1.0, intercept=False) for dim in (1, 2))
LEVEL = 1e-4


def goal(adjacency="add_remove", epsilon=1.0, delta=1e-5):
    return ApproxDP(epsilon, delta, adjacency)


def rows_for(space, loss, rows=40, seed=5):
    """Rows and targets that a kinked loss bends at, too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, space.dim))
    x = X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, np.newaxis]
    if loss.labels is LabelKind.NUMBER:
        y = np.clip(0.7 * x[:, 0] + 0.2 * rng.normal(size=rows), -1, 1)
        return x, y, enforce(X, y, space, Interval(-1.0, 1.0))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=rows) > 0, 1, -1)
    return x, y, enforce(X, y, space, Classes((-1, 1)))


def sampler_for(loss, dim, *, strength=6.0, temperature=2.0, clip=None, failure=1e-9):
    return RejectionSampler(ProblemSpec(loss, 1.0, dim, regularization=strength, clip=clip), temperature, 40, failure)


def log_density(sampler, x, y, thetas):
    """-tau J, written down plainly."""
    spec = sampler.spec
    limits = None if spec.clip is None else spec.clip / np.linalg.norm(x, axis=1)
    losses = np.zeros(len(thetas))
    for i in range(len(x)):
        losses += spec.loss.losses(thetas @ x[i], np.full(len(thetas), y[i]), None if limits is None else limits[i])
    return -sampler.temperature * (losses + spec.strength / 2 * (thetas**2).sum(axis=1))


def accepted(envelope, count, seed, batch=4096):
    """What is accepted of ``count`` proposals."""
    stream = NotPrivateBits(seed).stream()
    return np.concatenate([envelope.accepted(min(batch, count - done), stream) for done in range(0, count, batch)])


# The temperature.


@ADJACENCIES
def test_temperatures_are_those_of_t50(adjacency, records):
    """tau/sqrt(m) = mu/(2L) or mu/L: at epsilon = 1, delta = 1e-5 and m = L = 1, .134026 and .268051."""
    given = ProblemSpec(Logistic(), 1.0, 2, n=50, regularization=5.0)
    sampler = PosteriorSampling().plan(given, goal(adjacency)).sampler
    wanted = 0.26805112321129554 / records
    found = sampler.temperature / math.sqrt(sampler.temperature * 5.0)
    assert wanted * (1 - 1e-4) <= found <= wanted
    assert sampler.convexity == pytest.approx(5.0 * sampler.temperature, rel=1e-14)


def test_temperatures_are_those_of_t51_by_name():
    """.102007 for m = L = 1; by T50 that is (.7415, 1e-5)-DP."""
    given = ProblemSpec(Logistic(), 1.0, 2, n=50, regularization=5.0)
    plan = PosteriorSampling("T51").plan(given, goal("replace_one"))
    found = plan.sampler.temperature / math.sqrt(plan.sampler.temperature * 5.0)
    assert found == pytest.approx(0.10200715032447893, rel=1e-3)
    assert found < 0.10200715032447893
    assert account(plan.event, "replace_one").epsilon(1e-5) == pytest.approx(0.741461679860415, rel=1e-3)
    assert "T51" in plan.theorems
    with pytest.raises(AdjacencyError, match=r"T51.*replace_one"):
        PosteriorSampling("T51").plan(given, goal("add_remove"))


@ADJACENCIES
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Huber(0.5), Pinball(0.5), HuberHinge(0.1)], ids=str)
def test_the_event_is_a_gaussian_and_a_delta_for_the_cap(loss, adjacency, records):
    given = ProblemSpec(loss, 1.0, 2, n=30, regularization=20.0, weight=1.5)
    plan = PosteriorSampling().plan(given, goal(adjacency))
    kind, cap = plan.event.events
    noise = kind.event if adjacency == "replace_one" else kind
    assert isinstance(plan.event, Composed)
    assert isinstance(kind, ReplaceOneOnly if adjacency == "replace_one" else Gaussian)
    assert records / noise.noise_multiplier == pytest.approx(mu_for(1.0, 1e-5), rel=1e-4)
    assert cap == Approximate(0.0, plan.sampler.failure, adjacency)
    assert cap.delta <= FAILURE * 1e-5
    found = account(plan.event, adjacency).epsilon(1e-5)
    assert 1 - 1e-6 <= found <= 1


def test_rounding_is_paid_for():
    """T52a: mu is above tau Delta_g sigma by 2.6 times what the logarithm of the density may be off by."""
    given = ProblemSpec(Logistic(), 1.0, 3, n=10_000, regularization=50.0)
    plan = PosteriorSampling().plan(given, goal())
    exact = plan.sampler.temperature * given.lipschitz * plan.sampler.deviation
    assert plan.numbers["mu"] >= exact + 2.6 * plan.sampler.inexactness
    assert 1e-7 < plan.sampler.inexactness < 1e-4


# The law.


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Pinball(0.5), Pinball(0.9), Squared()], ids=str)
def test_samples_on_a_line_have_the_law_of_the_posterior(loss):
    """By Kolmogorov and Smirnov, against the integral of e^(-tau J)."""
    sampler = sampler_for(loss, 1, clip=0.4 if isinstance(loss, Squared) else None)
    x, y, data = rows_for(LINE, loss)
    found = accepted(sampler.envelope(data), 60_000, 21)[:, 0]
    nodes = np.linspace(-8 * sampler.deviation - 2, 8 * sampler.deviation + 2, 40_001)
    logs = log_density(sampler, x, y, nodes[:, np.newaxis])
    density = np.exp(logs - logs.max())
    cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    assert len(found) > 5000
    assert stats.kstest(found, lambda t: np.interp(t, nodes, cumulated / cumulated[-1])).pvalue > LEVEL


@pytest.mark.parametrize(
    ("loss", "clip"),
    [(Logistic(), None), (Logistic(), 0.5), (Hinge(), None), (Pinball(0.5), None), (Huber(0.3), None)],
    ids=str,
)
def test_samples_in_the_plane_have_the_law_of_the_posterior(loss, clip):
    """By chi-square, on the cells of a grid whose probabilities are integrated."""
    sampler = sampler_for(loss, 2, clip=clip)
    x, y, data = rows_for(PLANE, loss)
    found = accepted(sampler.envelope(data), 60_000, 22)
    assert_in_the_plane(sampler, found, x, y)


def assert_in_the_plane(sampler, found, x, y):
    middle, spread, fine = found.mean(axis=0), found.std(axis=0), 12
    edges = [np.linspace(-3.0, 3.0, 7) * s + c for c, s in zip(middle, spread, strict=True)]
    nodes = [
        np.linspace(-7.0, 7.0, 14 * fine + 1)[:-1] * s + 7 / (14 * fine) * s + c
        for c, s in zip(middle, spread, strict=True)
    ]
    plane = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = log_density(sampler, x, y, plane)
    expected = cells(plane, edges, np.exp(logs - logs.max()))
    observed = cells(found, edges, np.ones(len(found)))
    kept = expected > 1e-3 * expected.sum()
    assert len(found) > 2000
    assert kept.sum() > 20
    lumped = [np.append(part[kept], part[~kept].sum()) for part in (observed, expected)]
    assert stats.chisquare(lumped[0], lumped[1] * lumped[0].sum() / lumped[1].sum()).pvalue > LEVEL


def cells(points, edges, weights):
    places = [np.searchsorted(edge, column) for edge, column in zip(edges, points.T, strict=True)]
    return np.bincount(8 * places[0] + places[1], weights, minlength=64)


def test_what_a_plan_releases_is_the_first_that_is_accepted(spec, data):
    plan = PosteriorSampling().plan(spec(Logistic(), regularization=10.0), goal())
    found = plan.learn(data(), NotPrivateBits(7).stream())
    envelope, stream = plan.sampler.envelope(data()), NotPrivateBits(7).stream()
    batches = (envelope.accepted(256, stream) for _ in range(100))
    assert (found == next(batch[0] for batch in batches if len(batch))).all()
    assert np.abs(found).max() <= plan.sampler.limit


def test_acceptance_is_that_of_t52():
    """n = 200, d = 5, tau = .1, m = 2, where .153 was found; its rule written down, on data about as easy."""
    rng = np.random.default_rng(3)
    X, slope = 0.75 * rng.normal(size=(200, 5)), rng.normal(size=5)
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-X @ slope)), 1, -1)
    data = enforce(X, y, FeatureSpace(5, norm=10.0, intercept=False), Classes((-1, 1)))
    sampler = RejectionSampler(ProblemSpec(Logistic(), 10.0, 5, regularization=20.0), 0.1, 200, 1e-9)
    found = len(accepted(sampler.envelope(data), 40_000, 23)) / 40_000

    mode = optimize.minimize(lambda theta: -log_density(sampler, X, y, theta[np.newaxis])[0], np.zeros(5), tol=1e-8).x
    thetas = mode + rng.normal(size=(20_000, 5)) / math.sqrt(2.0)
    gaps = log_density(sampler, X, y, mode[np.newaxis]) - log_density(sampler, X, y, thetas)
    plain = np.exp(-(gaps - ((thetas - mode) ** 2).sum(axis=1)))
    error = 4 * (plain.std() / math.sqrt(20_000) + math.sqrt(found / 40_000))
    assert plain.max() <= 1
    assert abs(found - plain.mean()) <= error + 0.01 * found
    assert 0.12 < found < 0.18
    assert found > sampler.acceptance


# The cap.


def extreme_rows(dim, rows):
    """All rows alike, along the axes, and at random on the sphere."""
    rng = np.random.default_rng(8)
    sphere = rng.normal(size=(rows, dim))
    alike, axes = np.tile(np.eye(1, dim), (rows, 1)), np.eye(dim)[np.arange(rows) % dim]
    return [alike, axes, sphere / np.linalg.norm(sphere, axis=1, keepdims=True)]


@pytest.mark.parametrize(
    ("loss", "clip"),
    [
        (Logistic(), None),
        (Logistic(), 0.5),
        (Hinge(), None),
        (Pinball(0.5), None),
        (Squared(), 0.4),
        (HuberHinge(0.02), None),
    ],
    ids=str,
)
@pytest.mark.parametrize("strength", [0.5, 20.0])
def test_no_data_are_accepted_less_often_than_the_bound(loss, clip, strength):
    sampler = sampler_for(loss, 2, strength=strength, temperature=0.05 * strength, clip=clip)
    for X in extreme_rows(2, 40):
        for labels in (np.ones(40), np.where(np.arange(40) % 4 < 2, 1.0, -1.0), np.zeros(40)):
            target = Interval(-1.0, 1.0) if loss.labels is LabelKind.NUMBER else Classes((-1, 1))
            y = labels if loss.labels is LabelKind.NUMBER else np.where(labels > 0, 1, -1)
            assert acceptance(sampler, enforce(X, y, PLANE, target)) >= sampler.acceptance


def test_the_bound_is_attained_by_rows_along_the_axes():
    """A squared loss that is hardly clipped is a parabola: (1 + n/(Lambda d))^(-d/2) for unit rows."""
    for dim in (1, 2, 3):
        space = FeatureSpace(dim, norm=1.0, intercept=False)
        sampler = RejectionSampler(ProblemSpec(Squared(), 1.0, dim, regularization=1.5, clip=50.0), 0.4, 30, 1e-9)
        data = enforce(extreme_rows(dim, 30)[1], np.zeros(30), space, Interval(-1.0, 1.0))
        found = len(accepted(sampler.envelope(data), 80_000, 24)) / 80_000
        error = 4 * math.sqrt(found / 80_000)
        assert sampler.acceptance <= found + error
        assert sampler.acceptance >= 0.96 * (found - error)


def test_the_bound_of_three_classes_holds():
    """With (I - 11'/K)/2 above the second derivatives; half of it would not do for opposite pulls."""
    space = FeatureSpace(1, norm=1.0, intercept=False)
    sampler = RejectionSampler(ProblemSpec(Softmax(3), 1.0, 3, regularization=0.1), 0.2, 60, 1e-9)
    for codes in (np.zeros(60, int), np.arange(60) % 2, np.arange(60) % 3):
        data = enforce(np.ones((60, 1)), codes, space, Classes((0, 1, 2)))
        found = len(accepted(sampler.envelope(data), 40_000, 25)) / 40_000
        assert found + 4 * math.sqrt(found / 40_000) >= sampler.acceptance


def acceptance(sampler, data):
    """The mean of e^(-tau A) over the proposals, by a rule of 120 points for each coordinate."""
    envelope = sampler.envelope(data)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    plane = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    gaps = envelope.lines.gaps(envelope.center + sampler.deviation * plane)
    return float(np.outer(weights, weights).ravel() @ np.exp(-sampler.temperature * gaps)) / weights.sum() ** 2


def test_after_the_last_trial_zeros_are_released_as_often_as_is_said():
    """For data that attain the bound, and a cap that is reached: by the binomial law."""
    given = ProblemSpec(Squared(), 1.0, 1, regularization=1.5, clip=50.0)
    sampler = RejectionSampler(given, 0.4, 30, 0.2)
    data = enforce(np.ones((30, 1)), np.full(30, 0.5), LINE, Interval(-1.0, 1.0))
    rate = math.exp(-sampler.trials * sampler.acceptance)
    assert 0.1 < rate <= 0.2
    found = [float(sampler.sample(data, NotPrivateBits(seed).stream())[0]) for seed in range(400)]
    failures = sum(value == 0.0 for value in found)
    assert stats.binom.sf(failures - 1, 400, 0.2) > LEVEL
    assert failures >= 30
    assert len(set(found)) == 401 - failures


def test_the_cap_makes_failure_as_rare_as_is_charged():
    plan = PosteriorSampling().plan(ProblemSpec(Logistic(), 1.0, 3, n=100, regularization=5.0), goal())
    sampler = plan.sampler
    assert (1 - sampler.acceptance) ** sampler.trials <= sampler.failure
    assert (1 - sampler.acceptance) ** (sampler.trials / 2) > sampler.failure
    assert plan.numbers["most_trials"] == sampler.trials


# Lambda.


def test_the_rule_for_lambda():
    given = ProblemSpec(Logistic(), 2.0, 3, n=50, clip=1.0)
    choice = posterior_regularization(given, goal(), rows=62)
    assert choice.value == pytest.approx(2 * 2.0 * given.lipschitz / mu_for(1.0, 1e-5), rel=1e-9)
    many = replace(given, n=20_000)
    plan = PosteriorSampling().plan(many, goal())
    assert plan.spec.strength > choice.value
    assert 50_000 < plan.sampler.trials <= 10**5
    assert "100000 proposals are enough" in str(plan.why[0])
    assert affordable_strength(ProblemSpec(Hinge(), 2.0, 3), 62, acceptance=0.1) == 0.0


def test_plans_hold_for_many_kinds_of_losses():
    for loss, clip in ((Logistic(), None), (Squared(), 0.5), (Softmax(4), None), (Hinge(), None), (Pinball(0.7), 0.2)):
        given = ProblemSpec(loss, 1.0, 2 * loss.outputs, n=40, clip=clip)
        for adjacency in ("add_remove", "replace_one"):
            plan = PosteriorSampling().plan(given, goal(adjacency))
            assert plan.sampler.trials <= 10**6
            assert plan.sampler.inexactness <= 1e-6


# Refusals.


@pytest.mark.parametrize(
    "wanted",
    [
        PureDP(1.0, "add_remove"),
        ApproxDP(1.0, 0.0, "replace_one"),
        GDP(1.0, "add_remove"),
        ZCDP(0.1, "add_remove"),
        RDP([(2.0, 1.0)], "add_remove"),
    ],
    ids=str,
)
def test_goals_without_delta_are_refused_with_a_remedy(wanted, spec):
    with pytest.raises(
        ConversionError,
        match=r'method="posterior" needs delta > 0.*Set delta > 0\..*FiniteClass, or method="objective"',
    ):
        PosteriorSampling().plan(spec(), wanted)


def test_bounded_losses_are_for_finite_classes():
    with pytest.raises(AssumptionError, match=r"T49.*bounded.*FiniteClass"):
        PosteriorSampling("T49")
    with pytest.raises(ParameterError, match="theorem must be one of T50, T51, got 'T48'"):
        PosteriorSampling("T48")


@pytest.mark.parametrize("name", ["most_trials", "most_rows"])
def test_nonsense_is_refused_by_name(name):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        PosteriorSampling(**{name: 0})


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_n_has_to_be_public(adjacency, spec):
    with pytest.raises(ParameterError, match=r'n must be declared for method="posterior".*rough public number'):
        PosteriorSampling().plan(spec(n=None), goal(adjacency))


def test_what_no_sampler_gets_done_is_refused_with_remedies(spec):
    remedies = {Hinge(): 'Use loss="huber_hinge", a smaller epsilon', Pinball(): "Use a smaller epsilon"}
    for loss, remedy in {Logistic(): "Use a smaller C", **remedies}.items():
        given = ProblemSpec(loss, 1.0, 40, n=10_000, regularization=1.0)
        with pytest.raises(AssumptionError, match=rf'12500 rows, 40 coefficients and Lambda = 1.*{remedy}.*"gradient"'):
            PosteriorSampling().plan(given, goal())
        assert ("smaller C" in remedy) == math.isfinite(loss.curvature)
    few = PosteriorSampling(most_trials=5)
    with pytest.raises(AssumptionError, match="most_trials=5"):
        few.plan(spec(), goal())


def test_what_is_said_to_help_does():
    """At a kink less epsilon saves trials and a smaller C saves none; elsewhere it is the other way round."""
    for loss in (Logistic(), Pinball(), Hinge()):
        given = ProblemSpec(loss, 1.0, 3, n=100, regularization=5.0)
        usual, weaker = (PosteriorSampling().plan(given, goal(epsilon=size)) for size in (1.0, 0.3))
        stronger = PosteriorSampling().plan(given.with_regularization(50.0), goal(epsilon=1.0))
        kinked = math.isinf(loss.curvature)
        assert (weaker.sampler.trials < 0.9 * usual.sampler.trials) == kinked
        assert (stronger.sampler.trials < 0.9 * usual.sampler.trials) == (not kinked)


def test_rounding_that_is_too_large_is_refused():
    given = ProblemSpec(Logistic(), 1.0, 1, n=10**7, regularization=1e4)
    with pytest.raises(AssumptionError, match=r"rounding errors on 12500000 rows.*T52a.*fewer records"):
        PosteriorSampling().plan(given, goal(epsilon=0.01, delta=1e-9))


def test_the_clipped_softmax_loss_is_refused():
    given = ProblemSpec(Softmax(3), 1.0, 6, n=50, clip=0.5)
    with pytest.raises(AssumptionError, match=r"convex losses \(T50\).*clip=0.5.*Leave clip out"):
        PosteriorSampling().plan(given, goal())


@pytest.mark.parametrize(
    ("adjacency", "most", "words"),
    [("add_remove", 500, "public limit 500"), ("replace_one", 400, "n=400 was declared")],
)
def test_more_rows_than_the_cap_is_proved_for_are_refused(adjacency, most, words, spec, data):
    """No charge, and no word about how many there are."""
    plan = PosteriorSampling().plan(spec(Logistic(), regularization=10.0), goal(adjacency))
    assert plan.most_rows == plan.describe()["most_rows"] == plan.sampler.rows == most
    budget = MemoryBudget(goal(adjacency, 2.0), blocks=1)
    with pytest.raises(DataError, match=words) as error:
        plan.run(lambda: data(rows=most + 1), budget)
    assert str(most + 1) not in str(error.value)
    assert not budget.entries
    wide = PosteriorSampling(most_rows=450).plan(spec(Logistic(), regularization=10.0), goal("add_remove"))
    assert wide.most_rows == wide.sampler.rows == 450


# Runs.


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_nothing_about_the_data_leaves_but_the_sample(adjacency, spec, data):
    plan = PosteriorSampling().plan(spec(Logistic(), regularization=10.0), goal(adjacency))
    releases = []
    for seed in (0, 1):
        with pytest.warns(NotPrivateWarning):
            releases.append(plan.run(lambda seed=seed: data(seed), bits=NotPrivateBits(4)))
    one, two = releases
    assert (one.value != two.value).all()
    assert one.record.public == two.record.public == plan.describe()
    assert replace(one.record, timestamp="") == replace(two.record, timestamp="")
    assert not any(isinstance(value, np.ndarray) for value in vars(plan.sampler).values())
    assert plan.describe() == PosteriorSampling().plan(plan.spec, plan.goal).describe()
    assert "running time" in " ".join(map(str, plan.why))


def test_a_run_is_charged_what_the_plan_says(spec, data):
    plan = PosteriorSampling().plan(spec(Logistic(), regularization=10.0), goal())
    budget = MemoryBudget(goal(), blocks=1)
    release = plan.run(data, budget)
    assert release.event == plan.event
    assert release.value.shape == (plan.spec.dim,)
    assert len(budget.entries) == 1


def test_regression_and_several_classes_run():
    rng = np.random.default_rng(6)
    space = FeatureSpace(2, norm=1.0)
    X = rng.normal(size=(40, 2))
    cases = [
        (Squared(), 0.5, rng.random(40), Interval(0.0, 1.0)),
        (Pinball(0.3), None, rng.random(40), Interval(0.0, 1.0)),
        (Softmax(3), None, rng.integers(0, 3, 40), Classes((0, 1, 2))),
    ]
    for loss, clip, y, target in cases:
        spec = ProblemSpec(loss, space.radius, space.size * loss.outputs, n=40, clip=clip)
        plan = PosteriorSampling().plan(spec, goal("replace_one"))
        value = plan.run(lambda y=y, target=target: enforce(X, y, space, target)).value
        assert value.shape == (spec.dim,)
        assert np.isfinite(value).all()
        assert value.any()
