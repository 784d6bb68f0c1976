# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of exposure (A10): a secret planted in text."""

from collections.abc import Callable
from statistics import fmean

from dperm.audit.demo.result import DemoAttack, ResultTable
from dperm.audit.exposure.character_model import CharacterModel, ngram_counts, private_model, smoothed_model
from dperm.audit.exposure.exposure import CHANCE, all_log_probabilities, exposure_among
from dperm.audit.exposure.text import PREFIX, code_space, made_up_lines
from dperm.noise.arrays import Floats
from dperm.presentation.facts import Fact
from dperm.privacy import ApproxDP

LINES, UNSEEN = 20_000, 2000
SECRETS = 5
INSERTIONS = (0, 1, 2, 4, 8, 16)
Progress = Callable[[float], None] | None
Learn = Callable[[Floats], CharacterModel]


def planted_secrets(goal: ApproxDP, seed: int | None = None, progress: Progress = None) -> DemoAttack:
    """Measure the mean exposure of planted six-digit codes for each number of insertions, and the loss of the models.

    The goal protects one line of text. A line inserted 16 times counts as 16 records, with a weaker guarantee.
    """
    numbers = ngram_counts(made_up_lines(LINES, seed))
    unseen = made_up_lines(UNSEEN, None if seed is None else seed + 1)
    places = [int(place) for place in code_space().draw(SECRETS, seed)]
    rows = []
    for done, insertions in enumerate(INSERTIONS, start=1):
        exact, private = (
            mean_exposure(learn, numbers, places, insertions) for learn in (smoothed_model, _private(goal))
        )
        rows.append((insertions, exact, private))
        if progress is not None:
            progress(done / len(INSERTIONS))
    losses = smoothed_model(numbers).loss(unseen), _private(goal)(numbers).loss(unseen)
    return _result(rows, losses, goal)


def mean_exposure(learn: Learn, numbers: Floats, places: list[int], insertions: int) -> float:
    """Return the mean exact exposure over secrets, each in its own model.

    Counts are additive over lines: the counts of the text, plus, for each insertion, the counts of the line with the
    secret.
    """
    space = code_space()
    found = []
    for place in places:
        model = learn(numbers + insertions * ngram_counts([f"{PREFIX}{place:06d}"]))
        found.append(exposure_among(all_log_probabilities(model, space), place).bits)
    return fmean(found)


def _private(goal: ApproxDP) -> Learn:
    return lambda numbers: private_model(numbers, goal).value


def _result(rows: list[tuple[int, float, float]], losses: tuple[float, float], goal: ApproxDP) -> DemoAttack:
    times, without, private = rows[-1]
    values = {"times": times, "without": without, "most": code_space().bits, "private": private, "chance": CHANCE}
    conclusion = Fact(
        "demo.planted-secrets",
        "A code of six digits, planted {times} times, has an exposure of {without:.1f} of {most:.1f} bits without DP "
        "and of {private:.1f} with epsilon = {epsilon:g} for a line. The baseline is {chance:.1f} bits, the average of "
        "a code that was never planted. The models lose {exact_loss:.2f} and {private_loss:.2f} nats per character.",
        {**values, "epsilon": goal.epsilon, "exact_loss": losses[0], "private_loss": losses[1]},
    )
    x = [float(row[0]) for row in rows]
    points = {name: (x, [row[place] for row in rows]) for place, name in ((1, "without DP"), (2, "with DP"))}
    baseline = f"bits by chance (of {code_space().bits:.1f})"
    table = ResultTable(
        ("insertions", "bits without DP", "bits with DP", baseline), tuple((*row, CHANCE) for row in rows)
    )
    return DemoAttack("Exposure of a planted secret", conclusion, table, points)
