# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The character model: what one line can do to its counts, what it memorises, and that noise ends it (A10, T6, T3)."""

import math

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.audit.exposure import CHANCE, CharacterModel, character_model, exact_exposure, train, train_private
from dperm.audit.exposure.character_model import CELLS, ngram_counts, sensitivity
from dperm.audit.exposure.text import ALPHABET, PREFIX, code_space, encoded, made_up_lines
from dperm.errors import ConversionError, ParameterError
from dperm.mechanisms import GaussianMechanism
from dperm.privacy import Adjacency

SPACE = code_space()
CODES = tuple(f"{place:06d}" for place in SPACE.draw(6, 11))
GOAL = ApproxDP(1.0, 1e-6, "add_remove")
VARIED = ALPHABET[1:] + "ab"  # 37 characters, two of them again, and the end: nearly all runs differ
OTHER = VARIED[::-1]


@pytest.fixture(scope="module")
def text():
    return ngram_counts(made_up_lines(20_000, 1))


@pytest.fixture(scope="module")
def unseen():
    return made_up_lines(2000, 2)


def planted(text, code, times):
    return text + times * ngram_counts([PREFIX + code])


def exposure(model, code):
    return exact_exposure(model, SPACE, encoded(code)).bits


# What one line can do


def test_a_line_moves_the_counts_by_no_more_than_the_sensitivity_and_nearly_as_much():
    for adjacency, moved in (
        (Adjacency.ADD_REMOVE, np.linalg.norm(ngram_counts([VARIED]))),
        (Adjacency.REPLACE_ONE, np.linalg.norm(ngram_counts([VARIED]) - ngram_counts([OTHER]))),
    ):
        assert 0.75 * sensitivity(adjacency) <= moved <= sensitivity(adjacency)


@pytest.mark.parametrize(
    "line", ["a" * 39, "ab" * 500, "", VARIED * 9, "\n" * 60, "é" * 99], ids=["a", "ab", "empty", "long", "ends", "odd"]
)
def test_no_line_moves_them_further(line):
    assert np.linalg.norm(ngram_counts([line])) <= sensitivity(Adjacency.ADD_REMOVE)
    assert set(np.unique(ngram_counts([line]))) <= {0.0, 1.0}


def test_counts_add_up_over_lines():
    lines = made_up_lines(8, 3)
    assert np.array_equal(ngram_counts(lines), sum(ngram_counts([line]) for line in lines))


def test_counts_are_those_of_runs():
    found = np.split(ngram_counts(["abab", "ba"]), np.cumsum(CELLS)[:-1])
    end, a, b = (ALPHABET.index(character) for character in "\nab")
    size = len(ALPHABET)
    assert {cell: found[0][cell] for cell in np.flatnonzero(found[0])} == {end: 2, a: 2, b: 2}
    assert {divmod(cell, size): found[1][cell] for cell in np.flatnonzero(found[1])} == {
        (end, a): 1, (a, b): 1, (b, a): 2, (b, end): 1, (end, b): 1, (a, end): 1,
    }  # fmt: skip


UNSAFE = [
    ("ORDER * LONGEST * (1 if", "LONGEST * (1 if"),
    ("else 2)", "else 1)"),
    ("ORDER * LONGEST * (1 if", "ORDER * (1 if"),
    ("cells[first]", "cells[cells >= 0]"),
    ("raised(math.sqrt(ones))", "raised(1.0)"),
]


@pytest.mark.parametrize(("old", "new"), UNSAFE, ids=[new for _, new in UNSAFE])
def test_unsafe_counting_is_caught(assert_killed, old, new):
    def check(module):
        for adjacency, first, second in (
            (Adjacency.ADD_REMOVE, [VARIED], []),
            (Adjacency.ADD_REMOVE, ["a" * 39], []),
            (Adjacency.REPLACE_ONE, [VARIED], [OTHER]),
        ):
            moved = module.ngram_counts(first) - (module.ngram_counts(second) if second else 0)
            assert np.linalg.norm(moved) <= module.sensitivity(adjacency)

    assert_killed(check, "dperm.audit.exposure.character_model", old, new)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_the_noise_is_that_of_a_line(adjacency):
    goal = ApproxDP(1.0, 1e-6, adjacency)
    mechanism = character_model.counting_mechanism(goal)
    assert mechanism.statistic.dim == sum(CELLS)
    assert mechanism.scale == GaussianMechanism.calibrate(sensitivity(goal.adjacency), goal, dim=sum(CELLS)).scale
    release = train_private(["anna"], goal)
    assert release.guarantee == goal and release.record.is_private
    assert release.profile.epsilon(1e-6) <= 1.0


