# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit`` on a full disk: refused before the charge, and no release that was paid for is lost."""

import errno
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from dperm.ledger import Ledger
from dperm.methods.objective import ObjectivePlan
from dperm.privacy import ApproxDP
from dperm.report import whole_file
from dperm.sklearn.files import HEADER_ALLOWANCE, load_stored

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --method objective"
FULL = OSError(errno.ENOSPC, "No space left on device")


def hidden(folder):
    return [path.name for path in Path(folder).iterdir() if path.name.startswith(".")]


@pytest.fixture
def small_disk():
    """A function that mounts a file system of so many bytes and returns its directory; skips where that is forbidden.

    Tests that need no mount cover the same rules on every system.
    """
    mounted = []

    def mount(size):
        folder = Path(tempfile.mkdtemp())
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
        if done.returncode:
            folder.rmdir()
            pytest.skip("this system does not allow mounts")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def fill(folder):
    """Write until the disk is full."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def test_a_disk_without_room_is_refused_before_the_data_are_read(opened, ends, monkeypatch):
    ledger = opened()

    def full(*given):
        raise FULL

    monkeypatch.setattr(whole_file, "_allocate", full)
    monkeypatch.setattr("dperm.data.files.read_table", lambda *given: pytest.fail("the data were read"))
    said = ends(2, f"{FIT} --ledger census.ledger").stderr
    assert "--out" in said and "No space left on device" in said and "Nothing was charged" in said
    assert ledger.bookings() == () and hidden(".") == [] and not Path("model.dperm").exists()


def test_a_paid_model_is_rescued_if_its_directory_fails(opened, ends, monkeypatch):
    opened()
    Path("out").mkdir()
    move = whole_file._move_to_new

    def fails(beside, target):
        if target.parent.name == "out":
            raise FULL
        move(beside, target)

    monkeypatch.setattr(whole_file, "_move_to_new", fails)
    result = ends(0, f"{FIT} --ledger census.ledger --out out/model.dperm")
    (rescued,) = Path().glob("model-*.dperm")
    assert rescued.name in result.stdout and "No space left on device" in result.stderr
    assert load_stored(rescued).estimator.record_.ledger["account"] == "census"
    assert hidden("out") == []


def test_a_file_system_without_hard_links_takes_the_model(opened, ends, monkeypatch):
    def forbidden(*given):
        raise OSError(errno.EPERM, "Operation not permitted")

    opened()
    monkeypatch.setattr(os, "link", forbidden)
    ends(0, f"{FIT} --ledger census.ledger")
    load_stored("model.dperm")
    assert hidden(".") == []


def test_the_allocation_covers_the_model_that_is_written(opened, ends, monkeypatch):
    sizes = []
    allocate = whole_file._allocate
    monkeypatch.setattr(whole_file, "_allocate", lambda file, size: (sizes.append(size), allocate(file, size)))
    opened()
    ends(0, f"{FIT} --ledger census.ledger")
    assert Path("model.dperm").stat().st_size + HEADER_ALLOWANCE // 2 < sizes[0]


def test_a_small_disk_is_refused_before_the_charge(opened, ends, small_disk):
    ledger = opened()
    folder = small_disk(65536)
    said = ends(2, f"{FIT} --ledger census.ledger --out {folder / 'model.dperm'}").stderr
    assert "No space left on device" in said and "Nothing was charged" in said
    assert ledger.bookings() == () and list(folder.iterdir()) == []


def test_a_disk_that_fills_up_during_the_fit_loses_nothing(desk, ends, small_disk, monkeypatch):
    """Model and ledger are on the disk, which has no byte left when the release is committed and written."""
    folder = small_disk(2**22)
    ledger = Ledger.open(folder / "census.ledger", ApproxDP(3.0, 1e-5, "replace_one"), dataset="d", blocks=10)
    learn = ObjectivePlan.learn

    def learn_on_a_full_disk(self, data, stream):
        fill(folder)
        return learn(self, data, stream)

    monkeypatch.setattr(ObjectivePlan, "learn", learn_on_a_full_disk)
    ends(0, f"{FIT} --ledger {folder / 'census.ledger'} --out {folder / 'model.dperm'}")
    assert [one.state.value for one in ledger.bookings()] == ["committed"]
    assert load_stored(folder / "model.dperm").estimator.record_.ledger["digest"] == ledger.bookings()[0].digest
    assert hidden(folder) == []
