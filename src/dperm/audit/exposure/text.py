# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lines of text as symbols, and synthetic lines for training."""

from collections.abc import Sequence

import numpy as np

from dperm import checks
from dperm.audit.exposure.space import SecretSpace
from dperm.errors import ParameterError
from dperm.noise.arrays import Integers
from dperm.noise.simulation import generator

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz0123456789"
"""Public alphabet. The first symbol ends a line, the second replaces every other character."""
END, OTHER = 0, 1
_SYMBOLS = {character: place for place, character in enumerate(ALPHABET)}
DIGITS = "0123456789"
PEOPLE = ("anna", "bert", "carla", "david", "emma", "felix", "greta", "henry")
DEEDS = ("calls", "visits", "helps", "thanks", "meets", "writes")
PLACES = ("home", "office", "garden", "station", "market", "library")
CODES = 0.1
"""Share of the lines with a person's code."""
PREFIX = "the code of the safe is "


def encoded(text: str) -> tuple[int, ...]:
    """Return the symbols of a text, in lower case."""
    return tuple(_SYMBOLS.get(character, OTHER) for character in text.lower())


def code_space(prefix: str = PREFIX, digits: int = 6) -> SecretSpace:
    """Return the space of all codes with this number of digits after the prefix."""
    return SecretSpace(encoded(prefix), (encoded(DIGITS),) * checks.count("digits", digits, most=18))


def made_up_lines(count: int, seed: int | None = None) -> list[str]:
    """Return random lines: a meeting of two people, or a six-digit code of one person."""
    count, coins = checks.count("count", count), generator(seed, "lines of text")
    people, others, deeds, places = (coins.choice(words, count) for words in (PEOPLE, PEOPLE, DEEDS, PLACES))
    codes, is_code = coins.integers(0, 10**6, count), coins.random(count) < CODES
    return [
        f"the code of {one} is {code:06d}" if coded else f"{one} {deed} {other} at the {place}"
        for one, deed, other, place, code, coded in zip(people, deeds, others, places, codes, is_code, strict=True)
    ]


def symbol_table(lines: Sequence[str], longest: int, before: int) -> tuple[Integers, Integers]:
    """Return symbols and lengths of lines, cut to ``longest`` with the line end, after ``before`` padding symbols."""
    if not isinstance(lines, Sequence) or isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise ParameterError(argument="lines", rule="must be a sequence of strings, one per record")
    symbols = np.full((len(lines), before + longest), END, dtype=np.int64)
    lengths = np.empty(len(lines), dtype=np.int64)
    for row, line in enumerate(lines):
        found = (*encoded(line.replace("\n", " "))[: longest - 1], END)
        symbols[row, before : before + len(found)] = found
        lengths[row] = len(found)
    return symbols, lengths
