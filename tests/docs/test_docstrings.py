# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest
from doc_outputs import Checker

import dperm

MODULES = [module.name for module in pkgutil.walk_packages(dperm.__path__, "dperm.") if "__main__" not in module.name]


def with_examples(name: str) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]


@pytest.mark.parametrize("test", [test for name in MODULES for test in with_examples(name)], ids=lambda test: test.name)
def test_the_example_in_the_docstring_prints_what_it_says(test):
    report: list[str] = []
    runner = doctest.DocTestRunner(checker=Checker())
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


def test_the_finder_sees_docstrings_and_the_runner_sees_mistakes():
    module = ModuleType("module", ">>> 1 + 1\n3")
    (test,) = doctest.DocTestFinder().find(module)
    assert doctest.DocTestRunner().run(test, out=lambda text: None).failed == 1
    assert "dperm.accounting.account.account" in {test.name for test in with_examples("dperm.accounting.account")}
