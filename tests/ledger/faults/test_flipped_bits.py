# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One bit flipped anywhere: it is found, or it is of no meaning. None is silent, and none ends in a foreign error."""

import random
from pathlib import Path

import pytest
from ledger_copies import EVENT, NAMES, Original, original
from ledger_reader import read_books

from dperm.errors import DpermError
from dperm.ledger import Ledger, verify
from dperm.ledger.sqlite import handles

FILES = dict(zip(("file", "log", "lock"), NAMES, strict=True))


def flipped(whole: Original, key: str, bit: int) -> bytes:
    content = bytearray(whole.files[FILES[key]])
    content[bit // 8] ^= 1 << bit % 8
    return bytes(content)


@pytest.mark.parametrize("flips", [40, pytest.param(400, marks=pytest.mark.slow)], ids=["short", "long"])
def test_no_flipped_bit_is_silent(flips: int, tmp_path: Path):
    seed = 6
    generator, whole = random.Random(seed), original(tmp_path, settled=20, logged=6)
    found, unused, silent = 0, 0, []
    for number in range(flips):
        key = generator.choices(("file", "log", "lock"), (6, 3, 1))[0]
        bit = generator.randrange(8 * len(whole.files[FILES[key]]))
        path = whole.copied(tmp_path / str(number), **{key: flipped(whole, key, bit)})
        if not verify(path, [whole.anchor]).ok:
            found += 1
        elif key != "lock" and read_books(str(path)) == whole.books:
            unused += 1
        else:
            silent.append(f"bit {bit} of the {key}")
        try:
            Ledger(str(path)).reserve(EVENT)
        except DpermError:
            pass
        handles.forget(path)
    print(f"seed {seed}: {flips} flipped bits: {found} detected, {unused} in unused bytes, {len(silent)} silent.")
    assert silent == []
    assert found > unused / 4
