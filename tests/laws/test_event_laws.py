# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Laws that every event obeys under every adjacency in which it is accounted, with parameters drawn by hypothesis.

Profiles are compared by their brackets: two brackets of one number overlap, and "never better" means that the lower
end of the better one is at most the upper end of the other.
"""

import itertools
import math

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dperm.accounting import (
    Approximate,
    BestOf,
    BoundedRange,
    Gaussian,
    Laplace,
    ParallelParts,
    PerturbedObjective,
    PerturbedSoftmax,
    Poisson,
    Pure,
    RandomizedResponse,
    ReplaceOneOnly,
    Runs,
    ThresholdedValues,
    WithoutReplacement,
    account,
)
from dperm.accounting.composition import Composition
from dperm.accounting.engines import solve_delta, solve_epsilon
from dperm.accounting.serialize import event_from_json, event_to_json
from dperm.privacy import ApproxDP, group
from dperm.privacy.group import group_profile

ADD, REPLACE = "add_remove", "replace_one"


def log_floats(low, high):
    return st.floats(min_value=math.log(low), max_value=math.log(high)).map(math.exp)


SCALE, RATE = log_floats(0.7, 20.0), log_floats(0.01, 0.9)
STRENGTH, FAILURE = log_floats(0.02, 2.0), log_floats(1e-8, 1e-3)
GAUSSIANS, LAPLACES = st.builds(Gaussian, SCALE), st.builds(Laplace, SCALE)
OBJECTIVES = st.builds(PerturbedObjective, SCALE, log_floats(0.003, 1.0), st.booleans())
SOFTMAXES = st.builds(PerturbedSoftmax, log_floats(2.0, 40.0), log_floats(0.003, 0.3), st.integers(3, 20))


def declared(adjacency):
    return st.one_of(
        st.builds(Pure, STRENGTH, st.just(adjacency)), st.builds(Approximate, STRENGTH, FAILURE, st.just(adjacency))
    )


def parts(*events):
    return st.builds(lambda *drawn: ParallelParts(drawn), *events)


THRESHOLDED = st.builds(ThresholdedValues, log_floats(2.0, 40.0), log_floats(60.0, 400.0), st.integers(1, 20))
RUNS = st.one_of(
    st.builds(Runs.geometric, log_floats(1.0, 30.0)),
    st.builds(Runs.negative_binomial, st.floats(-0.9, 3.0).filter(lambda eta: abs(eta) > 1e-6), log_floats(0.03, 1.0)),
    st.builds(Runs.poisson, log_floats(0.3, 20.0)),
)
PARALLEL = st.one_of(parts(GAUSSIANS, GAUSSIANS), parts(GAUSSIANS, LAPLACES), parts(LAPLACES, THRESHOLDED))

EVENTS = {
    ("gaussian", ADD): GAUSSIANS,
    ("gaussian", REPLACE): GAUSSIANS,
    ("laplace", ADD): LAPLACES,
    ("laplace", REPLACE): LAPLACES,
    ("replace-only-gaussian", REPLACE): st.builds(ReplaceOneOnly, GAUSSIANS),
    ("replace-only-laplace", REPLACE): st.builds(ReplaceOneOnly, LAPLACES),
    ("declared-add_remove", ADD): declared(ADD),
    ("declared-add_remove", REPLACE): declared(ADD),
    ("declared-replace_one", REPLACE): declared(REPLACE),
    ("perturbed-objective", ADD): OBJECTIVES,
    ("perturbed-objective", REPLACE): OBJECTIVES,
    ("perturbed-softmax", ADD): SOFTMAXES,
    ("perturbed-softmax", REPLACE): SOFTMAXES,
    ("randomized-response", REPLACE): st.builds(RandomizedResponse, STRENGTH, st.integers(2, 9)),
    ("poisson-gaussian", ADD): st.builds(Poisson, GAUSSIANS, RATE),
    ("poisson-gaussian", REPLACE): st.builds(Poisson, GAUSSIANS, RATE),
    ("poisson-laplace", ADD): st.builds(Poisson, LAPLACES, RATE),
    ("poisson-laplace", REPLACE): st.builds(Poisson, LAPLACES, RATE),
    ("poisson-declared", ADD): st.builds(Poisson, declared(ADD), RATE),
    ("poisson-declared", REPLACE): st.builds(Poisson, declared(ADD), RATE),
    ("range-add_remove", ADD): st.builds(BoundedRange, STRENGTH, st.just(ADD)),
    ("range-add_remove", REPLACE): st.builds(BoundedRange, STRENGTH, st.just(ADD)),
    ("range-replace_one", REPLACE): st.builds(BoundedRange, STRENGTH, st.just(REPLACE)),
    ("thresholded-values", ADD): THRESHOLDED,
    ("thresholded-values", REPLACE): THRESHOLDED,
    ("parallel-parts", ADD): PARALLEL,
    ("parallel-parts", REPLACE): PARALLEL,
    ("parallel-declared", ADD): parts(declared(ADD), declared(ADD)),
    ("best-of-declared", ADD): st.builds(BestOf, declared(ADD), RUNS),
    ("without-gaussian", REPLACE): st.builds(WithoutReplacement, GAUSSIANS, RATE),
    ("without-laplace", REPLACE): st.builds(WithoutReplacement, LAPLACES, RATE),
    ("without-declared", REPLACE): st.builds(WithoutReplacement, declared(REPLACE), RATE),
}
every_event = pytest.mark.parametrize(
    ("events", "adjacency"), [(s, a) for (_, a), s in EVENTS.items()], ids=["-".join(key) for key in EVENTS]
)
both_ways = [kind for kind, adjacency in EVENTS if adjacency == ADD]
EPSILON, DELTA = log_floats(0.01, 1.5), log_floats(1e-6, 0.05)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking would ask an engine hundreds of times
few = settings(max_examples=6, phases=PHASES)
fewer = settings(max_examples=2, phases=PHASES)
ROOM = 1e-12


def overlap(first, second):
    return max(first[0], second[0]) <= min(first[1], second[1]) * (1 + ROOM) + 1e-15


def never_above(lesser, greater):
    """The lesser's lower end is no proof against lesser <= greater."""
    return lesser[0] <= greater[1] * (1 + ROOM) + 1e-15


