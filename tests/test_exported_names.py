# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public names, and what importing them costs."""

import ast
import importlib
import json
import logging
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import dperm

NAMES = {
    "dperm.privacy": [
        "Adjacency",
        "ApproxDP",
        "GDP",
        "PrivacyProfile",
        "PureDP",
        "RDP",
        "Record",
        "Release",
        "ZCDP",
        "explain",
    ],
    "dperm.accounting": [
        "Approximate",
        "Gaussian",
        "Laplace",
        "Poisson",
        "Pure",
        "RandomizedResponse",
        "WithoutReplacement",
        "account",
        "calibrate",
    ],
    "dperm.errors": [
        "AdjacencyError",
        "AssumptionError",
        "BudgetError",
        "ConversionError",
        "DataError",
        "DpermError",
        "LedgerError",
        "ParameterError",
    ],
    "dperm.ledger": ["Ledger"],
}
HEAVY = {"numpy", "scipy", "sklearn", "torch", "pandas", "matplotlib"}


def modules_loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_the_public_names_are_these():
    assert sorted(dperm.__all__) == sorted(name for names in NAMES.values() for name in names)


@pytest.mark.parametrize(("home", "name"), [(home, name) for home, names in NAMES.items() for name in names])
def test_each_name_is_the_one_of_its_home(home, name):
    assert getattr(dperm, name) is getattr(importlib.import_module(home), name)
    assert name in dir(dperm)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(dperm.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    seen = {(".".join(node.module.split(".")[:2]), alias.name) for node in imports for alias in node.names}
    assert seen == {(home, name) for home, names in NAMES.items() for name in names}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'dperm' has no attribute 'acount'"):
        dperm.acount  # noqa: B018


def test_the_version_is_that_of_the_installed_package():
    assert dperm.__version__ == version("dperm")


@pytest.mark.parametrize(
    "statement", ["import dperm", "import dperm; dperm.__version__; dir(dperm)", "import dperm.cli"]
)
def test_importing_is_light(statement):
    assert modules_loaded_by(statement).isdisjoint(HEAVY)


def test_a_name_is_loaded_on_first_use():
    assert "numpy" in modules_loaded_by("import dperm; dperm.account")


def test_the_package_is_silent_unless_logging_is_configured():
    handlers = logging.getLogger("dperm").handlers
    assert [type(handler) for handler in handlers] == [logging.NullHandler]
