# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The command itself: help that runs, speed, exit codes, streams."""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from warm_python import package

from dperm.cli import (
    account,
    app,
    audit,
    calibrate,
    completion,
    demo,
    evaluate,
    explain,
    fit,
    ledger,
    plan,
    predict,
    report,
    reproduce,
    running,
    schema,
    search,
)

HELPS = {
    "dperm": app.HELP,
    "account": account.HELP,
    "audit": audit.HELP,
    "calibrate": calibrate.HELP,
    "completion": completion.HELP,
    "demo": demo.HELP,
    "evaluate": evaluate.HELP,
    "explain": explain.HELP,
    "fit": fit.HELP,
    "ledger": ledger.HELP,
    "plan": plan.HELP,
    **plan.HELPS,
    "predict": predict.HELP,
    "report": report.HELP,
    "reproduce": reproduce.HELP,
    "schema": schema.HELP,
    "schema draft": schema.DRAFT_HELP,
    "schema check": schema.CHECK_HELP,
    "schema fit": schema.FIT_HELP,
    "search": search.HELP,
}
VERBS = sorted(HELPS.keys() - {"dperm"})
EXAMPLES = sorted(
    {line for text in HELPS.values() for line in re.findall(r"^  dperm (.*)$", text, re.MULTILINE)}
    - set(re.findall(r"^  dperm (.*)$", demo.HELP, re.MULTILINE))  # tests/packaging/test_demo.py runs one of them
)
ENTRY = "from dperm.cli import main; main()"


def process(*arguments, code=ENTRY):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def stocked(desk, ends):
    """What the examples work on: data, schema, fields, a ledger of theirs, and a model but for those that make one."""

    def stocked(line):
        if not line.startswith("ledger open"):
            opening = "--dataset 'census 2026' --adjacency replace_one --epsilon 3 --delta 1e-5 --blocks 10"
            ends(0, f"ledger open census.ledger {opening} --data data.csv")
        if line.startswith(("evaluate", "predict", "report")):
            ends(0, "fit data.csv --epsilon 1 --schema schema.toml")
        if "--audit" in line:
            ends(0, "audit model model.dperm --out audit.json --runs 1000 --seed 1")

    return stocked


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_in_the_help_runs(stocked, dperm, line):
    stocked(line)
    result = dperm(line)
    assert result.exit_code == 0, result.output
    assert result.stdout
    expected = "Warning: this fit is NOT PRIVATE" if "--not-private" in line else ""
    if line.startswith("fit") and "--holdout" in line:  # of 1,500 records
        expected = "Warning: The metrics come from about 150 records"
    assert result.stderr == "" if not expected else result.stderr.startswith(expected)


def test_every_help_has_examples():
    for text in HELPS.values():
        assert text.count("  dperm ") == 3


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_the_examples_unbroken(dperm, verb):
    out = dperm(f"{verb} --help").stdout
    for line in re.findall(r"^  dperm .*$", HELPS[verb], re.MULTILINE):
        assert f"  {line}\n" in out


def test_the_command_alone_shows_its_help(dperm):
    alone = dperm("")
    assert alone.exit_code == 0
    assert alone.stdout.strip() == dperm("--help").stdout.strip()
    for verb in VERBS:
        assert f"\n  {verb.partition(' ')[0]} " in alone.stdout


def test_the_version_is_that_of_the_package(dperm):
    import dperm as package

    assert dperm("--version").stdout == f"dperm {package.__version__}\n"


def test_an_unknown_verb_is_refused(refused):
    assert "acount" in refused("acount")


LIGHT = [["--help"], ["--version"], [], *([*verb.split(), "--help"] for verb in VERBS)]


def test_help_imports_neither_numpy_nor_scipy():
    """One process for all of them: a module that one imports is named with the first that imported it."""
    heavy = {"numpy", "scipy", "sklearn", "torch", "pandas", "dperm.accounting", "dperm.privacy"}
    assert heavy_modules(heavy, LIGHT) == [[words, 0, []] for words in LIGHT]


