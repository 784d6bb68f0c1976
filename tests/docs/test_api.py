# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every public name is in the API reference."""

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import pytest
from doc_pages import DOCS, blocks

API = DOCS / "api.md"
PUBLIC = (
    "dperm",
    "dperm.accounting",
    "dperm.accounting.rdp",
    "dperm.accounting.theorems",
    "dperm.audit",
    "dperm.audit.black_box",
    "dperm.audit.bugs",
    "dperm.audit.exact",
    "dperm.audit.exposure",
    "dperm.audit.membership",
    "dperm.data",
    "dperm.errors",
    "dperm.ledger",
    "dperm.mechanisms",
    "dperm.mechanisms.releases",
    "dperm.methods",
    "dperm.noise",
    "dperm.planner",
    "dperm.privacy",
    "dperm.report",
    "dperm.reproduce",
    "dperm.sensitivity",
    "dperm.sklearn",
    "dperm.theory",
    "dperm.torch",
    "dperm.torch.audit",
)
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   :.*\n?)*)", re.MULTILINE)


def public_names(module: ModuleType) -> list[str]:
    """``__all__``; without it what a package imports by ``as``, or what a module defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    found = vars(module).items()
    return [name for name, value in found if not name.startswith("_") and belongs(value, module)]


def belongs(value: object, module: ModuleType) -> bool:
    home = getattr(value, "__module__", "") or ""
    return not inspect.ismodule(value) and home.startswith(module.__name__ if is_package(module) else "dperm.")


def is_package(module: ModuleType) -> bool:
    return hasattr(module, "__path__")


def documented() -> Iterator[str]:
    """Each object that a directive of the page documents, by its own name."""
    text = "\n".join(block.text for block in blocks(API) if block.kind == "{eval-rst}")
    for kind, target, options in DIRECTIVE.findall(text):
        if kind == "module":
            yield from members(importlib.import_module(target), options)
        else:
            yield target.rpartition(".")[2]


def members(module: ModuleType, options: str) -> list[str]:
    listed = re.search(r":members: (.+)", options)
    return [name.strip() for name in listed[1].split(",")] if listed else public_names(module)


@pytest.fixture(scope="module")
def in_the_reference() -> set[str]:
    return set(documented()) | set(re.findall(r"`(?:\w+\.)*(\w+)", API.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name, in_the_reference):
    names = public_names(importlib.import_module(name))
    assert names
    assert [one for one in names if one not in in_the_reference] == []


def test_a_name_that_is_missing_would_be_found(in_the_reference):
    assert "calibrate" in in_the_reference
    assert "no_such_name" not in in_the_reference
