# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is planned before any data are read: rate, steps and noise are those of linear DP-SGD."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from torch_training import plan_of

from dperm import ApproxDP, account
from dperm.accounting.events import Gaussian
from dperm.accounting.sampled import Poisson
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import DpermError, DpermWarning, ParameterError
from dperm.methods.sampled_gradient import SampledGradient
from dperm.torch import DPSGD, QuantileClipping

SAMPLES = {
    "batch size and epochs": {"batch_size": 50.0, "epochs": 3.0},
    "rate and steps": {"rate": 0.03, "steps": 20},
    "epochs": {"epochs": 4.0},
    "steps": {"steps": 40},
    "batch size": {"batch_size": 100},
    "nothing": {},
}
BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])


def linear(adjacency, samples):
    """The plan of a linear model whose gradients are clipped at 1."""
    spec = ProblemSpec(Logistic(), 1.0, 3, n=1000, clip=1.0)
    return SampledGradient(**samples).plan(spec, ApproxDP(2.0, 1e-5, adjacency))


@BOTH
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_rate_steps_and_noise_are_those_of_linear_models(samples, adjacency):
    """Up to what rounding costs: nothing in the grade fast, little in the grade exact."""
    expected = linear(adjacency, samples)
    fast, exact = (DPSGD(**samples, grade=grade).plan(1000, 2.0, 1e-5, adjacency) for grade in ("fast", "exact"))
    for plan in (fast, exact):
        assert (plan.rate, plan.steps) == (expected.sampling.rate, expected.sampling.steps)
    assert fast.noise.scale == pytest.approx(expected.step_noise.scale, rel=1e-5)
    assert fast.noise.scale <= exact.noise.scale <= 1.05 * fast.noise.scale


@BOTH
@pytest.mark.parametrize("grade", ["fast", "exact"])
@pytest.mark.parametrize("most", [None, 3, 7])
def test_all_steps_together_keep_to_the_goal(most, grade, adjacency):
    plan = plan_of(1000, epsilon=1.5, delta=1e-5, adjacency=adjacency, grade=grade, records_per_group=most)
    profile = account(plan.event, adjacency)
    assert 1.49 < profile.epsilon(1e-5) <= 1.5
    assert profile.delta(1.5) <= 1e-5 * (1 + 1e-9)
    assert plan.noise.numbers["sensitivity"] == pytest.approx(most or 1, rel=1e-12)


def test_the_event_is_that_of_the_steps():
    plan = plan_of(rate=0.25, steps=7)
    (sampled, steps), *rest = plan.event.singles()
    assert (sampled.rate, steps, rest) == (0.25, 7, [])
    assert sampled.event.noise_multiplier == pytest.approx(plan.noise.scale, rel=1e-12)


def test_exact_noise_pays_for_rounding_in_its_event():
    (_, first), (_, second), *failure = plan_of(100, rate=0.05, steps=7, grade="exact").event.singles()
    assert first == second == 7
    assert len(failure) == 1, "samples beyond the bound on errors cost a part of delta"


@BOTH
def test_replacements_are_accounted_as_such(adjacency):
    plan = plan_of(adjacency=adjacency)
    other = {"add_remove": "replace_one", "replace_one": "add_remove"}[adjacency]
    assert plan.goal == ApproxDP(2.0, 1e-3, adjacency)
    assert ("T22" in plan.facts.theorems) == (adjacency == "add_remove")
    assert ("T25" in plan.facts.theorems) == (adjacency == "replace_one")
    assert account(plan.event, other).epsilon(1e-3) != pytest.approx(2.0, rel=1e-4)


@BOTH
def test_a_large_delta_has_a_plan(adjacency):
    """Nearly all of the noise covers the records: the share for rounding errors has the largest noise multiplier."""
    method = DPSGD(batch_size=10, epochs=5)
    with pytest.warns(DpermWarning, match="above 1/n"):
        exact, fast = (
            replace(method, grade=grade).plan(5000, 1.0, 0.1, adjacency).noise for grade in ("exact", "fast")
        )
    assert account(exact.event, adjacency).delta(1.0) <= 0.1
    assert fast.scale <= exact.scale <= 1.01 * fast.scale


def test_a_printed_plan_for_groups_has_the_noise_multiplier_of_a_group():
    """A group of 4 weighs 4 clipping norms. The sampled Gaussian of the printed multiplier has the planned epsilon."""
    plan = DPSGD(batch_size=100, epochs=5, records_per_group=4).plan(n=500, epsilon=2.0, delta=1e-5)
    found = re.search(r"a group weighs up to 4 clipping norms, so the noise multiplier is (\S+);", str(plan))
    assert found is not None and "a group weighs" not in str(plan_of())
    event = Poisson(Gaussian(float(found[1])), rate=plan.rate) * plan.steps
    assert account(event, plan.adjacency).epsilon(1e-5) == pytest.approx(2.0, rel=0.01)


