# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""DP-SGD from both sides: the exact law of a step on small data sets, which records are drawn, and what is done then.

The claim is that of T sampled Gaussians (T22, T25, T46). It holds if each record adds at most L to the sum of a sample,
if samples are Poisson at the rate of the event, anew in each step, if noise is drawn once for each of the steps that
are counted, empty samples included, and on a draw number of its own (T207), and if the rest is a function of the noisy
sums alone (T3).
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from mixtures import Mixture, hockey_stick
from scipy import stats

from dperm import ApproxDP, account
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.gradient import batch_gradient
from dperm.erm.kernels import LossKernel
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.rounding import gradient_error
from dperm.erm.softmax import Softmax
from dperm.erm.spec import ProblemSpec
from dperm.methods import sampled_gradient as module
from dperm.methods import table_samples
from dperm.methods.descent import project
from dperm.methods.optimizers import Adam, AdamW, Momentum
from dperm.methods.sampled_noise import SampledNoise, largest_sample
from dperm.noise import NotPrivateBits
from dperm.noise.keyed import DrawNumbers, KeyedSampler
from dperm.privacy import Adjacency

LEVEL = 1e-4
EXACT = 1e-5
EPSILONS = (0.1, 0.5, 1.0)
ADD_REMOVE, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
BOTH = pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
LINE = FeatureSpace(1, norm=1.0, intercept=False)
LOSSES = {
    "clipped logistic": (Logistic(), 0.5),
    "hinge": (Hinge(), None),
    "clipped hinge": (Hinge(), 0.3),
    "clipped Huber hinge": (HuberHinge(0.5), 0.6),
}
Row = tuple[float, int]


def spec_of(loss: str, n: int = 4, weight: float = 1.0) -> ProblemSpec:
    function, clip = LOSSES[loss]
    return ProblemSpec(function, LINE.radius, LINE.size, n=n, clip=clip, weight=weight)


def goal(adjacency: Adjacency) -> ApproxDP:
    return ApproxDP(1.0, 1e-3, adjacency)


def data_of(rows: list[Row], weights: tuple[float, float] = (1.0, 1.0)) -> Any:
    X, y = np.array([[x] for x, _ in rows]), np.array([label for _, label in rows])
    return enforce(X, y, LINE, Classes((-1, 1), weights))


# The exact law of one step.


def law(plan: Any, rows: list[Row], theta: float, weights: tuple[float, float] = (1.0, 1.0)) -> Mixture:
    """What a step releases at ``theta``: a normal around the sum that is computed for every sample."""
    data = data_of(rows, weights) if rows else None

    def total(chosen: tuple[int, ...]) -> float:
        if not chosen:
            return 0.0
        return float(batch_gradient(data, plan.spec, np.array([theta]), np.array(chosen, dtype=np.int64))[0])

    return Mixture(total, len(rows), rate=plan.sampling.rate, sigma=plan.step_noise.scale)


def neighbours(adjacency: Adjacency) -> list[tuple[list[Row], list[Row]]]:
    """Records far beyond the clip, at it, and opposite; the first pair is a lone record at the clip."""
    rest: list[Row] = [(0.3, 1), (-1e9, -1), (0.0, 1)]
    one, opposite = (1e9, 1), (-1e9, 1)
    if adjacency is ADD_REMOVE:
        return [([one], []), ([*rest, one], rest), ([one, opposite], [one]), ([*rest, (0.5, -1)], rest)]
    return [([one], [opposite]), ([*rest, one], [*rest, opposite]), ([*rest, one], [*rest, (1e9, -1)])]


def shares(plan: Any, theta: float, weights: tuple[float, float] = (1.0, 1.0)) -> list[float]:
    """Of what the event claims, the true delta, in both orders and at several epsilons: the largest for each pair."""
    profile = account(plan.event, plan.adjacency)
    claimed = [profile.delta(epsilon) for epsilon in EPSILONS]
    found = []
    for rows, others in neighbours(plan.adjacency):
        one, two = law(plan, rows, theta, weights), law(plan, others, theta, weights)
        deltas = [max(hockey_stick(one, two, e), hockey_stick(two, one, e)) for e in EPSILONS]
        found.append(max(delta / most for delta, most in zip(deltas, claimed, strict=True)))
    return found


