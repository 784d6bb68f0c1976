# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Forked programs behave as programs of a new interpreter do, and the list of mutants has no survivor."""

import os
from pathlib import Path

import pytest
from warm_python import WarmPython

ENDS = {
    "returns": ("print('said')", 0, "said\n", ""),
    "exits": ("import sys; sys.exit(3)", 3, "", ""),
    "exits with words": ("import sys; sys.exit('why')", 1, "", "why\n"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", -9, "", ""),
    "takes too long": ("import time; time.sleep(60)", -14, "", ""),
    "says goodbye": ("import atexit; atexit.register(print, 'goodbye')", 0, "goodbye\n", ""),
}


@pytest.fixture(scope="module")
def warm():
    server = WarmPython(["json", "no.such.module"])
    yield server
    server.close()


@pytest.mark.parametrize(("code", "exit_code", "out", "err"), ENDS.values(), ids=ENDS)
def test_a_program_ends_as_one_of_its_own_does(warm, tmp_path, code, exit_code, out, err):
    done = warm.run(code, [], cwd=tmp_path, environment=os.environ, timeout=1)
    assert (done.returncode, done.stdout, done.stderr) == (exit_code, out, err)


def test_an_error_has_its_traceback_and_exit_code(warm, tmp_path):
    done = warm.run("1 / 0", [], cwd=tmp_path, environment=os.environ)
    assert done.returncode == 1 and done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_programs_have_their_own_arguments_folder_environment_and_memory(warm, tmp_path):
    (tmp_path / "mine.py").write_text("NAME = 'mine'")
    code = (
        "import json, os, sys, mine\n"
        "print([sys.argv[1:], os.getcwd(), os.environ.get('A'), mine.NAME, hasattr(json, 'mark')]); json.mark = 1"
    )
    environment = {**os.environ, "A": "b", "PYTHONPATH": str(tmp_path)}
    for _ in range(2):
        done = warm.run(code, ["x", "y z"], cwd=tmp_path, environment=environment)
        assert done.stdout == f"{[['x', 'y z'], str(tmp_path), 'b', 'mine', False]}\n", done.stderr


def test_every_mutant_of_the_list_is_killed():
    """``tools/mutant_kills.py`` writes the list."""
    lines = (Path(__file__).parent / "mutants" / "kills.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines)) and len(lines) > 600
    assert all(line.startswith("killed dperm.") for line in lines)
