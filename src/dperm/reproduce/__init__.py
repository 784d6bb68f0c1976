# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Claims and figures of five lectures on differential privacy, each reproduced by one command.

Data and noise are simulated from a seed: all results are reproducible and NOT PRIVATE. The public names are loaded on
first use (PEP 562), so importing this package imports neither numpy nor a lesson.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dperm.reproduce.catalogue import LESSONS, by_name, run
    from dperm.reproduce.lesson import Check, Effort, Lesson, Outcome

__all__ = ["LESSONS", "Check", "Effort", "Lesson", "Outcome", "by_name", "run"]

_HOMES = {
    "dperm.reproduce.catalogue": {"LESSONS", "by_name", "run"},
    "dperm.reproduce.lesson": {"Check", "Effort", "Lesson", "Outcome"},
}

# Hidden from type checkers, which would otherwise accept every misspelt name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(importlib.import_module(home), name)
                return value
        raise AttributeError(f"module 'dperm.reproduce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
