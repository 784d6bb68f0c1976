# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Names of dperm that pages write between backquotes exist: modules, functions, verbs of the command line, bugs."""

import importlib
import re
import shlex

import pytest
from doc_pages import PAGES, code

from dperm.audit.bugs import BUGS

DOTTED = re.compile(r"dperm(?:\.\w+)+")
FILES = {".dperm", ".py", ".toml", ".json"}


def dotted() -> set[str]:
    found = {name for page in PAGES for text in code(page) for name in DOTTED.findall(text)}
    return {name for name in found if name != "dperm.fish"}  # a completion script


def commands() -> set[str]:
    return {text for page in PAGES for text in code(page) if text.startswith("dperm ")}


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def verbs() -> dict[str, object]:
    from typer.main import get_command

    from dperm.cli.app import app

    return dict(get_command(app).commands)


def known(command: str) -> bool:
    """Whether the verb exists, and its own verb if it has some."""
    words = [word for word in shlex.split(command)[1:] if not word.startswith("-")]
    if not words:
        return True
    verb = verbs().get(words[0].rstrip(","))
    below = getattr(verb, "commands", None)
    return verb is not None and (not below or len(words) < 2 or not words[1].islower() or words[1] in below)


@pytest.mark.parametrize("name", sorted(dotted()))
def test_a_dotted_name_exists(name):
    assert resolves(name)


@pytest.mark.parametrize("command", sorted(commands()))
def test_a_verb_of_the_command_line_exists(command):
    if "..." not in command and "VERB" not in command:
        assert known(command)


def test_bugs_that_pages_name_exist():
    named = {name for command in commands() for name in re.findall(r'--only "([^"]+)"', command)}
    assert "missing determinant" in named
    assert named <= {bug.name for bug in BUGS}


def test_a_name_that_does_not_exist_is_found():
    assert not resolves("dperm.no_such_module")
    assert not resolves("dperm.theory.no_such_function")
    assert not known("dperm no-such-verb")
    assert not known("dperm audit no-such-verb")
