# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public space from which a secret is drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.noise.arrays import Integers
from dperm.noise.simulation import generator
from dperm.presentation.spelling import arg

MOST = 2**63 - 1
"""Largest size of a space: the index of a secret is a 64-bit number."""
SECRET = "A secret is drawn uniformly from its space."


@dataclass(frozen=True)
class SecretSpace:
    """Public space of secrets: a prefix, followed by one of the given choices at each position.

    Symbols are nonnegative integers, such as the token ids of a model. The secret does not include the prefix.

    Attributes
    ----------
    prefix
        Symbols of the prefix.
    choices
        For each position after the prefix, the distinct symbols that a secret can have there.
    """

    prefix: tuple[int, ...]
    choices: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Check the symbols and the size, and store all sequences as tuples."""
        if not isinstance(self.choices, tuple | list):
            raise ParameterError(
                argument="choices", rule="must be a tuple of symbols for each position", got=shown(self.choices)
            )
        object.__setattr__(self, "prefix", _symbols("prefix", self.prefix))
        object.__setattr__(self, "choices", tuple(_symbols("choices", each) for each in self.choices))
        if not self.choices or any(len(set(each)) != len(each) or not each for each in self.choices):
            raise ParameterError(
                argument="choices", rule="must contain at least one position, each with distinct symbols"
            )
        if self.size > MOST:
            raise ParameterError(
                argument="choices",
                rule="must define at most 2^63 secrets",
                got=f"2^{self.bits:.1f}",
                remedy=f"Move a part of the positions into {arg('prefix')}.",
            )

    @cached_property
    def size(self) -> int:
        """Number of secrets in the space, denoted ``|R|`` in the formulas."""
        return math.prod(len(each) for each in self.choices)

    @property
    def contexts(self) -> int:
        """Number of contexts that a `SequenceModel` evaluates to score all secrets.

        There is one context for each distinct beginning of a secret, including the empty one.
        """
        sizes = [len(each) for each in self.choices]
        return sum(math.prod(sizes[:level]) for level in range(len(sizes)))

    @property
    def bits(self) -> float:
        """Size of the space in bits, ``log2 |R|``."""
        return math.log2(self.size)

    def secrets(self, places: Integers) -> Integers:
        """Return the symbols of the secrets with these indices, without the prefix.

        Parameters
        ----------
        places
            Indices of secrets, as returned by `place` and `draw`.

        Returns
        -------
        ndarray
            Symbols, one secret per row.
        """
        left, columns = np.asarray(places, dtype=np.int64), []
        for each in reversed(self.choices):  # numpy's unravel_index has 64 dimensions at most
            left, digits = np.divmod(left, len(each))
            columns.append(np.array(each, dtype=np.int64)[digits])
        return np.stack(columns[::-1], axis=1)

    def place(self, secret: Sequence[int]) -> int:
        """Return the index of a secret in the lexicographic order defined by ``choices``.

        Parameters
        ----------
        secret
            Symbols of the secret, without the prefix.

        Returns
        -------
        int
            Index of the secret, from 0.

        Raises
        ------
        ParameterError
            If ``secret`` is not in the space.
        """
        found = 0
        try:
            for each, symbol in zip(self.choices, secret, strict=True):
                found = found * len(each) + each.index(symbol)
        except (ValueError, TypeError):
            raise ParameterError(
                argument="secret",
                rule=f"must have one of the choices at each of the {len(self.choices)} positions after the prefix",
            ) from None
        return found

    def draw(self, count: int, seed: int | None = None) -> Integers:
        """Draw indices of secrets uniformly with replacement, without using private data.

        Parameters
        ----------
        count
            Number of indices.
        seed
            Seed of the draw; None draws a seed from the operating system.

        Returns
        -------
        ndarray
            Indices of the drawn secrets.

        Raises
        ------
        ParameterError
            If ``count`` is not a positive integer.
        """
        return generator(seed, "secrets").integers(0, self.size, checks.count("count", count, SECRET))

    def sequences(self, places: Integers) -> Integers:
        """Return the secrets with these indices as whole sequences, each with the prefix first.

        Parameters
        ----------
        places
            Indices of secrets, as returned by `place` and `draw`.

        Returns
        -------
        ndarray
            Symbols, one sequence per row.
        """
        secrets = self.secrets(places)
        return np.concatenate([np.tile(np.array(self.prefix, dtype=np.int64), (len(secrets), 1)), secrets], axis=1)


def _symbols(name: str, symbols: object) -> tuple[int, ...]:
    """Return the symbols as nonnegative integers."""
    if not isinstance(symbols, tuple | list | range | np.ndarray):
        raise ParameterError(
            argument=name, rule="must contain symbols as nonnegative integers", got=checks.shown(symbols)
        )
    return tuple(checks.count(name, symbol, least=0) for symbol in symbols)
