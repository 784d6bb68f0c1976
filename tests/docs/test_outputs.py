# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pages show real outputs, without ellipses, and the comparison with them finds what differs."""

import doctest

import pytest
from doc_outputs import agree
from doc_pages import PAGES, ROOT, Block, blocks


def outputs(block: Block) -> list[str]:
    """What the examples of a block are said to print."""
    if block.kind == "pycon":
        return [example.want for example in doctest.DocTestParser().get_examples(block.text)]
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if not line.startswith("$ ")] if block.kind == "console" else []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_output_is_shortened_by_an_ellipsis(page):
    assert [(block.line, text) for block in blocks(page) for text in outputs(block) if "..." in text] == []


def test_an_ellipsis_would_be_found():
    assert outputs(Block("pycon", (), ">>> f()\n1.2...\n", 1)) == ["1.2...\n"]
    assert outputs(Block("console", (), "$ dperm x \\\n  y\n...\n", 1)) == ["..."]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a  b\nc", "a b c"),
        ("x\n───\n1", "x\n─────\n1"),
        ("0.25026123456", "0.25026123457"),
        ("[0.1, -2e-05]", "[0.10000000001, -2.0000000001e-05]"),
        ("ledger: aa0fcb56a932766a0180f1ee202a288b", "ledger: 8a0d396470658477dec9a74179ae1ef6"),
        ("1  2026-11-18 13:26:12  opened", "1  2027-01-02 03:04:05  opened"),
        ("relative width 2.5e-11", "relative width 4e-12"),
        ("Implementation: dperm 0.10.0", "Implementation: dperm 0.11.0"),
        ("6, 919204114545", "6, f1d281cab841"),
    ],
)
def test_outputs_that_agree(shown, printed):
    assert agree(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("0.25026", "0.25027"),
        ("1,824 rows", "1,825 rows"),
        ("10 rows", "10.0 rows"),
        ("1e-05", "1e-06"),
        ("-1.5", "1.5"),
        ("2.5e-11", "2.5e-09"),
        ("1e-10", "1e-11"),
        ("T57", "T58"),
        ("1 2", "1 2 3"),
        ("epsilon", "delta"),
        ("anything ...", "anything at all"),
        ("2026-11-18 13:26:12", "never"),
        ("ab12", "cd34"),
    ],
)
def test_outputs_that_differ(shown, printed):
    assert not agree(shown, printed)


def test_noise_may_differ_within_the_tolerance_of_its_block_only():
    assert agree("AUC 0.68 of 300", "AUC 0.70 of 290", noisy=0.1)
    assert not agree("AUC 0.68", "AUC 0.50", noisy=0.1)
    assert not agree("AUC 0.68", "TPR 0.68", noisy=0.1)
