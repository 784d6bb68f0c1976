# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Completion scripts in real shells. A shell that is not installed is skipped."""

import os
import select
import shutil
import subprocess
import sys
import time

import pytest

LAUNCHER = f"""#!{sys.executable}
import sys
sys.argv[0] = "dperm"
from dperm.cli import main
main()
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """An environment with the command ``dperm`` first on the path, and a folder with two files."""
    (tmp_path / "bin").mkdir()
    launcher = tmp_path / "bin" / "dperm"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "data.csv").touch()
    (tmp_path / "desk" / "schema.toml").touch()
    monkeypatch.setenv("PATH", f"{launcher.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(tmp_path / "desk")
    return tmp_path / "desk"


def require(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


BASH = """
source <(dperm completion bash)
for line in "dperm pre" "dperm ledger o" "dperm fit --eps" "dperm account --adjacency a" "dperm fit da"
do
    read -ra COMP_WORDS <<< "$line"
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    COMPREPLY=()
    _dperm_completion dperm "${COMP_WORDS[COMP_CWORD]}"
    echo "${COMPREPLY[*]}"
done
complete -p dperm
"""


def test_bash_completes_verbs_options_and_values_and_leaves_files_to_readline(desk):
    require("bash")
    *answers, registered = output_of("bash", "--norc", "-c", BASH).splitlines()
    assert answers == ["predict", "open", "--epsilon", "add_remove", ""]
    assert "-o default" in registered  # without an answer, readline completes files


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dperm pre", ["predict"]),
        ("dperm ledger o", ["open"]),
        ("dperm fit --eps", ["--epsilon"]),
        ("dperm account --adjacency a", ["add_remove"]),
        ("dperm fit da", ["data.csv"]),
    ],
)
@pytest.mark.slow
def test_fish_completes(desk, line, expected):
    require("fish")
    (desk / "dperm.fish").write_text(output_of("dperm", "completion", "fish"))
    out = output_of("fish", "--no-config", "-c", f"source dperm.fish; complete -C '{line}'")
    assert [entry.partition("\t")[0] for entry in out.splitlines() if entry] == expected


@pytest.mark.parametrize(
    ("keys", "completed"),
    [
        ("dperm pre", "dperm predict "),
        ("dperm ledger o", "dperm ledger open "),
        ("dperm fit --eps", "dperm fit --epsilon "),
        ("dperm account --adjacency a", "dperm account --adjacency add_remove "),
        ("dperm fit da", "dperm fit data.csv "),
    ],
)
@pytest.mark.slow
def test_the_tab_key_in_zsh_and_bash_completes(desk, keys, completed):
    """A terminal with a person: start a shell, source the script, type, press Tab, and read the line."""
    require("zsh")
    start = "autoload -Uz compinit; compinit -u -D; "
    assert completed in typed(["zsh", "-f", "-i"], f"{start}source <(dperm completion zsh)", keys, completed)
    assert completed in typed(["bash", "--norc", "-i"], "source <(dperm completion bash)", keys, completed)


def typed(shell, setup, keys, awaited):
    """Output of an interactive shell on a terminal after ``keys`` and Tab."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(shell, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        os.write(ours, f"{setup}; echo REA''DY\n".encode())
        assert "READY" in read_until(ours, "READY\r\n")
        os.write(ours, f"{keys}\t".encode())
        return read_until(ours, awaited)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal, awaited, patience=30.0):
    """Read until a text appears, or patience ends."""
    seen, end = b"", time.monotonic() + patience
    while awaited.encode() not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)
    return seen.decode(errors="replace")


def test_an_unknown_shell_is_refused(desk):
    done = subprocess.run(["dperm", "completion", "csh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'csh'" in done.stderr and "bash" in done.stderr