def one_step(loss: str, adjacency: Adjacency, *, weight: float = 1.0, source: ModuleType = module) -> Any:
    return source.SampledGradient(rate=0.3, steps=1, projection=20.0).plan(
        spec_of(loss, weight=weight), goal(adjacency)
    )


@BOTH
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("theta", [0.0, -20.0])
def test_the_exact_law_of_a_step_is_never_above_the_event_and_nearly_at_it(theta, loss, adjacency):
    """At -20 the margins of the first records are far below 0: their gradients are at the clip, or at the slope."""
    found = shares(one_step(loss, adjacency), theta)
    assert max(found) <= 1 + EXACT
    if theta == 0.0 or adjacency is ADD_REMOVE:
        assert found[0] >= 0.99


@BOTH
def test_the_weight_of_a_class_is_in_the_noise(adjacency):
    found = shares(one_step("hinge", adjacency, weight=3.0), 0.0, (0.5, 3.0))
    assert 0.99 <= max(found) <= 1 + EXACT


def test_the_gradient_of_three_classes_is_clipped_as_one_vector():
    """||p - e_y|| ||x|| <= clip for every record of a sample, whatever the coefficients."""
    rng = np.random.default_rng(4620)
    space = FeatureSpace(2, norm=2.0)
    X, y = 5 * rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    data = enforce(X, y, space, Classes((0, 1, 2)))
    spec = ProblemSpec(Softmax(3), space.radius, 3 * space.size, n=40, clip=0.4)
    for theta in (np.zeros(9), *(30 * rng.normal(size=(5, 9)))):
        lengths = [np.linalg.norm(batch_gradient(data, spec, theta, np.array([i]))) for i in range(40)]
        assert max(lengths) <= spec.lipschitz * (1 + 1e-12)
        assert max(lengths) >= 0.399


# What a run does, written down as it happens.


@dataclass
class Journal:
    """Rates and draw numbers, rows that were drawn, thetas and sums, what noise made of them, and numbers used up."""

    rates: list[float]
    numbers: list[int]
    rows: list[np.ndarray]
    thetas: list[np.ndarray]
    sums: list[np.ndarray]
    noisy: list[np.ndarray]
    used: list[int]


