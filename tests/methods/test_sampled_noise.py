# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise for Poisson samples (T46): its event against the exact law of what is released, and what rounding adds to it.

Exact laws in one dimension: neighbours of at most three records, a normal for every sample that can be drawn.
"""

import math
from fractions import Fraction
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from mixtures import Mixture, hockey_stick
from scipy import stats

from dperm import GDP, RDP, ZCDP, ApproxDP, PureDP
from dperm.accounting import Approximate, Gaussian, Poisson, ReplaceOneOnly, account
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms import calibration
from dperm.mechanisms.calibration import covers
from dperm.methods import sampled_noise as module
from dperm.methods.sampled_noise import SampledNoise, SampledSums, largest_sample, sampled_noise
from dperm.noise import NotPrivateBits
from dperm.noise.grid import Grid

BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
EPSILONS = (0.05, 0.4, 1.0)
EXACT = 1e-5
"""What the fine sum and the brackets of the accountant may be apart, relatively."""
LEVEL = 1e-4


def sums(**changes: object) -> SampledSums:
    return SampledSums(**{"lipschitz": 1.0, "rate": 0.1, "steps": 1, "dim": 1, **changes})


def goal(adjacency: str, epsilon: float = 1.0, delta: float = 1e-3) -> ApproxDP:
    return ApproxDP(epsilon, delta, adjacency)


def law(noise: SampledNoise, records: list[float]) -> Mixture:
    """The law of what a data set releases; each record adds its number to the sum of a sample."""
    return Mixture(
        lambda chosen: sum(records[i] for i in chosen), len(records), rate=noise.sums.rate, sigma=noise.scale
    )


def apart(noise: SampledNoise, error: float) -> tuple[Mixture, Mixture]:
    """Two data sets that only the errors of their sums tell apart."""
    one, two = law(noise, []), law(noise, [])
    one.centres, two.centres = [error], [-error]
    return one, two


def claims(noise: SampledNoise) -> list[float]:
    """The deltas of the event."""
    profile = account(noise.event, noise.adjacency)
    return [profile.delta(epsilon) for epsilon in EPSILONS]


def largest_share(one: Mixture, two: Mixture, claimed: list[float]) -> float:
    """True delta over the claimed one, the larger of both orders, at several epsilons."""
    return max(
        hockey_stick(*pair, epsilon) / delta
        for epsilon, delta in zip(EPSILONS, claimed, strict=True)
        for pair in ((one, two), (two, one))
    )


def neighbours(adjacency: str) -> list[tuple[list[float], list[float]]]:
    """Records at the clip and inside of it; the first pair is the worst."""
    if adjacency == "add_remove":
        return [([1.0], []), ([1.0, -1.0], [1.0]), ([0.4, 1.0, -0.9], [0.4, 1.0]), ([-1.0, 1.0, 1.0], [1.0, 1.0])]
    return [([1.0], [-1.0]), ([1.0, 1.0], [1.0, -1.0]), ([0.4, 0.9, -1.0], [0.4, 0.9, 0.8]), ([0.0, 1.0], [0.0, 0.0])]


def assert_the_event_covers_exact_laws(noise: SampledNoise) -> list[float]:
    claimed = claims(noise)
    found = [largest_share(law(noise, one), law(noise, two), claimed) for one, two in neighbours(noise.adjacency.value)]
    assert max(found) <= 1 + EXACT
    return found


@BOTH
@pytest.mark.parametrize("rate", [0.05, 0.5, 1.0])
def test_the_exact_law_of_a_step_never_exceeds_its_event_and_attains_it(rate, adjacency):
    """T22 and T25 at the very noise that is drawn; a lone record attains them."""
    shares = assert_the_event_covers_exact_laws(sampled_noise(sums(rate=rate), goal(adjacency)))
    assert shares[0] >= 1 - 1e-4


@BOTH
@pytest.mark.parametrize("error", [0.001, 0.2])
def test_errors_of_computed_sums_are_covered_and_sampling_alone_would_not_do(error, adjacency):
    """Every sum of one data set is too large by the whole error, every one of the other too small."""
    found = sampled_noise(sums(rate=0.05, numerical_error=error), goal(adjacency))
    claimed = claims(found)
    one, two = (law(found, records) for records in neighbours(adjacency)[0])
    one.centres = [centre + error for centre in one.centres]
    two.centres = [centre - error for centre in two.centres]
    assert largest_share(one, two, claimed) <= 1 + EXACT
    assert largest_share(*apart(found, error), claimed) <= 1 + EXACT
    if error == 0.2:
        alone = account(Poisson(Gaussian(found.scale), rate=0.05), adjacency)
        assert largest_share(*apart(found, error), [alone.delta(epsilon) for epsilon in EPSILONS]) > 2


@BOTH
@pytest.mark.parametrize("error", [0.0, 1e-6, 1e-3, 0.05])
def test_the_two_parts_are_not_more_than_the_noise_and_the_event_is_theirs(error, adjacency):
    """sigma1^2 + sigma2^2 <= sigma^2, exactly; the second event is at distance 2 tau under either adjacency."""
    given = sums(lipschitz=3.0, dim=7, steps=50, numerical_error=error)
    found = sampled_noise(given, goal(adjacency))
    kept, hidden = (Fraction(part) for part in found.parts)
    assert kept**2 + hidden**2 <= Fraction(found.scale) ** 2
    assert float(kept**2 + hidden**2) == pytest.approx(found.scale**2, rel=1e-12)
    (sampled, first), (errors, second) = found.event.singles()
    assert first == second == 50
    assert sampled.rate == 0.1
    assert Fraction(sampled.event.noise_multiplier) <= kept / 3
    assert sampled.event.noise_multiplier == pytest.approx(float(kept / 3), rel=1e-12)
    moved = 2 * Fraction(error) + Fraction(math.sqrt(7)) * Fraction(found.grid.step) * (1 - Fraction(1, 10**12))
    noise = errors.event if adjacency == "replace_one" else errors
    assert isinstance(errors, ReplaceOneOnly) == (adjacency == "replace_one")
    records = 2 if adjacency == "replace_one" else 1
    assert records / Fraction(noise.noise_multiplier) >= moved / hidden
    assert records / noise.noise_multiplier == pytest.approx(float(moved / hidden), rel=1e-6)


@BOTH
def test_the_goal_is_met_and_hardly_more(adjacency):
    given = sums(rate=0.01, steps=1000, dim=20, numerical_error=1e-6)
    wanted = goal(adjacency, 2.0, 1e-5)
    found = sampled_noise(given, wanted)
    assert covers(wanted, found.event)
    assert 2.0 * (1 - 1e-5) <= account(found.event, adjacency).epsilon(1e-5) <= 2.0


def test_a_published_number():
    """1000 steps at rate .01 and noise multiplier 1 have epsilon 1.828237 at delta = 1e-5 (T22)."""
    found = sampled_noise(sums(rate=0.01, steps=1000, lipschitz=2.5), ApproxDP(1.828237, 1e-5, "add_remove"))
    assert found.scale == pytest.approx(2.5, rel=1e-5)


def test_rate_one_is_the_plain_gaussian():
    """T45: sqrt(T) L / mu."""
    found = sampled_noise(sums(rate=1.0, steps=100), ApproxDP(0.5, 1e-5, "replace_one"))
    assert found.scale == pytest.approx(0.014063653351165014 * 10_000, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-270, 1e-162, 1e-155, 3e-100, 0.7, 1e100, 1e155, 1e270])
def test_the_two_parts_are_not_more_than_the_noise_at_any_scale(scale):
    """In fractions: squares of such scales are no doubles; and both parts are the shares of the noise to 1e-14."""
    for share in np.random.default_rng(7).uniform(*module.SHARES, 200).tolist():
        noise = SampledNoise(sums(lipschitz=scale), goal("add_remove").adjacency, scale, share, Grid(-1000))
        kept, hidden = (Fraction(part) / Fraction(scale) for part in noise.parts)
        assert 1 - Fraction(1, 10**14) <= kept**2 + hidden**2 <= 1
        assert abs(hidden / Fraction(share) - 1) <= Fraction(1, 10**14)


@BOTH
@pytest.mark.parametrize("given", [{}, {"rate": 0.001, "steps": 2}, {"numerical_error": 1e-3}], ids=str)
def test_the_noise_is_the_least_to_a_few_millionths(given, adjacency):
    """Whether another search was needed for the errors or not."""
    found = sampled_noise(sums(**given), goal(adjacency))
    less = SampledNoise(found.sums, found.adjacency, (1 - 1e-5) * found.scale, found.share, found.grid)
    assert covers(goal(adjacency), found.event)
    assert not covers(goal(adjacency), less.event)


@BOTH
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3), (50.0, 1e-6)])
def test_neither_epsilon_nor_delta_exceeds_the_goal_in_the_last_digits(epsilon, delta, adjacency):
    given = sums(rate=0.853, steps=1000, lipschitz=0.25, numerical_error=1e-9)
    profile = account(sampled_noise(given, goal(adjacency, epsilon, delta)).event, adjacency)
    assert profile.epsilon(delta) <= epsilon
    assert profile.delta(epsilon) <= delta


def test_an_event_covers_a_goal_by_both_of_its_numbers(monkeypatch):
    """A profile whose epsilon is right, and whose delta is a digit too large, does not do."""
    event, wanted = Gaussian(10.0), goal("add_remove")
    for epsilon, delta, enough in ((1.0, 1e-3, True), (1.0, math.nextafter(1e-3, 1), False), (1.1, 1e-3, False)):
        profile = SimpleNamespace(epsilon=lambda _, e=epsilon: e, delta=lambda _, d=delta: d)
        monkeypatch.setattr(calibration, "account", lambda *_, profile=profile: profile)
        assert covers(wanted, event) is enough


@pytest.mark.parametrize("lipschitz", [1e-162, 1e155])
def test_the_noise_multiplier_does_not_depend_on_the_unit(lipschitz):
    one, other = (sampled_noise(sums(lipschitz=size), goal("add_remove")) for size in (1.0, lipschitz))
    assert other.scale / lipschitz == pytest.approx(one.scale, rel=1e-6)
    assert covers(goal("add_remove"), other.event)


@BOTH
def test_small_errors_cost_hardly_anything(adjacency):
    plain, blurred = (
        sampled_noise(sums(rate=0.02, steps=1000, numerical_error=e), goal(adjacency, 1.0, 1e-6)) for e in (0.0, 1e-6)
    )
    assert 1 <= blurred.scale / plain.scale <= 1 + 2e-4


def test_the_cost_of_errors_is_near_the_least():
    """No other share of the noise would do with 1 % less."""
    given, wanted = sums(rate=0.02, steps=1000, numerical_error=1e-3), goal("add_remove", 1.0, 1e-6)
    found = sampled_noise(given, wanted)
    for factor in (0.3, 0.6, 1.6):
        other = SampledNoise(given, found.adjacency, 0.99 * found.scale, factor * found.share, found.grid)
        assert not covers(wanted, other.event)


@BOTH
def test_samples_that_are_too_large_are_paid_for(adjacency):
    """delta = p + (1 - p) delta', at every epsilon."""
    found = sampled_noise(sums(failure=1e-4), goal(adjacency))
    *steps, (last, count) = found.event.singles()
    assert (last, count) == (Approximate(0.0, 1e-4, adjacency), 1)
    assert len(steps) == 2
    without = account(found.step_event, adjacency)
    for epsilon in EPSILONS:
        whole = account(found.event, adjacency).delta(epsilon)
        assert whole == pytest.approx(1e-4 + (1 - 1e-4) * without.delta(epsilon), rel=1e-5)


