# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger`` as a user types it: help that runs, processes, terminals, servers."""

import fcntl
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from warm_python import package

from dperm.cli.ledger import HELP, approve, open, show, verify
from dperm.ledger import Ledger

HELPS = {"": HELP, "open": open.HELP, "show": show.HELP, "verify": verify.HELP, "approve": approve.HELP}
ENTRY = "from dperm.cli import main; main()"
OPEN = "ledger open census.ledger --dataset 'census 2026' --adjacency replace_one --epsilon 3 --delta 1e-6 --blocks 10"
URL = "postgresql://joe:hunter2@127.0.0.1:1/census"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def examples(text):
    """The command lines of a help, each on one line."""
    return re.findall(r"^  dperm (.*)$", text.replace("\\\n", " "), re.MULTILINE)


def process(line, code=ENTRY):
    return package().run(code, shlex.split(line), cwd=Path.cwd(), environment=os.environ)


def test_every_example_in_the_help_runs_one_after_the_other(dperm, tmp_path):
    """Opening first; the model of the example was charged to the account."""
    ran = 0
    for verb in ("open", "approve", "show", "verify"):
        if verb == "show":
            (tmp_path / "anchor.json").unlink()  # of the last example of open
        for line in examples(HELPS[verb]):
            if "--model" in line:
                (tmp_path / "model.dperm").write_text(json.dumps({"ledger": receipt()}))
            result = dperm(line)
            assert result.exit_code == 0, (line, result.output)
            assert result.stdout
            ran += 1
    assert ran == 12


def receipt():
    from dperm import Pure

    reservation = Ledger("census.ledger", "main").reserve(Pure(0.25, "replace_one"))
    reservation.commit("sha256:00")
    return dict(reservation.receipt)


def test_the_examples_of_the_whole_run(dperm):
    for line in examples(HELP):
        assert dperm(line).exit_code == 0
    assert len(examples(HELP)) == 3


@pytest.mark.parametrize("verb", HELPS)
def test_help_shows_the_examples_unbroken(dperm, verb):
    out = dperm(f"ledger {verb} --help").stdout
    for line in HELPS[verb].partition("Examples:\n")[2].partition("\n\n")[0].splitlines():
        assert f"  {line}\n" in out


def test_the_command_alone_shows_its_help(dperm):
    alone = dperm("ledger")
    assert alone.exit_code == 0
    assert alone.stdout.strip() == dperm("ledger --help").stdout.strip()
    for verb in ("open", "show", "verify", "approve"):
        assert f"\n  {verb} " in alone.stdout