@contextmanager
def journal_of(samples: ModuleType = table_samples) -> Iterator[Journal]:
    """Written while the module's own functions work."""
    found = Journal([], [], [], [], [], [], [])
    draw, compute, blur = KeyedSampler.sample, samples.batch_gradient, SampledNoise.noisy
    use_up = DrawNumbers.use_up

    def drawn(sampler: KeyedSampler, rate: float, number: int, start: int, stop: int) -> np.ndarray:
        assert (start, stop) == (0, sampler._rows), "a part of the rows was sampled"
        found.rates.append(rate)
        found.numbers.append(number)
        found.rows.append(draw(sampler, rate, number, start, stop))
        return found.rows[-1]

    def used(draws: DrawNumbers) -> None:
        found.used.append(draws.number)
        use_up(draws)

    def gradient(data: Any, spec: ProblemSpec, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        assert rows is found.rows[-1], "another sample was summed"
        found.thetas.append(theta.copy())
        found.sums.append(compute(data, spec, theta, rows))
        return found.sums[-1]

    def noisy(noise: SampledNoise, total: np.ndarray, stream: Any) -> np.ndarray:
        assert total is found.sums[-1], "noise was added to something else"
        assert found.used == found.numbers, "noise on a sample whose draw number was not used up"
        found.noisy.append(blur(noise, total, stream))
        return found.noisy[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyedSampler, "sample", drawn)
        patch.setattr(DrawNumbers, "use_up", used)
        patch.setattr(samples, "batch_gradient", gradient)
        patch.setattr(SampledNoise, "noisy", noisy)
        yield found


@pytest.fixture
def journal():
    with journal_of() as found:
        yield found


CROWD: list[Row] = [(math.sin(7 * i), 1 if math.cos(5 * i) > 0 else -1) for i in range(50)]


def run(plan: Any, rows: list[Row] = CROWD, seed: int = 0) -> np.ndarray:
    with np.errstate(all="ignore"):  # as in every release
        return plan.learn(data_of(rows), NotPrivateBits(seed).stream())


def plan_of(adjacency: Adjacency = ADD_REMOVE, source: ModuleType = module, **options: Any) -> Any:
    spec = replace(spec_of("clipped logistic", n=50), regularization=3.0)
    return source.SampledGradient(**{"rate": 0.1, "steps": 40, **options}).plan(spec, goal(adjacency))


def assert_steps_are_counted(plan: Any, found: Journal) -> None:
    (sampled, first), (_, second), *rest = plan.event.singles()
    assert len(found.rows) == len(found.sums) == len(found.noisy) == first == second == plan.sampling.steps
    assert set(found.rates) == {sampled.rate}
    assert found.numbers == list(range(first)), "two steps on one sample"
    assert sum(count for _, count in rest) <= 1


@BOTH
def test_as_many_samples_are_drawn_and_blurred_as_the_event_says_at_its_rate(adjacency, journal):
    plan = plan_of(adjacency)
    run(plan)
    assert_steps_are_counted(plan, journal)


def test_empty_samples_are_steps_like_any_other(journal):
    """At this rate every third sample of 50 rows is empty: noise is drawn all the same."""
    plan = plan_of(rate=0.02, steps=300)
    run(plan)
    assert sum(len(rows) == 0 for rows in journal.rows) > 50
    assert_steps_are_counted(plan, journal)
    noise = np.array([noisy[0] for noisy, rows in zip(journal.noisy, journal.rows, strict=True) if not len(rows)])
    assert stats.kstest(noise / plan.step_noise.scale, "norm").pvalue > LEVEL


def test_every_record_is_drawn_at_the_rate_anew_in_each_step(journal):
    plan = plan_of(steps=2000)
    run(plan)
    drawn = np.zeros((2000, 50))
    for step, rows in enumerate(journal.rows):
        drawn[step, rows] = 1
    per_record = drawn.sum(axis=0)
    statistic = ((per_record - 200) ** 2 / (2000 * 0.1 * 0.9)).sum()
    assert LEVEL < stats.chi2.sf(statistic, 50) < 1 - LEVEL
    sizes = np.bincount(drawn.sum(axis=1).astype(int), minlength=51)[:12]
    expected = 2000 * stats.binom.pmf(np.arange(12), 50, 0.1)
    assert stats.chi2.sf(((sizes - expected) ** 2 / expected).sum(), 11) > LEVEL
    again = (drawn[1:] * drawn[:-1]).sum()
    assert stats.binomtest(int(again), 1999 * 50, 0.01).pvalue > LEVEL


def test_the_noise_that_is_drawn_has_the_scale_of_the_event(journal):
    plan = plan_of(steps=1500)
    run(plan)
    noise = (np.array(journal.noisy) - np.array(journal.sums)).ravel()
    (sampled, _), *_ = plan.event.singles()
    scaled = noise / (sampled.event.noise_multiplier * 0.5)
    assert stats.kstest(scaled, "norm").pvalue > LEVEL
    assert stats.kstest(1.3 * scaled, "norm").pvalue < LEVEL
    assert sampled.event.noise_multiplier * 0.5 <= plan.step_noise.scale


def assert_the_rest_is_post_processing(plan: Any, released: np.ndarray, found: Journal) -> None:
    """Replayed without the data: divided by q n, the regulariser added, one step of the optimizer, projected."""
    walk, theta, iterates = plan.optimizer.start(plan.spec.dim, plan.sampling.steps), np.zeros(plan.spec.dim), []
    for noisy, seen in zip(found.noisy, found.thetas, strict=True):
        assert np.array_equal(theta, seen)
        gradient = noisy / (plan.sampling.rate * 50) + (3.0 / 50) * theta
        theta = project(walk.step(theta, gradient), plan.sampling.projection)
        iterates.append(theta)
    assert released == pytest.approx(np.mean(iterates[-plan.sampling.averaged :], axis=0), rel=1e-12)


@pytest.mark.parametrize("optimizer", [Momentum(0.5, 0.9), Adam(0.1), AdamW(0.1, schedule="linear")], ids=str)
def test_what_is_released_is_a_function_of_the_noisy_sums(optimizer, journal):
    plan = plan_of(optimizer=optimizer, projection=2.0, average=0.3)
    assert_the_rest_is_post_processing(plan, run(plan), journal)


def test_iterates_stay_within_the_projection(journal):
    """Where sums are computed, rounding errors were bounded: nowhere else."""
    plan = plan_of(optimizer=Momentum(1e6, 0.9))
    released = run(plan)
    lengths = np.linalg.norm(journal.thetas, axis=1)
    assert 0.999 * plan.sampling.projection <= lengths.max() <= plan.sampling.longest
    assert np.isfinite(released).all()


def test_computed_sums_are_as_exact_as_the_noise_takes_them_to_be():
    """Against sums of the same records in long doubles, at the end of the projection."""
    rng = np.random.default_rng(4621)
    plan = plan_of()
    X, y = rng.uniform(-1, 1, size=4000), rng.choice([-1, 1], 4000)
    data = enforce(X[:, np.newaxis], y, LINE, Classes((-1, 1)))
    X = data.in_memory().cells[:, 0] * data.grid.unit  # rows on the grid (T200)
    sizes = data.in_memory().lengths.astype(np.longdouble) * data.grid.step
    rows = np.flatnonzero(rng.random(4000) < 0.5)
    for theta in (0.0, 1.7, -plan.sampling.projection):
        computed = batch_gradient(data, plan.spec, np.array([theta]), rows)[0]
        x, sign = X[rows].astype(np.longdouble), y[rows].astype(np.longdouble)
        slopes = 1 / (1 + np.exp(sign * x * np.longdouble(theta)))
        slopes = np.minimum(slopes, np.longdouble(0.5) / sizes[rows])
        exact = float((-sign * x * slopes).sum())
        assert abs(computed - exact) <= plan.step_noise.sums.numerical_error


# Unsafe mutants.


def laws_stay_below_the_event(mutant: ModuleType) -> None:
    for adjacency in (ADD_REMOVE, REPLACE_ONE):
        assert max(shares(one_step("clipped hinge", adjacency, source=mutant), 0.0)) <= 1 + EXACT


def runs_are_charged_and_replayed(mutant: ModuleType) -> None:
    with journal_of() as found:
        plan = plan_of(source=mutant, optimizer=Momentum(0.5, 0.9), projection=0.05)
        released = run(plan)
        assert_steps_are_counted(plan, found)
        assert_the_rest_is_post_processing(plan, released, found)


def samples_are_replayed(mutant: ModuleType) -> None:
    """The same with a mutant of the samples."""
    with journal_of(mutant) as found, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TableSamples", mutant.TableSamples)
        plan = plan_of(optimizer=Momentum(0.5, 0.9), projection=0.05)
        released = run(plan)
        assert_steps_are_counted(plan, found)
        assert_the_rest_is_post_processing(plan, released, found)


def rounding_is_covered(mutant: ModuleType) -> None:
    plan = plan_of(source=mutant, projection=50.0)
    sums = plan.step_noise.sums
    rows = largest_sample(plan.most_rows, 0.1, 1e-3 * 2.0**-40 / 40)
    assert sums.numerical_error >= gradient_error(plan.spec, rows, 50.0)
    assert sums.failure >= 1e-3 * 2.0**-40


def large_samples_are_paid_for(samples: ModuleType) -> None:
    steps = samples.SampledSteps(rate=0.1, steps=40, lipschitz=1.0, dim=2, rows=2**20)
    sums = samples.planned_sums(steps, ApproxDP(1.0, 1e-3, "add_remove"), float)
    assert sums.failure >= 1e-3 * 2.0**-40
    assert sums.numerical_error >= largest_sample(2**20, 0.1, 1e-3 * 2.0**-40 / 40)


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (
            laws_stay_below_the_event,
            "steps=sampling.steps, lipschitz=spec.lipschitz,",
            "steps=sampling.steps, lipschitz=spec.lipschitz / 2,",
        ),
        (laws_stay_below_the_event, "rate=sampling.rate, steps=sampling", "rate=sampling.rate**2, steps=sampling"),
        (runs_are_charged_and_replayed, "for step in range(sampling.steps):", "for step in range(sampling.steps + 1):"),
        (runs_are_charged_and_replayed, "steps=sampling.steps, lip", "steps=max(1, sampling.steps - 1), lip"),
        (runs_are_charged_and_replayed, "            draws.use_up()\n", ""),
        (
            runs_are_charged_and_replayed,
            "            draws.use_up()\n            noisy = self.step_noise.noisy(total, stream)\n",
            "            noisy = self.step_noise.noisy(total, stream)\n            draws.use_up()\n",
        ),
        (runs_are_charged_and_replayed, "self.step_noise.noisy(total, stream)", "total"),
        (
            runs_are_charged_and_replayed,
            "theta = project(walk.step(theta, gradient(theta)), sampling.projection)",
            "theta = walk.step(theta, gradient(theta))",
        ),
        (rounding_is_covered, "gradient_error(spec, rows, sampling.longest)", "0.0"),
        (rounding_is_covered, "gradient_error(spec, rows, sampling.longest)", "gradient_error(spec, 1, 1.0)"),
    ],
    ids=[
        "noise for half of the clip",
        "the rate is squared",
        "one step too many (E28)",
        "one step is not charged (E28)",
        "draw numbers are not used up (T207)",
        "draw numbers are used up after the noise (T207)",
        "no noise",
        "no projection",
        "no rounding errors",
        "rounding errors of one row",
    ],
)
def test_an_unsafe_mutant_is_killed(check, old, new, assert_killed):
    assert_killed(check, module.__name__, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "return batch_gradient(self._data, spec, theta, rows)",
            "return batch_gradient(self._data, spec, theta, rows) / max(len(rows), 1)",
        ),
        ("sampler.sample(self._rate, draw, 0,", "sampler.sample(2 * self._rate, draw, 0,"),
        ("sampler.sample(self._rate, draw, 0,", "sampler.sample(self._rate, 0, 0,"),
    ],
    ids=["divided by the size of the sample (E9)", "drawn at another rate", "the first sample in every step (T207)"],
)
def test_an_unsafe_mutant_of_the_samples_is_killed(old, new, assert_killed):
    assert_killed(samples_are_replayed, table_samples.__name__, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("failure=failure if largest <= steps.rows else 0.0,", "failure=0.0,"),
        ("error(min(largest, steps.rows))", "error(1)"),
        ("failure / steps.steps)", "0.5)"),
    ],
    ids=["samples too large are free", "the error of one row", "samples are taken to be usual"],
)
def test_an_unsafe_mutant_of_the_planning_is_killed(old, new, assert_killed):
    assert_killed(large_samples_are_paid_for, "dperm.methods.sampling", old, new)


def test_sums_without_clipping_exceed_the_event(monkeypatch):
    """E10: noise for clipped gradients on gradients that are not."""
    plan = one_step("clipped hinge", ADD_REMOVE)
    monkeypatch.setattr(LossKernel, "limits", lambda kernel, rows: None)
    assert max(shares(plan, 0.0)) > 2
