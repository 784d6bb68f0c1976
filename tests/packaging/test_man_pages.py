# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Manual pages: one for each verb, complete, and correct troff."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from dperm.cli.app import app

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools/man_pages.py"))


@pytest.fixture(scope="module")
def pages():
    return TOOL["pages"]()


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def commands(command, words=("dperm",)):
    """Every command with the words that call it."""
    found = {"-".join(words): command}
    for name, verb in getattr(command, "commands", {}).items():
        if not verb.hidden:
            found |= commands(verb, (*words, name))
    return found


def test_every_verb_has_a_page(pages):
    assert pages.keys() == {f"{name}.1" for name in commands(get_command(app))}
    assert {"dperm.1", "dperm-fit.1", "dperm-ledger-open.1"} <= pages.keys()


def test_every_visible_option_is_on_the_page_of_its_verb(pages):
    seen = 0
    for name, command in commands(get_command(app)).items():
        plain = pages[f"{name}.1"].replace("\\-", "-")
        for param in command.params:
            if param.param_type_name == "option" and not param.hidden:
                seen += 1
                assert any(re.search(rf"^\.B .*{re.escape(option)}\b", plain, re.MULTILINE) for option in param.opts)
    assert seen > 100


def test_pages_name_the_version_and_date_of_the_changelog(pages):
    version, date = TOOL["release"]()
    assert f"## [{version}] - {date}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert all(f'1 {date} "dperm {version}"' in text.splitlines()[0] for text in pages.values())


@pytest.mark.parametrize(
    ("line", "written"),
    [(".TH is text", "\\&.TH is text"), ("'quoted'", "\\&'quoted'"), ("--json", "\\-\\-json"), ("a\\b", "a\\eb")],
)
def test_text_cannot_become_a_troff_command(line, written):
    assert TOOL["_escaped"](line) == written


def test_mandoc_finds_no_fault(files):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    command = ["mandoc", "-T", "lint", "-W", "warning", *sorted(map(str, files.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_man_shows_a_page_with_its_options_and_unbroken_examples(files):
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    command = ["man", "--warnings=w", "-l", str(files / "dperm-account.1")]
    environment = {"PATH": "/usr/bin:/bin", "MANWIDTH": "120", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    shown = re.sub(".\b", "", done.stdout)
    if "minimized" in shown:
        pytest.skip("this system has no manual pages")
    assert (done.returncode, done.stderr) == (0, "")
    assert "dperm account [OPTIONS] [EVENT]..." in shown
    assert "--adjacency add_remove|replace_one" in shown
    examples = re.findall(r"^  (dperm account .*)$", get_command(app).commands["account"].help, re.MULTILINE)
    assert len(examples) == 3
    assert all(example in shown for example in examples)