@pytest.mark.parametrize("line", ["ledger --help", "ledger open --help", "ledger verify --help"])
def test_help_imports_neither_numpy_nor_the_ledger(line):
    code = (
        "import atexit, sys\n"
        "heavy = {'numpy', 'scipy', 'sqlite3', 'cryptography', 'dperm.accounting', 'dperm.privacy', 'dperm.ledger'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        f"{ENTRY}"
    )
    words = [sys.executable, "-c", code, *shlex.split(line)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_a_life_of_a_ledger_in_processes(tmp_path):
    done = process(f"{OPEN} --write-anchor anchor.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert process(OPEN).returncode == 3
    done = process("ledger approve census.ledger --epsilon 4 --by A --reason b --yes")
    assert (done.returncode, done.stderr) == (0, "")
    done = process("ledger show census.ledger --entries --json")
    assert [entry["kind"] for entry in json.loads(done.stdout)["accounts"][0]["entries"]] == ["open", "limit"]
    assert process("ledger verify census.ledger --anchor anchor.json").returncode == 0
    for file in tmp_path.glob("census.ledger*"):
        file.unlink()
    assert process(OPEN).returncode == 0  # the budget is there again, for whoever does not look at the anchor
    done = process("ledger verify census.ledger --anchor anchor.json")
    assert done.returncode == 5
    assert "of another ledger" in done.stdout
    assert "Traceback" not in done.stderr


def on_a_terminal(line, typed="", interrupted_at=None):
    """What is seen on a terminal of 80 columns, and the exit code; Ctrl-C once a text is seen."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    environment.pop("COLUMNS", None)
    words = [sys.executable, "-c", ENTRY, *shlex.split(line)]
    running = subprocess.Popen(words, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed.encode())
    seen = b""
    with suppress(OSError):  # the end, on Linux
        while part := os.read(ours, 65536):
            seen += part
            if interrupted_at is not None and interrupted_at.encode() in seen:
                running.send_signal(signal.SIGINT)
                again = threading.Timer(5.0, running.send_signal, [signal.SIGINT])  # one before the read is not seen
                again.daemon = True
                again.start()
                interrupted_at = None
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).replace("\r\n", "\n"), running.wait()


def test_a_terminal_of_80_columns_is_enough_and_shows_a_bar(dperm):
    from dperm import Gaussian

    dperm(OPEN)
    Ledger("census.ledger").reserve(Gaussian(20.0) * 10).burn("a test of a reason that is rather long, for a line")
    seen, code = on_a_terminal("ledger show census.ledger --entries")
    assert code == 0
    assert max(map(len, seen.splitlines())) <= 80
    assert re.search(r"\d+ % █+░+", seen)
    assert "█" not in dperm("ledger show census.ledger").stdout


CHANGE = "ledger approve census.ledger --epsilon 4 --by A --reason b"


@pytest.mark.parametrize(
    ("typed", "code", "epsilon"),
    [("y\n", 0, 4.0), ("n\n", 2, 3.0), ("\n", 2, 3.0), ("\x04", 2, 3.0)],
    ids=["yes", "no", "nothing", "end of input"],
)
def test_a_change_of_the_limit_asks_on_a_terminal(dperm, typed, code, epsilon):
    dperm(OPEN)
    seen, found = on_a_terminal(CHANGE, typed)
    assert found == code
    assert "no longer holds" in seen
    assert "Change the limit? [y/N]" in seen
    assert ("Nothing was changed." in seen) == (code == 2)
    assert Ledger("census.ledger").limit.epsilon == epsilon


def test_ctrl_c_at_the_question_changes_nothing(dperm):
    dperm(OPEN)
    seen, code = on_a_terminal(CHANGE, interrupted_at="[y/N]")
    assert code == 130
    assert "Interrupted.\nNothing was changed." in seen
    assert Ledger("census.ledger").limit.epsilon == 3.0


def test_a_terminal_that_knows_only_ascii_gets_the_table(dperm):
    dperm(OPEN)
    code = f"import sys; sys.stdout.reconfigure(encoding='ascii'); sys.stdout.isatty = lambda: True\n{ENTRY}"
    done = process("ledger show census.ledger", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.parametrize("verb", ["show", "verify", "approve --by A --reason b --request c"])
@pytest.mark.parametrize("url", [URL, "postgresql://joe@127.0.0.1:1/census?password=hunter2"], ids=["user", "query"])
def test_a_server_that_does_not_answer_is_reported_without_the_password(dperm, verb, url):
    pytest.importorskip("psycopg")
    verb, *rest = verb.split(" ", 1)
    result = dperm(f"ledger {verb} {url} {' '.join(rest)}")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "127.0.0.1" in result.stderr
    assert "hunter2" not in result.stderr
    assert "Traceback" not in result.stderr


def test_nothing_is_opened_on_a_server_that_does_not_answer(dperm):
    pytest.importorskip("psycopg")
    result = dperm(OPEN.replace("census.ledger", URL))
    assert (result.exit_code, result.stdout) == (3, "")
    assert "hunter2" not in result.stderr


def test_the_verbs_work_on_a_server(dperm, answered):
    postgres = pytest.importorskip("postgres")
    url = postgres.shared().database()
    opened = answered(OPEN.replace("census.ledger", url), "--write-anchor", "anchor.json")
    assert opened["limit"]["epsilon"] == 3.0
    assert dperm(f"ledger approve {url} --epsilon 4 --by A --reason b --yes").exit_code == 0
    (account,) = answered(f"ledger show {url} --entries")["accounts"]
    assert [entry["kind"] for entry in account["entries"]] == ["open", "limit"]
    assert answered(f"ledger verify {url} --anchor anchor.json")["anchors"] == 1
