# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mutants of the test suite, noted as properties of the tests that kill them; tools/mutant_kills.py lists them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Recorder = Callable[[str, object], None]
TRIED, KILLED = "mutant tried", "mutant killed"


@contextmanager
def logged_mutant(record_property: Recorder, module: str, old: str, new: str) -> Iterator[None]:
    """A block that kills a mutant, or raises: a module in which the source text ``old`` became ``new``."""
    record_property(TRIED, [module, old, new])
    yield
    record_property(KILLED, [module, old, new])
