# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every public name is in the API reference, and every public class has a page with an example."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from doc_pages import DOCS, blocks

API = DOCS / "api"
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
    "dperm.engines",
    "dperm.errors",
    "dperm.evaluation",
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
    inside = home.startswith(module.__name__) if is_package(module) else home == module.__name__
    return not inspect.ismodule(value) and inside


def is_package(module: ModuleType) -> bool:
    return hasattr(module, "__path__")


def documented() -> Iterator[str]:
    """Each object that a directive of a page documents, by its own name."""
    found = (block for page in sorted(API.rglob("*.md")) for block in blocks(page))
    text = "\n".join(block.text for block in found if block.kind == "{eval-rst}")
    for kind, target, options in DIRECTIVE.findall(text):
        if kind == "module":
            yield from members(importlib.import_module(target), options)
        else:
            yield target.rpartition(".")[2]


def members(module: ModuleType, options: str) -> list[str]:
    listed = re.search(r":members: (.+)", options)
    return [name.strip() for name in listed[1].split(",")] if listed else public_names(module)


def public_classes() -> dict[str, type]:
    """The classes of all public modules by the names of their pages, without exceptions and warnings."""
    modules = [importlib.import_module(name) for name in PUBLIC]
    found = {name: getattr(module, name) for module in modules for name in public_names(module)}
    return {name: one for name, one in found.items() if inspect.isclass(one) and not issubclass(one, BaseException)}


@pytest.fixture(scope="module")
def in_the_reference() -> set[str]:
    return set(documented())


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_in_the_reference(name, in_the_reference):
    names = public_names(importlib.import_module(name))
    assert names
    assert [one for one in names if one not in in_the_reference] == []


def test_a_name_that_is_missing_would_be_found(in_the_reference):
    assert "calibrate" in in_the_reference
    assert "no_such_name" not in in_the_reference


@pytest.mark.parametrize("name", sorted(public_classes()))
def test_every_public_class_has_a_page_with_an_example(name):
    (page,) = API.rglob(f"{name}.md")
    shown = [block.text for block in blocks(page) if block.kind == "{eval-rst}"]
    assert [text for text in shown if re.search(rf"^\.\. autoclass:: dperm\S*\.{name}$", text, re.MULTILINE)]
    assert has_example(public_classes()[name].__doc__ or "", page)


@pytest.mark.parametrize("page", sorted(API.glob("*.md")), ids=lambda page: page.stem)
def test_every_page_of_a_group_of_functions_has_an_example(page):
    assert page.stem == "index" or has_example("", page)


def has_example(docstring: str, page: Path) -> bool:
    """Whether the docstring or the page has a session; tests/docs runs both."""
    return ">>> " in docstring or any(block.kind == "pycon" for block in blocks(page))


def test_a_class_without_an_example_would_be_found(tmp_path):
    page = tmp_path / "Page.md"
    page.write_text("# Page\n\n```text\nnothing\n```\n", encoding="utf-8")
    assert not has_example("No example.", page)
    assert has_example(">>> 1 + 1", page)