def steps(event, adjacency):
    """What is composed, direction by direction, regardless of the order."""
    profile = account(event, adjacency)
    directions = getattr(profile, "wider", profile).directions
    return [dict(direction.steps) for direction in directions]


@every_event
def test_k_times_an_event_is_k_single_events(events, adjacency):
    """T15, as one value: the count lives in one place."""

    @given(events, st.integers(2, 6))
    @few
    def law(event, k):
        singles = event
        for _ in range(k - 1):
            singles = singles + event
        assert steps(event * k, adjacency) == steps(singles, adjacency)
        assert [count for _, count in (event * k).singles()] == [k]

    law()


@every_event
def test_engines_count_what_they_are_given(events, adjacency):
    """T15: a law with count 3 has the profile of the same law listed three times, whoever answers."""

    @given(events, EPSILON, DELTA)
    @fewer
    def law(event, epsilon, delta):
        profile = account(event * 3, adjacency)
        profile = getattr(profile, "wider", profile)
        listed = tuple(
            Composition(tuple(itertools.chain.from_iterable([(law, 1)] * count for law, count in direction.steps)))
            for direction in profile.directions
        )
        found, again = solve_delta(profile.directions, epsilon), solve_delta(listed, epsilon)
        assert overlap((found.lower, found.upper), (again.lower, again.upper))
        found, again = solve_epsilon(profile.directions, delta), solve_epsilon(listed, delta)
        assert overlap((found.lower, found.upper), (again.lower, again.upper))

    law()


@every_event
def test_composition_commutes_and_associates(events, adjacency):
    @given(events, events, events, DELTA)
    @fewer
    def law(first, second, third, delta):
        assert (first + second) + third == first + (second + third)
        one, other = steps(first + second + third, adjacency), steps(third + first + second, adjacency)
        assert [sorted(direction.values()) for direction in one] == [sorted(direction.values()) for direction in other]
        forward, backward = account(first + second, adjacency), account(second + first, adjacency)
        assert overlap(forward.epsilon_bracket(delta), backward.epsilon_bracket(delta))

    law()


@every_event
def test_delta_falls_with_epsilon_and_epsilon_with_delta(events, adjacency):
    @given(events, EPSILON, log_floats(1.01, 3.0), DELTA)
    @fewer
    def law(event, epsilon, factor, delta):
        profile = account(event * 2, adjacency)
        assert never_above(profile.epsilon_bracket(delta * factor), profile.epsilon_bracket(delta))
        low, high = profile.delta_bracket(epsilon)
        assert 0 <= low <= high <= 1
        if "wider" not in vars(profile):  # T4's bound: the next test
            assert never_above(profile.delta_bracket(epsilon * factor), (low, high))

    law()


@pytest.mark.xfail(reason="T4's bound has several minima over atoms; GroupProfile.delta looks for the nearest one only")
def test_delta_falls_with_epsilon_even_through_t4():
    profile = account(Poisson(Approximate(1.0, 8.7e-4, ADD), rate=0.67) * 2, REPLACE)
    assert profile.delta_bracket(1.229)[0] <= profile.delta_bracket(0.67)[1]


