# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tests on the package with one line changed, in a process of their own."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from mutant_log import Recorder, logged_mutant
from warm_python import libraries

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PLAIN = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
CHANGED = f"import sys, package_mutants; package_mutants.change_source(*sys.argv[1:4]); del sys.argv[1:4]; {PLAIN}"


@dataclass(frozen=True)
class Mutant:
    """One line of one file, what it becomes, and the test that fails."""

    name: str
    file: str
    old: str
    new: str
    killer: str

    @property
    def module(self) -> str:
        return "dperm." + self.file.removesuffix(".py").replace("/", ".")


@dataclass(frozen=True)
class ChangedSource:
    """Import one module with its source changed."""

    module: str
    old: str
    new: str

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        file = SOURCE / f"{name.replace('.', '/')}.py"
        loader = ChangedLoader(name, str(file), file.read_text(encoding="utf-8").replace(self.old, self.new))
        return importlib.util.spec_from_file_location(name, file, loader=loader)


class ChangedLoader(SourceFileLoader):
    """Compile another text than that of the file, and prove it with an attribute of the module."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = f"{text}\n__changed_source__ = True\n"

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


def change_source(module: str, old: str, new: str) -> None:
    """Import ``module`` with ``old`` replaced from now on, and check that it was not imported before."""
    assert not any(name.partition(".")[0] == "dperm" for name in sys.modules)
    sys.meta_path.insert(0, ChangedSource(module, old, new))
    assert importlib.import_module(module).__changed_source__


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the repository."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(Path(__file__).parent)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return libraries().run(code, arguments, cwd=ROOT, environment=environment)


def pytest_on(*nodes: str, mutant: Mutant | None = None) -> subprocess.CompletedProcess[str]:
    """These tests, in the changed package if there is a mutant."""
    change = () if mutant is None else (mutant.module, mutant.old, mutant.new)
    options = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *nodes)
    return run(CHANGED if change else PLAIN, *change, *options)


def assert_passes_unchanged(mutants: list[Mutant]) -> None:
    """The killers pass in the package as it is, and where a module is imported in the way mutants are."""
    killers = sorted({mutant.killer for mutant in mutants})
    result = pytest_on(*killers)
    assert result.returncode == 0, result.stdout + result.stderr
    first = mutants[0]
    harmless = Mutant("harmless", first.file, first.old, first.old, first.killer)
    result = pytest_on(first.killer, mutant=harmless)
    assert result.returncode == 0, result.stdout + result.stderr


def assert_killed_by_its_test(mutant: Mutant, record_property: Recorder) -> None:
    """The test that belongs to a mutant fails on it, and nothing else goes wrong."""
    text = (SOURCE / "dperm" / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, "the mutant no longer fits the source"
    with logged_mutant(record_property, mutant.module, mutant.old, mutant.new):
        result = pytest_on(mutant.killer, mutant=mutant)
        assert result.returncode == 1, f"{mutant.name} survived or broke the import:\n{result.stdout[-2000:]}"
        assert "1 failed" in result.stdout
