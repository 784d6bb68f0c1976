# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The suite fails by chance with probability 1e-6 at most, and draws the same numbers everywhere."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from false_alarms import MOST, deviations, false_alarm, reproducible, system_bits, total, unpredictable
from hypothesis import settings

from dperm.noise.bits import SystemBits

ROOT = Path(__file__).parents[1]


def test_declared_false_alarms_of_the_collected_tests_sum_to_a_millionth_at_most(request):
    """All tests of ``make test`` if the whole suite was collected; each item counts, so parameters count too."""
    assert total(request.session.items) <= MOST


@unpredictable(1e-9, checks=3)
def test_levels_are_added_over_checks(request):
    assert false_alarm(request.node) == pytest.approx(3e-9)


@pytest.mark.parametrize(("level", "checks"), [(-0.1, 1), (1.0, 1), (0.1, 0)])
def test_impossible_levels_are_refused(level, checks):
    with pytest.raises(ValueError, match="level must be in"):
        unpredictable(level, checks)


def test_deviations_are_those_of_both_tails():
    assert deviations(0.0455) == pytest.approx(2.0, abs=1e-3)
    assert deviations(2e-9) == pytest.approx(5.998, abs=1e-3)


def drawn() -> list[float]:
    """One number of each generator."""
    return [float(SystemBits().stream().words(1)[0]), random.random(), np.random.random()]  # noqa: NPY002


def test_numbers_depend_on_the_name_alone():
    found = []
    for name in ("one", "one", "other"):
        with reproducible(name):
            found.append(drawn())
    assert found[0] == found[1]
    assert not set(found[0]) & set(found[2])


def test_streams_of_a_test_differ_from_each_other():
    words = [int(SystemBits().stream().words(1)[0]) for _ in range(100)]
    stream = SystemBits().stream()
    thread = threading.Thread(target=lambda: words.append(int(stream.words(1)[0])))
    thread.start()
    thread.join()
    words.append(int(stream.words(1)[0]))
    assert len(set(words)) == 102


@unpredictable(2.0**-60)
def test_system_bits_are_those_of_the_operating_system_on_demand():
    """The block of the test around it is no longer there."""
    found = []
    for _ in range(2):
        with reproducible("one"), system_bits():
            found.append(int(SystemBits().stream().words(1)[0]))
    assert found[0] != found[1]


def test_the_default_profile_has_fixed_examples():
    assert settings.get_profile("dperm").derandomize
    assert not settings.get_profile("search").derandomize


@pytest.mark.parametrize("seed", ["", "5"])
def test_a_test_gives_the_same_numbers_in_every_process(tmp_path, seed):
    """Two runs of this file's own collector in fresh processes."""
    command = [sys.executable, "-c", "import sys; sys.path.insert(0, 'tests/support')\n"
               "from false_alarms import reproducible\nfrom dperm.noise.bits import SystemBits\n"
               f"with reproducible('name{seed}'): print(SystemBits().stream().words(2))"]  # fmt: skip
    found = {subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout for _ in range(2)}
    assert len(found) == 1
