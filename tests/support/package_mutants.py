# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tests on a copy of the package with one line changed, in a process of their own."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dperm"


@dataclass(frozen=True)
class Mutant:
    """One line of one file, what it becomes, and the test that fails."""

    name: str
    file: str
    old: str
    new: str
    killer: str


def copy_of_the_package(target: Path) -> Path:
    shutil.copytree(SOURCE, target / "dperm")
    return target


def run(arguments: list[str], package: Path) -> subprocess.CompletedProcess[str]:
    """Python in the repository, importing the copy."""
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


def pytest_on(package: Path, *nodes: str) -> subprocess.CompletedProcess[str]:
    return run(["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *nodes], package)
