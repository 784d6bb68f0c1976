# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the repository says about itself is true."""

import os
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HEADER = "# SPDX-FileCopyrightText: 2026 The dperm developers\n# SPDX-License-Identifier: Apache-2.0\n"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def python_files() -> list[Path]:
    folders = ("src", "tests", "docs", "examples", "benchmarks")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_the_newest_version_of_the_changelog_is_the_version_of_the_package():
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$", read("CHANGELOG.md"), re.MULTILINE)
    assert released[0] == PYPROJECT["project"]["version"] == version("dperm")


def test_every_version_of_the_changelog_says_which_privacy_claims_were_corrected():
    versions = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert versions
    assert [text.splitlines()[0] for text in versions if "### Privacy\n" not in text] == []


def test_every_python_file_carries_the_licence_header():
    files = python_files()
    assert ROOT / "src/dperm/__init__.py" in files
    assert [path for path in files if not path.read_text(encoding="utf-8").startswith(HEADER)] == []


def test_continuous_integration_can_run_its_script():
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert read(".ci/run").startswith("#!")


def test_the_make_commands_on_the_pages_for_developers_are_targets():
    targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.MULTILINE))
    pages = ("README.md", "CONTRIBUTING.md", "RELEASING.md", ".ci/run", ".github/PULL_REQUEST_TEMPLATE.md")
    promised = {target for page in pages for target in re.findall(r"\bmake ([a-z-]+)", read(page))}
    assert {"demo", "test"} <= promised <= targets


def test_the_constraints_pin_every_requirement_to_a_version_it_allows():
    lines = [line for line in read("constraints.txt").splitlines() if line and not line.startswith("#")]
    pinned = {canonicalize_name(name): release for name, release in (line.split("==") for line in lines)}
    project = PYPROJECT["project"]
    groups = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PYPROJECT["dependency-groups"].values(),
    ]
    required = [Requirement(text) for group in groups for text in group if isinstance(text, str)]
    assert [
        str(need) for need in required if not need.specifier.contains(pinned.get(canonicalize_name(need.name), "0"))
    ] == []


def test_the_package_is_marked_as_typed():
    assert (ROOT / "src/dperm/py.typed").is_file()