WARNED = {
    "delta above 1/n": ({"batch_size": 10, "epochs": 5}, (50, 1.0, 0.1), "delta=0.1 is above 1/n for n=50"),
    "little budget": ({"batch_size": 10, "epochs": 5}, (50, 0.01, 1e-5), "outweighs the gradients of n=50 records"),
    "few records": ({"batch_size": 20, "epochs": 1}, (20, 0.001, 1e-5), "outweighs the gradients of n=20 records"),
    "groups": (
        {"batch_size": 10, "epochs": 5, "records_per_group": 4},
        (50, 0.01, 1e-5),
        "outweighs the gradients of n=50 groups",
    ),
}


@BOTH
@pytest.mark.parametrize(("method", "goal", "text"), WARNED.values(), ids=WARNED)
def test_a_plan_without_a_use_is_warned_of_once(method, goal, text, adjacency):
    with pytest.warns(DpermWarning) as found:
        DPSGD(**method).plan(*goal, adjacency)
    assert [text in str(one.message) for one in found] == [True]
    assert found[0].filename == __file__


@BOTH
def test_a_useful_plan_is_not_warned_of(adjacency):
    """Warnings are errors here."""
    for n, epsilon, delta in ((50, 1.0, 0.02), (2000, 0.1, 1e-6)):
        DPSGD(batch_size=10, epochs=5, grade="fast").plan(n, epsilon, delta, adjacency)


def test_more_of_anything_needs_more_noise():
    noise = [plan_of(1000, delta=1e-5, steps=steps).noise.scale for steps in (5, 50)]
    assert all(one < two for one, two in pairwise(noise))
    noise = [plan_of(1000, delta=1e-5, rate=rate).noise.scale for rate in (0.01, 0.1)]
    assert all(one < two for one, two in pairwise(noise))


def test_printed_it_says_what_will_be_done():
    text = str(DPSGD(0.5, batch_size=256, epochs=2, clipping="per_layer").plan(60_000, 3.0, 1e-5, "replace_one"))
    for part in (
        "epsilon=3.0, delta=1e-05, adjacency=REPLACE_ONE",
        "469 steps",
        "256",
        "n = 60000 records",
        "0.00426667",
        "0.5 (per_layer)",
        "exact",
    ):
        assert part in text, part
    assert "divided by 256," in text
    text = str(plan_of(records_per_group=3))
    assert "of n = 40 groups" in text
    assert "divided by 24," in text


@pytest.mark.parametrize(
    "options", [{}, {"clipping": QuantileClipping(0.7)}, {"records_per_group": 2}, {"grade": "exact"}], ids=str
)
def test_what_is_told_of_a_plan_is_public_json(options):
    described = plan_of(**options).describe()
    assert json.loads(json.dumps(described)) == described
    assert described["n"] == 40
    assert described["steps"] == 5


BAD = {
    "clip_norm zero": ({"clip_norm": 0.0}, "clip_norm"),
    "clip_norm not a number": ({"clip_norm": float("nan")}, "clip_norm"),
    "clip_norm huge": ({"clip_norm": 1e31}, "clip_norm"),
    "batch_size": ({"batch_size": -1.0}, "batch_size"),
    "batch_size and rate": ({"batch_size": 10, "rate": 0.1}, "batch_size and rate"),
    "epochs and steps": ({"epochs": 1, "steps": 10}, "epochs and steps"),
    "epochs": ({"epochs": 0}, "epochs"),
    "rate": ({"rate": 1.5}, "rate"),
    "steps": ({"steps": 0}, "steps"),
    "steps that are no number": ({"steps": "many"}, "steps"),
    "clipping": ({"clipping": "soft"}, "clipping"),
    "grade": ({"grade": "sloppy"}, "grade"),
    "physical_batch_size": ({"physical_batch_size": 0}, "physical_batch_size"),
    "records_per_group": ({"records_per_group": 0}, "records_per_group"),
    "records_per_group as a share": ({"records_per_group": 1.5}, "records_per_group"),
}


@pytest.mark.parametrize(("options", "name"), BAD.values(), ids=BAD)
def test_bad_numbers_are_refused_by_name(options, name):
    with pytest.raises(ParameterError, match=name):
        DPSGD(**options)


ASKED = {
    "n": ({"n": 0}, "n"),
    "n as a share": ({"n": 10.5}, "n"),
    "epsilon": ({"epsilon": -1.0}, "epsilon"),
    "epsilon not a number": ({"epsilon": float("nan")}, "epsilon"),
    "delta zero": ({"delta": 0.0}, "delta"),
    "delta one": ({"delta": 1.0}, "delta"),
    "adjacency": ({"adjacency": "nearby"}, "adjacency"),
    "batches larger than n": ({"n": 5}, "batch_size"),
}


@pytest.mark.parametrize(("asked", "name"), ASKED.values(), ids=ASKED)
def test_bad_goals_are_refused_by_name(asked, name):
    given = {"n": 1000, "epsilon": 1.0, "delta": 1e-5, "adjacency": "add_remove", **asked}
    with pytest.raises(DpermError, match=rf"\b{name}\b"):
        DPSGD(batch_size=10, steps=3).plan(**given)


QUANTILES = {"quantile": 1.5, "learning_rate": -1.0, "angle": 0.0}


@pytest.mark.parametrize("name", QUANTILES)
def test_bad_quantiles_are_refused_by_name(name):
    with pytest.raises(ParameterError, match=name):
        QuantileClipping(**{name: QUANTILES[name]})