@pytest.mark.parametrize("failure", [1e-3, 1e-9, 1e-30])
@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.3, 0.99])
@pytest.mark.parametrize("rows", [10, 5000, 10**6])
def test_the_largest_sample_is_rarely_reached_and_not_far_off(rows, rate, failure):
    largest, mean, t = largest_sample(rows, rate, failure), rows * rate, -math.log(failure)
    assert stats.binom.sf(largest - 1, rows, rate) <= failure
    assert largest <= min(rows + 1, mean + math.sqrt(2 * t * mean) + t + 1)
    if rate <= 0.5 and t <= mean:
        assert stats.binom.sf(mean + (largest - mean) / 2, rows, rate) > failure


def test_noise_is_drawn_on_the_grid_with_its_scale():
    given = sums(dim=20_000, steps=3, lipschitz=0.7)
    found = sampled_noise(given, goal("add_remove"))
    noisy = found.noisy(np.full(20_000, 0.3), NotPrivateBits(4610).stream())
    steps = noisy / found.grid.step
    assert (steps == np.rint(steps)).all()
    z = (noisy - 0.3) / found.scale
    assert stats.kstest(z, "norm").pvalue > LEVEL
    assert stats.kstest(1.1 * z, "norm").pvalue < LEVEL
    assert found.numbers["noise_multiplier"] == found.scale / 0.7


