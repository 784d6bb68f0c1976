# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The command itself: help that runs, speed, exit codes, streams."""

import os
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dperm.cli import account, app, calibrate, explain, running

HELPS = {"dperm": app.HELP, "account": account.HELP, "calibrate": calibrate.HELP, "explain": explain.HELP}
EXAMPLES = sorted({line for text in HELPS.values() for line in re.findall(r"^  dperm (.*)$", text, re.MULTILINE)})
ENTRY = "from dperm.cli import main; main()"


def process(*arguments, code=ENTRY):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_in_the_help_runs(dperm, line):
    result = dperm(line)
    assert result.exit_code == 0, result.output
    assert result.stdout
    assert result.stderr == ""


def test_every_help_has_examples():
    for text in HELPS.values():
        assert text.count("  dperm ") == 3


@pytest.mark.parametrize("verb", ["account", "calibrate", "explain"])
def test_help_shows_the_examples_unbroken(dperm, verb):
    out = dperm(f"{verb} --help").stdout
    for line in re.findall(r"^  dperm .*$", HELPS[verb], re.MULTILINE):
        assert f"  {line}\n" in out


def test_the_command_alone_shows_its_help(dperm):
    alone = dperm("")
    assert alone.exit_code == 0
    assert alone.stdout.strip() == dperm("--help").stdout.strip()
    for verb in ("account", "calibrate", "explain"):
        assert f"\n  {verb} " in alone.stdout


def test_the_version_is_that_of_the_package(dperm):
    import dperm as package

    assert dperm("--version").stdout == f"dperm {package.__version__}\n"


def test_an_unknown_verb_is_refused(refused):
    assert "acount" in refused("acount")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["account", "--help"]])
def test_help_imports_neither_numpy_nor_scipy(arguments):
    code = (
        "import atexit, sys\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'torch', 'pandas', 'dperm.accounting', 'dperm.privacy'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        f"{ENTRY}"
    )
    done = process(*arguments, code=code)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"


def test_importing_the_command_line_imports_not_even_typer():
    done = process(code="import sys, dperm.cli; print('typer' in sys.modules, 'numpy' in sys.modules)")
    assert done.stdout == "False False\n"


def test_help_takes_less_than_half_a_second_of_cpu():
    best = min(cpu_seconds("--help") for _ in range(3))
    assert best < 0.5


def cpu_seconds(*arguments):
    """User and system time of one run, interpreter included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process(*arguments).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_the_installed_command_answers_on_stdout_and_exits_with_zero():
    done = process(*shlex.split("account --adjacency add_remove --delta 1e-5 'gaussian(4)'"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "epsilon at most" in done.stdout


def test_the_installed_command_refuses_on_stderr_and_exits_with_two():
    done = process(*shlex.split("account --adjacency add_remove --delta 1e-5"), "__import__('os').system('echo owned')")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "dperm", "account", "--adjacency", "add_remove", "--delta", "1e-5", "gaussian(4)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "epsilon at most" in done.stdout


@pytest.mark.parametrize("verb", ["account", "calibrate", "explain"])
def test_help_says_that_the_adjacency_is_required(dperm, verb):
    said = " ".join(dperm(f"{verb} --help").stdout.split())
    assert re.search(r"--adjacency add_remove\|replace_one [^\[]*\[required\]", said)


def test_a_terminal_that_knows_only_ascii_gets_the_numbers():
    code = f"import sys; sys.stdout.reconfigure(encoding='ascii')\n{ENTRY}"
    done = process(*shlex.split("explain --adjacency add_remove --mu 1"), code=code)
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_no_spinner_is_shown_if_stderr_is_not_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(running, "_PATIENCE", 0.0)
    with running.spinner("Waiting ..."):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_spinner_is_shown_on_a_terminal_only_after_a_while():
    code = (
        "import time\n"
        "from dperm.cli import running\n"
        "running._PATIENCE = 0.3\n"
        "with running.spinner('Quick ...'): pass\n"
        "with running.spinner('Waiting ...'): time.sleep(1.0)\n"
    )
    seen = on_a_terminal(code)
    assert "Waiting ..." in seen
    assert "Quick ..." not in seen


def on_a_terminal(code):
    """What a program writes to a stderr that is a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", code], stderr=theirs, stdout=subprocess.PIPE, env=environment, check=True
    )
    os.close(theirs)
    seen = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.stdout == b""
    return seen


PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def test_the_commands_of_the_page_that_write_files_run(tmp_path, monkeypatch, dperm):
    monkeypatch.chdir(tmp_path)
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    assert lines
    for line in lines:
        result = dperm(line.removeprefix("dperm "))
        assert result.exit_code == 0, result.output


def test_the_errors_on_the_page_are_those_of_the_command(refused):
    errors = re.findall(r"^```text\n\$ dperm (.*?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert errors
    for line, said in errors:
        assert refused(line) == said