@every_event
def test_epsilon_and_delta_are_inverse(events, adjacency):
    """delta(epsilon(delta)) <= delta, and below the lower end the profile is still above it."""

    @given(events, DELTA)
    @fewer
    def law(event, delta):
        profile = account(event * 2, adjacency)
        low, high = profile.epsilon_bracket(delta)
        if math.isfinite(high):
            assert profile.delta_bracket(high)[0] <= delta * (1 + ROOM)
        if 0 < low < math.inf:
            assert profile.delta_bracket(low * (1 - 1e-9))[1] >= delta * (1 - ROOM)

    law()


@every_event
def test_doing_more_is_never_more_private(events, adjacency):
    """T23: one event more, of whatever kind."""

    @given(events, GAUSSIANS, EPSILON)
    @fewer
    def law(event, other, epsilon):
        alone = account(event, adjacency).delta_bracket(epsilon)
        twice = account(event * 2, adjacency).delta_bracket(epsilon)
        assert never_above(alone, twice)
        if "wider" not in vars(account(event, adjacency)):  # T4's bound of a wider composition is another bound
            assert never_above(alone, account(event + other, adjacency).delta_bracket(epsilon))

    law()


@every_event
def test_a_guarantee_read_off_the_profile_covers_the_event(events, adjacency):
    """T13, T14: (eps, delta(eps)) dominates every event that satisfies it: at other epsilons, and composed."""

    @given(events, EPSILON, EPSILON)
    @fewer
    def law(event, epsilon, other):
        profile = account(event, adjacency)
        delta = profile.delta(epsilon)
        if not 0 < delta < 1 or "wider" in vars(profile):  # T4's bound is no pair's profile: it may be looser elsewhere
            return
        guarantee = Approximate(epsilon, delta, adjacency)
        assert never_above(profile.delta_bracket(other), account(guarantee, adjacency).delta_bracket(other))
        twice = account(event * 2, adjacency).delta_bracket(other)
        assert never_above(twice, account(guarantee * 2, adjacency).delta_bracket(other))

    law()


@every_event
def test_a_group_of_one_is_the_identity(events, adjacency):
    """T4 with k = 1."""

    @given(events, DELTA)
    @few
    def law(event, delta):
        profile = account(event, adjacency)
        assert group_profile(profile, 1) is profile
        guarantee = ApproxDP(1.0, delta, adjacency)
        assert group(guarantee, 1) == guarantee

    law()


@every_event
def test_json_keeps_the_profile(events, adjacency):
    @given(events, events, st.integers(1, 10**6))
    @few
    def law(event, other, k):
        whole = event * k + other
        again = event_from_json(event_to_json(whole))
        assert again == whole
        assert account(again, adjacency) == account(whole, adjacency)

    law()


@pytest.mark.parametrize("kind", both_ways)
def test_replacing_a_record_is_never_more_private_than_removing_it(kind):
    """T4: the same event under both adjacencies; a removal is half a replacement."""

    @given(EVENTS[kind, ADD], EPSILON, DELTA)
    @fewer
    def law(event, epsilon, delta):
        add, replace = account(event * 2, ADD), account(event * 2, REPLACE)
        assert never_above(add.delta_bracket(epsilon), replace.delta_bracket(epsilon))
        assert never_above(add.epsilon_bracket(delta), replace.epsilon_bracket(delta))

    law()


@pytest.mark.parametrize("kind", [kind for kind in both_ways if kind != "perturbed-softmax"])
def test_replacing_a_record_costs_no_more_than_t4_says(kind):
    """T4: (2 eps, delta (1 + e^eps)) of the add/remove profile bounds the replace-one pair of every event.

    Not so T53a, whose sum over pairs of vertices is above T4 where delta is large: 3.2 times with 20 classes.
    """

    @given(EVENTS[kind, ADD], EPSILON)
    @fewer
    def law(event, epsilon):
        once = account(event, ADD).delta(epsilon)
        low, _ = account(event, REPLACE).delta_bracket(2 * epsilon)
        assert low <= once * (1 + math.exp(epsilon)) * (1 + ROOM)

    law()


