# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Quick runs of the lessons, one for all tests of a process."""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import pytest

from dperm.reproduce import Effort
from dperm.reproduce.lesson import Outcome


@dataclass(frozen=True)
class QuickRun:
    """Outcome of a lesson, the progress that it reported, and the arguments of its checks."""

    outcome: Outcome
    progress: tuple[float, ...]
    findings: tuple[Any, ...]


@functools.cache
def quick_run(name: str) -> QuickRun:
    """Run a lesson with little effort; it has a seed, so every run is the same."""
    module = importlib.import_module(f"dperm.reproduce.lessons.{name}")
    progress: list[float] = []
    taken: list[tuple[Any, ...]] = []
    checks = module._checks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_checks", lambda *arguments: (taken.append(arguments), checks(*arguments))[1])
        outcome = module.LESSON.run(Effort(quick=True, progress=progress.append))
    return QuickRun(outcome, tuple(progress), taken[-1])
