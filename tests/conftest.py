# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole suite."""

import importlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from false_alarms import reproducible, system_bits
from hypothesis import settings
from mutant_log import Recorder, logged_mutant

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # in the background of a shell; tests of interrupts would wait forever
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples everywhere, and no deadline: the first call of an engine imports scipy. ``make test-slow`` draws new
# examples, with --hypothesis-profile=search.
settings.register_profile("dperm", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("dperm")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Key all random numbers by the name of the test, unless it is marked as `unpredictable`."""
    block = system_bits() if item.get_closest_marker("unpredictable") else reproducible(item.nodeid)
    with block:
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
    """Key what a fixture of several tests draws by its own name: which of them runs first does not matter."""
    if fixturedef.scope == "function":
        return (yield)
    with reproducible(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')}"):
        return (yield)


def built(name: str, source: str) -> ModuleType:
    module = ModuleType(f"mutant_of_{name}")
    exec(compile(source, module.__name__, "exec"), module.__dict__)
    return module


@pytest.fixture
def assert_killed(record_property: Recorder) -> Callable[[Callable[[ModuleType], None], str, str, str], None]:
    """A check passes on a module as it is, and fails once ``old`` has become ``new`` in its source."""

    def assert_killed(check: Callable[[ModuleType], None], module: str, old: str, new: str) -> None:
        source = Path(importlib.import_module(module).__file__).read_text(encoding="utf-8")
        assert source.count(old) == 1, "the mutant no longer fits the source"
        with logged_mutant(record_property, module, old, new):
            check(built(module, source))
            with pytest.raises(AssertionError):
                check(built(module, source.replace(old, new)))

    return assert_killed
