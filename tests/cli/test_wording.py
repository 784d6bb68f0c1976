# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of the library in the words of the command line; each phrase is still one that the library says."""

import re
from pathlib import Path

import pytest

import dperm
from dperm.cli.wording import as_typed

SAID = {
    "account must be given: the ledger has 'a', 'b'.": "--account is missing: the ledger has 'a', 'b'.",
    "Use Ledger(location, account='main').": "Charge to it with --account 'main', or give another name.",
    "Declare the category, or give other=True: all": "the category, or declare other = true for it in the schema: all",
    "Declare impute=, a public value that": "Declare impute = ... for it in the schema, a public value that",
    "Give clip=1.0 for probabilities": "Give --clip 1 for probabilities",
    "(epsilon=inf) cannot be charged. Leave out ledger.": "(--epsilon inf) cannot be charged. Leave out --ledger.",
    "its noise follows from random_state, and": "its noise follows from --seed, and",
    "PureDP(epsilon=1.0, adjacency=REPLACE_ONE)": "PureDP(epsilon=1.0, adjacency=replace_one)",
    "adjacency=<Adjacency.ADD_REMOVE: 'add_remove'>": "adjacency=add_remove",
}
STILL_SAID = ["account must be given", "give other=True", "Declare impute=, a public value", "Give clip=1.0 for"]
STILL_SAID += ["Leave out ledger", "follows from random_state", "X has another number of rows", "(epsilon=inf)"]


@pytest.mark.parametrize("text", SAID, ids=range(len(SAID)))
def test_arguments_become_options(text):
    assert SAID[text] in as_typed(text)


def test_what_is_no_phrase_stays_as_it_is():
    text = "column 'n=7' must hold numbers: 12, -0.5 or 1e3."
    assert as_typed(text) == text


@pytest.mark.parametrize("phrase", STILL_SAID)
def test_the_library_still_says_it(phrase):
    sources = Path(dperm.__file__).parent.rglob("*.py")
    texts = (re.sub(r'"\s+f?"', "", path.read_text(encoding="utf-8")) for path in sources if path.name != "wording.py")
    assert any(phrase in text for text in texts)