def heavy_modules(heavy, lines):
    """Run the command with each of these arguments: arguments, exit code, and which heavy modules are imported."""
    code = (
        "import contextlib, io, json, sys\n"
        "from dperm.cli import main\n"
        f"heavy, lines, found = {heavy!r}, {lines!r}, []\n"
        "for words in lines:\n"
        "    sys.argv[1:] = words\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as said:\n"
        "        try: main()\n"
        "        except SystemExit as end: code = end.code or 0\n"
        "    assert said.getvalue()\n"
        "    found.append([words, code, sorted(heavy & set(sys.modules))])\n"
        "print(json.dumps(found))\n"
    )
    done = process(code=code)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


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


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (0, "fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger"),
        (2, "fit missing.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger"),
        (3, "fit data.csv --target income --epsilon 9 --schema schema.toml --ledger census.ledger"),
        (4, "fit data.csv --target income --epsilon 1 --ledger census.ledger"),
    ],
)
def test_the_installed_command_exits_with_the_code_that_is_promised(stocked, code, line):
    stocked(line)
    done = package().run(ENTRY, shlex.split(line), cwd=Path.cwd(), environment=os.environ)
    assert done.returncode == code, done.stderr
    assert (done.stdout == "") is (code != 0) and "Traceback" not in done.stderr and "SECRET" not in done.stderr
    assert Path("model.dperm").exists() is (code == 0)


@pytest.mark.parametrize("sign", ["\x01", "\x02epsilon\x1f99\x03", "\x1b[31m", "\r", "\x7f", "\x9b31m"], ids=ascii)
@pytest.mark.parametrize("option", [False, True], ids=["file", "option"])
def test_control_characters_in_arguments_are_refused_and_not_repeated(sign, option, tmp_path):
    name = str(tmp_path / f"a{sign}.csv")
    Path(name).write_text("x\n", encoding="utf-8")
    done = process("fit", *(("data.csv", f"--schema={name}") if option else (name,)), "--epsilon", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"argument {3 if option else 2} of the command line must not contain control characters" in done.stderr
    assert done.stderr.rstrip("\n").isprintable() and "epsilon" not in done.stderr


def test_events_may_have_tabs_and_line_feeds_and_names_may_have_any_letter():
    done = process("account", "--adjacency", "add_remove", "--delta", "1e-5", "gaussian(4)\n\t* 2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "d\xe9j\xe0 \u6570.csv" in process("schema", "draft", "d\xe9j\xe0 \u6570.csv").stderr


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


def test_a_bar_is_shown_on_a_terminal_only_after_a_while_and_says_a_share_only(monkeypatch, capsys):
    code = (
        "import time\n"
        "from dperm.cli import running\n"
        "running._PATIENCE = 0.2\n"
        "with running.progress_bar('Quick') as tell: tell(0.9)\n"
        "with running.progress_bar('Reading') as tell:\n"
        "    time.sleep(0.3); tell(0.25); time.sleep(0.5)\n"
    )
    seen = on_a_terminal(code)
    assert "Reading" in seen and "25 %" in seen and "Quick" not in seen
    monkeypatch.setattr(running, "_PATIENCE", 0.0)
    with running.progress_bar("Reading") as tell:
        tell(0.5)
    assert capsys.readouterr() == ("", "")


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


def test_the_schemas_on_the_pages_are_schemas(desk):
    from dperm.data.schema import Schema

    for name in ("cli.md", "schema.md"):
        page = (Path(__file__).parents[2] / "docs" / name).read_text(encoding="utf-8")
        (text,) = re.findall(r"^```toml(?: schema.toml)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        schema = Schema.from_toml(text)
        assert schema.target is not None
        assert name != "cli.md" or schema == Schema.load(Path("schema.toml"))
