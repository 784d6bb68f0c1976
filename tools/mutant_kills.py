# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""List the unsafe mutants of the test suite with their results, one line for each.

    python tools/mutant_kills.py > tests/mutants/kills.txt       the list
    python tools/mutant_kills.py --compare tests/mutants/kills.txt   fails if a mutant of the list is no longer killed

A line has the result (killed or survived), the module, the source text before and after, and the test that kills the
mutant. Only tests of mutants run. Arguments after ``--`` go to pytest, for example ``-- --numprocesses 2``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINES = "DPERM_MUTANT_LINES"
FIXTURES = {"assert_killed", "record_property"}
TRIED, KILLED = "mutant tried", "mutant killed"
HARMLESS = "test_the_assertions_look_at_the_module_that_they_are_given"
"""Test of the assertions with a mutant that must survive."""


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out all tests that have no mutants."""
    chosen = [item for item in items if FIXTURES & set(item.fixturenames) and item.name != HARMLESS]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_runtest_logreport(report: Any) -> None:
    """Write the mutants of a test to the file; with xdist, in the process that has all reports."""
    if report.when != "call" or "PYTEST_XDIST_WORKER" in os.environ:
        return
    with open(os.environ[LINES], "a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines(report.nodeid, report.user_properties))


def lines(test: str, properties: Iterable[tuple[str, Any]]) -> list[str]:
    """The mutants of one test."""
    found = [(name, tuple(mutant)) for name, mutant in properties if name in (TRIED, KILLED)]
    killed = {mutant for name, mutant in found if name == KILLED}
    return [line("killed" if mutant in killed else "survived", mutant, test) for name, mutant in found if name == TRIED]


def line(result: str, mutant: tuple[str, str, str], test: str) -> str:
    """Result, module, source text before and after, and the test without its parameters."""
    module, old, new = mutant
    change = f"{json.dumps(old, ensure_ascii=False)} -> {json.dumps(new, ensure_ascii=False)}"
    return f"{result} {module}: {change} [{test.partition('[')[0]}]"


def mutant_lines(arguments: list[str]) -> list[str]:
    """Run the tests of the mutants and return the sorted list."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines"
        file.touch()
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, LINES: str(file), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        options = ["-m", "pytest", "-p", "mutant_kills", "-q", "-m", "slow or not slow", *arguments]
        subprocess.run([sys.executable, *options], cwd=ROOT, env=environment, stdout=sys.stderr, check=False)
        return sorted(set(file.read_text(encoding="utf-8").splitlines()))


def killed_mutants(found: Iterable[str]) -> set[str]:
    """The killed mutants of a list, whichever test kills them."""
    return {one.rpartition(" [")[0] for one in found if one.startswith("killed ")}


def main() -> int:
    """Print the list; 1 if a mutant survives, or is in the other list only."""
    parser = argparse.ArgumentParser(description="List the mutants of the test suite and whether they are killed.")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="list whose killed mutants must still be killed")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    arguments = parser.parse_args()
    found = mutant_lines(arguments.pytest)
    print("\n".join(found))
    wrong = [one for one in found if not one.startswith("killed ")]
    if arguments.compare:
        before = killed_mutants(arguments.compare.read_text(encoding="utf-8").splitlines())
        wrong += [f"no longer killed: {one}" for one in sorted(before - killed_mutants(found))]
    print("\n".join([f"{len(found)} mutants", *wrong]), file=sys.stderr)
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
