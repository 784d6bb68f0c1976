# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The demonstration shows what it promises: 50 of 50 to 0 of 50, 20 bits to chance, an AUC that falls to one half."""

import json

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.audit import demo
from dperm.audit.demo import membership, planted_secrets
from dperm.audit.demo.differencing import differencing, guessing_baseline, risk_study
from dperm.audit.exposure import CHANCE
from dperm.audit.exposure.character_model import ngram_counts
from dperm.audit.exposure.text import made_up_lines

PURE, APPROXIMATE = PureDP(1.0, "add_remove"), ApproxDP(1.0, 1e-6, "add_remove")


def test_differencing_recovers_50_of_50_and_0_of_50():
    part = differencing(PURE, 5)
    assert [row[2] for row in part.table.rows] == [50] * 4 and [row[5] for row in part.table.rows] == [50] * 4
    assert [row[3] for row in part.table.rows if row[1] == "all genotypes"] == [0, 0]
    assert "50 of 50" in part.sentence and "0 of 50 with epsilon = 1" in part.sentence


def test_every_table_has_its_baseline_and_that_of_a_binary_target_is_one_half():
    """Of 50 patients, guessing finds the disease of about 25; attacks with noise must be read against that."""
    part = differencing(PURE, 5)
    found = {row[:2]: row[4] for row in part.table.rows}
    assert part.table.columns[4] == "by guessing" and "'by guessing' is the baseline" in part.sentence
    assert found["logistic, others known", "target"] == pytest.approx(25, abs=1)
    assert found["ridge, two releases", "target"] < 5
    assert max(found[name, "all genotypes"] for name, _ in found) < 0.1


def test_guessing_is_the_mean_of_drawn_guesses():
    study, coins = risk_study(5), np.random.default_rng(0)
    drawn = [coins.choice(np.delete(study.y, place), 4000) for place in range(50)]
    found = sum((np.abs(each - study.y[place]) <= 0.01).mean() for place, each in enumerate(drawn))
    assert guessing_baseline(study).targets == pytest.approx(found, abs=0.15)


def test_membership_falls_to_guessing():
    part = membership.membership(PURE, 5)
    (_, without, _), (_, private, _), guessing, (name, ceiling, _) = part.table.rows
    assert guessing == ("by guessing", 0.5, 0.01) and name.startswith("at most") and 0.5 < ceiling < 1
    assert without > 0.75
    assert abs(private - 0.5) < 0.05
    for false, true in part.points.values():
        assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
        assert len(false) == len(true) <= membership.POINTS


def test_membership_is_caught_where_the_noise_is_forgotten(monkeypatch):
    def without_noise(x, signs, mask, *, goal, progress=None):
        return membership.shadow_logistic(x, signs, mask, C=1 / membership.REGULARIZATION, dtype="float64")

    monkeypatch.setattr(membership, "private_models", without_noise)
    rows = membership.membership(PURE, 5).table.rows
    assert rows[1][1] == rows[0][1] > 0.75


def test_private_models_solve_the_same_problem():
    """With hardly any noise they are the exact ones: the attack is not beaten by another problem."""
    x, signs = membership.made_up_records(3)
    mask = membership.paired_coins(300, 6, seed=3)
    exact = membership.shadow_logistic(x, signs, mask, C=1 / membership.REGULARIZATION, dtype="float64")
    private = membership.private_models(x, signs, mask, goal=PureDP(499.0, "add_remove"))
    noise, size = np.linalg.norm(private - exact, axis=0), np.linalg.norm(exact, axis=0)
    assert (noise < size).all()


@pytest.fixture
def small(monkeypatch):
    """Two secrets, two numbers of insertions."""
    monkeypatch.setattr(planted_secrets, "SECRETS", 2)
    monkeypatch.setattr(planted_secrets, "INSERTIONS", (0, 16))


def test_the_whole_demonstration_is_plain_data_with_progress(small):
    seen = []
    result = demo.run(seed=5, progress=seen.append)
    assert [part.title for part in result.parts] == [
        "Reconstruction by differencing",
        "Exposure of a planted secret",
        "Membership inference",
    ]
    (_, before, _, _), (_, without, private, chance) = result.parts[1].table.rows
    assert chance == CHANCE
    assert before < 8
    assert without == pytest.approx(19.93, abs=0.01)
    assert private < CHANCE + 12  # the mean of two; without noise it is 19.9
    assert seen == sorted(seen) and seen[-1] == pytest.approx(1)
    plain = json.loads(json.dumps(result.as_dict()))
    assert plain["parts"][0]["rows"][0][2] == 50
    assert plain["parts"][1]["points"]["with DP"][0] == [0, 16]
    assert "a record is a line" in plain["guarantee"]


@pytest.mark.slow
def test_exposure_falls_from_all_bits_to_chance():
    part = planted_secrets.planted_secrets(APPROXIMATE, 5)
    without, private = np.array([row[1] for row in part.table.rows]), np.array([row[2] for row in part.table.rows])
    assert without[0] < 4 and without[3] > 17 and without[-1] == pytest.approx(19.93, abs=0.01)
    assert (np.diff(without) >= 0).all()
    assert private.mean() < CHANCE + 1.5  # of 30 secrets


def test_noise_is_fresh_whatever_the_seed():
    numbers = ngram_counts(made_up_lines(3000, 1))
    first, second = (planted_secrets.private_model(numbers, APPROXIMATE).value.logs for _ in range(2))
    assert not np.array_equal(first, second)