NOISY = {
    "gaussian": (lambda scale, rate: Gaussian(scale), (ADD, REPLACE)),
    "laplace": (lambda scale, rate: Laplace(scale), (ADD, REPLACE)),
    "replaced": (lambda scale, rate: ReplaceOneOnly(Gaussian(scale)), (REPLACE,)),
    "objective": (lambda scale, rate: PerturbedObjective(scale, rate), (ADD, REPLACE)),
    "regression": (lambda scale, rate: PerturbedObjective(scale, rate, monotone=False), (ADD, REPLACE)),
    "softmax": (lambda scale, rate: PerturbedSoftmax(scale, rate, 5), (ADD, REPLACE)),
    "thresholded": (lambda scale, rate: ThresholdedValues(10 * scale, 1 + 60 * scale, 5), (ADD, REPLACE)),
    "parallel": (lambda scale, rate: ParallelParts((Gaussian(scale), Laplace(2 * scale))), (ADD, REPLACE)),
    "best of": (lambda scale, rate: BestOf(Gaussian(scale), Runs.geometric(mean=1 / rate)), (ADD,)),
    "poisson-gaussian": (lambda scale, rate: Poisson(Gaussian(scale), rate=rate), (ADD, REPLACE)),
    "poisson-laplace": (lambda scale, rate: Poisson(Laplace(scale), rate=rate), (ADD, REPLACE)),
    "without-gaussian": (lambda scale, rate: WithoutReplacement(Gaussian(scale), rate=rate), (REPLACE,)),
    "without-laplace": (lambda scale, rate: WithoutReplacement(Laplace(scale), rate=rate), (REPLACE,)),
}
every_noise = pytest.mark.parametrize(
    ("make", "adjacency"),
    [(make, adjacency) for make, adjacencies in NOISY.values() for adjacency in adjacencies],
    ids=[f"{name}-{adjacency}" for name, (_, adjacencies) in NOISY.items() for adjacency in adjacencies],
)


@every_noise
def test_more_noise_never_hurts(make, adjacency):
    """Noise of a larger scale is post-processing (T3) of the same event; in an objective, its bound falls (T43a)."""

    @given(SCALE, RATE, log_floats(1.001, 4.0), EPSILON)
    @fewer
    def law(scale, rate, factor, epsilon):
        noisier, base = make(scale * factor, rate), make(scale, rate)
        for k in (1, 2):
            assert never_above(
                account(noisier * k, adjacency).delta_bracket(epsilon),
                account(base * k, adjacency).delta_bracket(epsilon),
            )

    law()


@pytest.mark.parametrize("name", [name for name in NOISY if "-" in name])
def test_a_smaller_sample_never_hurts(name):
    """T21, T22, T24, T25; at rate 1 it is the event itself."""
    make, adjacencies = NOISY[name]

    @given(SCALE, RATE, log_floats(1.001, 4.0), EPSILON, st.sampled_from(adjacencies))
    @few
    def law(scale, rate, factor, epsilon, adjacency):
        larger = make(scale, 1 - (1 - rate) / factor)
        small = account(make(scale, rate), adjacency).delta_bracket(epsilon)
        assert never_above(small, account(larger, adjacency).delta_bracket(epsilon))
        everyone = make(scale, 1.0)
        assert steps(everyone, adjacency) == steps(everyone.event, adjacency)
        if name != "poisson-laplace" or adjacency == ADD:  # T4's bound may be looser than the unsampled pair
            assert never_above(small, account(everyone, adjacency).delta_bracket(epsilon))

    law()


@given(STRENGTH, st.integers(2, 9), st.integers(1, 4), EPSILON)
@settings(max_examples=15)
def test_no_pure_mechanism_is_worse_than_two_answers(strength, values, k, epsilon):
    """T13: k-ary responses (T9) and Laplace noise (T5) of the same pure epsilon are dominated by `Pure`."""
    worst = account(Pure(strength, REPLACE) * k, REPLACE).delta_bracket(epsilon)
    for event in (RandomizedResponse(strength, values), Laplace(2 / strength)):
        assert never_above(account(event * k, REPLACE).delta_bracket(epsilon), worst)


@given(SCALE, st.integers(2, 10**6), EPSILON, st.sampled_from([ADD, REPLACE]))
@settings(max_examples=30)
def test_gaussians_are_one_gaussian(scale, k, epsilon, adjacency):
    """T19: mu adds in squares, so k releases are one with sigma / sqrt(k)."""
    if scale / math.sqrt(k) < 0.05:
        return
    many, one = account(Gaussian(scale) * k, adjacency), account(Gaussian(scale / math.sqrt(k)), adjacency)
    assert many.delta(epsilon) == pytest.approx(one.delta(epsilon), rel=1e-9, abs=1e-300)


@given(STRENGTH, st.integers(1, 1000), st.sampled_from([ADD, REPLACE]))
@settings(max_examples=30)
def test_pure_epsilons_add_up(strength, k, adjacency):
    """T11: at delta = 0, k times the epsilon of one, exactly, with the factor 2 of T4 where it belongs."""
    factor = 2 if adjacency == REPLACE else 1
    low, high = account(Pure(strength, ADD) * k + Laplace(1 / strength), adjacency).epsilon_bracket(0.0)
    exact = factor * (k + 1) * strength
    assert low <= exact * (1 + 1e-15) and exact * (1 - 1e-15) <= high <= exact * (1 + 1e-12)
