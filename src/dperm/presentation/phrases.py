# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plurals, capital letters and joined sentences."""

from collections.abc import Iterable


def capitalize(text: str) -> str:
    """Return the text with a capital first letter; the other letters stay as they are."""
    return text[:1].upper() + text[1:]


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 release" or "12,000 releases"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def join_sentences(sentences: Iterable[str]) -> str:
    """Return the sentences that are not empty, separated by spaces."""
    return " ".join(sentence for sentence in sentences if sentence)