@BOTH
@pytest.mark.parametrize("make", [GDP, ZCDP, PureDP])
def test_other_goals_are_refused_with_a_remedy(make, adjacency):
    with pytest.raises(ConversionError, match=r'^method="sgd" needs delta > 0.*Set delta > 0\..*"gradient"'):
        sampled_noise(sums(), make(1.0, adjacency))
    with pytest.raises(ConversionError, match="delta > 0"):
        sampled_noise(sums(), RDP([(2.0, 0.1)], adjacency))
    with pytest.raises(ConversionError, match="delta > 0"):
        sampled_noise(sums(), ApproxDP(1.0, 0.0, adjacency))


def test_errors_that_cost_more_than_the_goal_are_refused():
    with pytest.raises(AssumptionError, match=r"numerical error.*fewer steps"):
        sampled_noise(sums(numerical_error=1e10, steps=1000), goal("add_remove"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lipschitz", 0.0),
        ("rate", 0.0),
        ("rate", 1.1),
        ("steps", 0),
        ("dim", 0),
        ("numerical_error", -1.0),
        ("failure", 1.0),
    ],
)
def test_nonsense_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        sums(**{name: value})


# Unsafe mutants.


def laws_are_covered(mutant: ModuleType) -> None:
    for adjacency in ("add_remove", "replace_one"):
        given = mutant.SampledSums(lipschitz=1.0, rate=0.5, steps=1, dim=1)
        assert_the_event_covers_exact_laws(mutant.sampled_noise(given, goal(adjacency)))


