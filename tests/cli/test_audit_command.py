# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit`` as a user types it: help that runs, light imports, exit codes of real processes."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from warm_python import package

from dperm.cli.audit import (
    HELP,
    bugs,
    demo,
    exact,
    guesses,
    membership,
    method,
    model,
    one_run,
    rates,
    scores,
)

HELPS = {
    "": HELP,
    "bugs": bugs.HELP,
    "demo": demo.HELP,
    "exact": exact.HELP,
    "guesses": guesses.HELP,
    "membership": membership.HELP,
    "method": method.HELP,
    "model": model.HELP,
    "one-run": one_run.HELP,
    "rates": rates.HELP,
    "scores": scores.HELP,
}
ENTRY = "from dperm.cli import main; main()"


def examples(text):
    return re.findall(r"^  dperm (.*)$", text.replace("\\\n", " "), re.MULTILINE)


QUICK = sorted({line for verb, text in HELPS.items() if verb != "demo" for line in examples(text)})


def write_scores(path, count=400, shift=1.0):
    generator = np.random.default_rng(0)
    rows = [f"{generator.normal() + shift * (place % 2)},{place % 2}" for place in range(count)]
    path.write_text("score,member\n" + "\n".join(rows))


@pytest.fixture
def stocked(desk, ends):
    write_scores(desk / "scores.csv")
    ends(0, "fit data.csv --epsilon 1 --schema schema.toml")
    return desk


@pytest.mark.parametrize("line", QUICK)
def test_every_example_in_the_help_runs(stocked, dperm, line):
    result = dperm(line)
    assert result.exit_code == 0, result.output
    assert result.stdout and result.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("line", examples(demo.HELP))
def test_every_example_of_the_demo_runs(stocked, dperm, line):
    assert dperm(line).exit_code == 0


@pytest.mark.parametrize("verb", HELPS)
def test_every_help_has_three_examples_and_shows_them_unbroken(dperm, verb):
    out = dperm(f"audit {verb} --help").stdout
    lines = re.findall(r"^  dperm .*$", HELPS[verb], re.MULTILINE)
    assert len(lines) == 3 and all(f"  {line}\n" in out for line in lines)


def test_audit_alone_shows_its_help(dperm):
    assert dperm("audit").stdout.strip() == dperm("audit --help").stdout.strip()


def test_help_imports_nothing_heavy():
    """One process for all verbs: the first that imports a heavy module ends it."""
    heavy = {"numpy", "scipy", "sklearn", "torch", "matplotlib", "dperm.privacy", "dperm.audit", "dperm.noise"}
    code = (
        "import sys\n"
        "from dperm.cli import main\n"
        f"for verb in {list(HELPS)!r}:\n"
        "    sys.argv[1:] = ['audit', *verb.split(), '--help']\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code, verb\n"
        f"    assert not {heavy!r} & set(sys.modules), verb\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage: ") == len(HELPS)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (0, "audit exact --jmlr --epsilon 0.1"),
        (5, "audit exact --printed --epsilon 0.1"),
        (2, "audit exact --printed --jmlr"),
    ],
)
def test_a_process_ends_with_the_code_that_is_promised(code, line):
    done = package().run(ENTRY, shlex.split(line), cwd=Path.cwd(), environment=os.environ)
    assert done.returncode == code, done.stderr
    assert ("VIOLATION" in done.stdout) is (code == 5) and (done.stdout == "") is (code == 2)
