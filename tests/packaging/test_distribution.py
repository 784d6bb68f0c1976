# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The sdist and the wheel: their content, and a wheel that works in a new environment without the repository.

These tests build with `python -m build` and install from the package index, so they are slow and need a network.
"""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]

pytestmark = pytest.mark.slow


def run(*command, cwd, **options):
    """Run a program without the paths of this process, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder with the sdist, and the wheel that is built from the sdist."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    assert {path.name for path in folder.iterdir()} == {
        f"dperm-{VERSION}.tar.gz",
        f"dperm-{VERSION}-py3-none-any.whl",
    }
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    return dist / f"dperm-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_contains_every_file_of_the_package_and_nothing_else(names):
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "dperm").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"dperm/py.typed", "dperm/report/style.css", "dperm/report/statement.schema.json"} <= expected
    assert {name for name in names if name.startswith("dperm/")} == expected
    assert {name.partition("/")[0] for name in names} == {
        "dperm",
        f"dperm-{VERSION}.dist-info",
        f"dperm-{VERSION}.data",
    }


def test_the_wheel_contains_the_native_sources_that_are_compiled_at_run_time(names):
    native = {name for name in names if name.endswith((".cpp", ".h"))}
    folder = "dperm/torch/native/source"
    assert native == {f"{folder}/{name}" for name in ("clipping.cpp", "convolution.cpp", "normals.cpp", "lanes.h")}


def test_the_metadata_have_version_licence_and_extras_of_users_only(wheel):
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"dperm-{VERSION}.dist-info/METADATA").decode())
        licence = archive.read(f"dperm-{VERSION}.dist-info/licenses/LICENSE")
    assert metadata["Version"] == VERSION
    assert (metadata["License-Expression"], metadata.get_all("License-File")) == ("Apache-2.0", ["LICENSE"])
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert set(metadata.get_all("Provides-Extra")) == {"plots", "files", "postgres", "torch", "examples"}
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_the_sdist_contains_what_a_packager_needs_and_no_build_files(dist):
    with tarfile.open(dist / f"dperm-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    top = {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md"}
    assert top <= names
    assert {"tools/man_pages.py", "docs/conf.py", "tests/conftest.py", "Makefile", "constraints.txt"} <= names
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py")} <= names
    unwanted = ("build/", "dist/", ".venv", ".git/", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
    assert [name for name in names if name.startswith(unwanted) or "__pycache__" in name or ".egg-info" in name] == []


def test_the_long_description_renders(dist):
    pytest.importorskip("twine")
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir(), cwd=dist)


def test_pip_builds_a_wheel_from_the_source_tree(tmp_path):
    """``pip install .`` passes the packages of its isolated build by PYTHONPATH, other than ``python -m build``."""
    command = (
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        tmp_path,
    )
    run(*command, ROOT, cwd=tmp_path)
    (built,) = tmp_path.glob("*.whl")
    assert any(name.endswith("share/man/man1/dperm.1") for name in zipfile.ZipFile(built).namelist())


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel and its required dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    run(folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel, cwd=folder)
    return folder


def test_the_installed_wheel_is_the_one_that_runs(environment, tmp_path):
    code = "import dperm; print(dperm.__file__); print(dperm.__version__)"
    place, version = run(environment / "bin/python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(place).is_relative_to(environment)
    assert version == VERSION
    assert run(environment / "bin/dperm", "--version", cwd=tmp_path) == f"dperm {VERSION}\n"


def test_the_demo_runs_from_the_installed_wheel(environment, tmp_path):
    printed = run(environment / "bin/dperm", "demo", cwd=tmp_path)
    assert "all valid" in printed
    accuracy = float(printed.partition("Accuracy on test records: ")[2].partition(";")[0])
    assert 0.8 < accuracy < 1.0  # without a model: 0.56
    assert (tmp_path / "dperm-demo/statement.html").is_file()


def test_the_manual_pages_are_installed(environment):
    pages = {path.name for path in (environment / "share/man/man1").iterdir()}
    assert {"dperm.1", "dperm-fit.1", "dperm-ledger-open.1", "dperm-demo.1"} <= pages