def test_noise_reaches_every_count(text):
    """The counts that are released differ from the true ones by noise of the planned size, all over the table."""
    mechanism = character_model.counting_mechanism(GOAL)
    noise = np.asarray(mechanism.release(text).value) - text
    for part in np.split(noise, np.cumsum(CELLS)[1:-1]):
        assert part.std() == pytest.approx(mechanism.scale, rel=5 / math.sqrt(2 * len(part)))


# What it memorises


def test_probabilities_add_up_to_1(text):
    model = character_model.smoothed_model(text)
    assert np.exp(model.logs).sum(axis=1) == pytest.approx(np.ones(len(model.logs)))


def test_smoothing_is_as_written():
    """By hand, of one line: P("b" | "a" before it) and of a context never seen."""
    model, size = train(["ab"]), len(ALPHABET)
    end, a, b, c = (ALPHABET.index(character) for character in "\nabc")
    none = (1 + 2 / size) / (3 + 2)  # of three characters, "b" and the two others occur in one line
    one = (1 + 2 * none) / (1 + 2)
    two = (1 + 2 * one) / (1 + 2)
    three = (1 + 2 * two) / (1 + 2)
    logs = model.log_probabilities(np.array([[end, end, a], [c, c, c]]))
    assert math.exp(logs[0, b]) == pytest.approx(three)
    assert math.exp(logs[1, b]) == pytest.approx(none)
    assert np.array_equal(model.log_probabilities(np.array([[a]])), logs[:1])


def test_exposure_grows_with_insertions_to_all_bits_without_privacy(text):
    means = [
        np.mean([exposure(character_model.smoothed_model(planted(text, code, times)), code) for code in CODES[:3]])
        for times in (0, 1, 2, 4, 8, 16)
    ]
    assert means[0] < 4 < means[1] < means[2] < means[3]
    assert means[3] > 17
    assert means[4] == means[5] == pytest.approx(math.log2(10**6))


def test_a_model_trained_on_lines_is_that_of_their_counts():
    lines = [*made_up_lines(500, 4), PREFIX + CODES[0]]
    assert np.array_equal(train(lines).logs, character_model.smoothed_model(ngram_counts(lines)).logs)


def private(text, code, goal):
    return character_model.private_model(planted(text, code, 16), goal).value


def test_exposure_is_that_of_chance_with_privacy(text):
    """Means of 6 numbers -log2 U: above 6.7 once in 10^7. Without privacy each is 19.9."""
    found = [exposure(private(text, code, GOAL), code) for code in CODES]
    assert np.mean(found) < CHANCE + 5.3


def test_a_guarantee_that_says_nothing_protects_nothing(text):
    found = [exposure(private(text, code, ApproxDP(400.0, 1e-6, "add_remove")), code) for code in CODES[:2]]
    assert min(found) > 17


def test_the_private_model_is_a_model_of_the_language(text, unseen):
    """Uniform characters lose 3.64 nats each, frequencies of single characters 3.0."""
    without, with_noise = character_model.smoothed_model(text).loss(unseen), private(text, CODES[0], GOAL).loss(unseen)
    assert without < 0.45
    assert without < with_noise < 0.65


def test_private_training_reads_lines():
    lines = made_up_lines(3000, 5)
    release = train_private(lines, ApproxDP(8.0, 1e-6, "add_remove"))
    assert isinstance(release.value, CharacterModel)
    assert release.value.loss(lines) < 2.0


# Text and bad input


def test_text_is_made_of_symbols():
    assert "".join(ALPHABET[symbol] for symbol in encoded("Code 7\n?")) == "code 7\n "
    assert SPACE.size == 10**6 and len(SPACE.prefix) == len(PREFIX)
    assert SPACE.secrets(np.array([SPACE.place(encoded("031337"))])).tolist() == [list(encoded("031337"))]
    assert made_up_lines(20, 1) == made_up_lines(20, 1) != made_up_lines(20)
    assert max(map(len, made_up_lines(1000, 1))) < character_model.LONGEST


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: train("one string"), ParameterError, "lines must be a sequence of strings"),
        (lambda: train([1, 2]), ParameterError, "lines must be a sequence of strings"),
        (lambda: train(["a"]).loss([]), ParameterError, "at least one line"),
        (lambda: train_private(["a"], PureDP(1.0, "add_remove")), ConversionError, "delta > 0"),
        (lambda: made_up_lines(0), ParameterError, "count must be"),
    ],
    ids=["a string", "numbers", "no lines", "pure", "none"],
)
def test_bad_text_and_goals_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
