# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole suite."""

import importlib
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # in the background of a shell; tests of interrupts would wait forever
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the first call of an engine imports scipy. On CI hypothesis's own profile is the parent: fixed examples.
settings.register_profile("dperm", deadline=None)
settings.load_profile("dperm")


def built(name: str, source: str) -> ModuleType:
    module = ModuleType(f"mutant_of_{name}")
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    return module


@pytest.fixture
def assert_killed() -> Callable[[Callable[[ModuleType], None], str, str, str], None]:
    """A check passes on a module as it is, and fails once ``old`` has become ``new`` in its source."""

    def assert_killed(check: Callable[[ModuleType], None], module: str, old: str, new: str) -> None:
        source = Path(importlib.import_module(module).__file__).read_text(encoding="utf-8")
        assert source.count(old) == 1, "the mutant no longer fits the source"
        check(built(module, source))
        with pytest.raises(AssertionError):
            check(built(module, source.replace(old, new)))

    return assert_killed