def errors_are_covered(mutant: ModuleType) -> None:
    given = mutant.SampledSums(lipschitz=1.0, rate=0.05, steps=1, dim=1, numerical_error=0.2)
    found = mutant.sampled_noise(given, goal("add_remove"))
    assert largest_share(*apart(found, 0.2), claims(found)) <= 1 + EXACT


def errors_count_twice(mutant: ModuleType) -> None:
    given = mutant.SampledSums(lipschitz=1.0, rate=0.5, steps=1, dim=1, numerical_error=0.01)
    found = mutant.sampled_noise(given, goal("add_remove"))
    _, (errors, _) = found.event.singles()
    assert found.parts[1] / errors.noise_multiplier >= 0.02


def parts_fit(mutant: ModuleType) -> None:
    given = mutant.SampledSums(lipschitz=1.0, rate=0.1, steps=5, dim=1, numerical_error=0.05)
    found = mutant.sampled_noise(given, goal("add_remove"))
    assert sum(Fraction(part) ** 2 for part in found.parts) <= Fraction(found.scale) ** 2


def steps_and_failures_are_counted(mutant: ModuleType) -> None:
    given = mutant.SampledSums(lipschitz=1.0, rate=0.1, steps=5, dim=1, failure=1e-4)
    counts = [count for _, count in mutant.sampled_noise(given, goal("add_remove")).event.singles()]
    assert counts == [5, 5, 1]


def large_samples_are_rare(mutant: ModuleType) -> None:
    assert stats.binom.sf(mutant.largest_sample(10**5, 0.01, 1e-6) - 1, 10**5, 0.01) <= 1e-6


def noise_has_its_scale(mutant: ModuleType) -> None:
    given = mutant.SampledSums(lipschitz=1.0, rate=0.1, steps=1, dim=20_000)
    found = mutant.sampled_noise(given, goal("add_remove"))
    noise = found.noisy(np.zeros(20_000), NotPrivateBits(4611).stream())
    assert stats.kstest(noise / found.scale, "norm").pvalue > LEVEL


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (laws_are_covered, "rate=self.sums.rate)\n        moved", "rate=self.sums.rate**2)\n        moved"),
        (laws_are_covered, "Gaussian(quotient_down(kept,", "Gaussian(2 * quotient_down(kept,"),
        (
            errors_are_covered,
            "moved = max(self.sums.moved_by_errors(self.grid), raised(doubled * hidden / MULTIPLIERS[1]))",
            "moved = raised(doubled * hidden / MULTIPLIERS[1])",
        ),
        (errors_count_twice, "Calibration(hidden, self.grid, moved)", "Calibration(hidden, self.grid, moved / 2)"),
        (parts_fit, "lowered(kept * self.scale)", "self.scale"),
        (
            steps_and_failures_are_counted,
            "self.step_event * self.sums.steps",
            "self.step_event * (self.sums.steps - 1)",
        ),
        (
            steps_and_failures_are_counted,
            "return steps + Approximate(0.0, self.sums.failure, self.adjacency) if self.sums.failure else steps",
            "return steps",
        ),
        (large_samples_are_rare, "t / 3 + math.sqrt(t * t / 9 + 2 * t * mean)", "math.sqrt(t * mean)"),
        (noise_has_its_scale, "rounded_gaussian(self.scale / self", "rounded_gaussian(0.9 * self.scale / self"),
    ],
    ids=[
        "the rate is squared",
        "half of the noise",
        "errors are forgotten",
        "errors count once, not twice",
        "all of the noise counts in both parts",
        "one step is not charged (E28)",
        "large samples are not charged",
        "a bound of a normal without its factor 2",
        "noise is smaller than its scale",
    ],
)
def test_an_unsafe_mutant_is_killed(check, old, new, assert_killed):
    assert_killed(check, module.__name__, old, new)
