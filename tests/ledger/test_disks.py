# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which file system holds a path, by the table of mounts."""

from pathlib import Path

import pytest

from dperm import Laplace, PureDP
from dperm.errors import LedgerError
from dperm.ledger import Ledger, disks
from dperm.ledger.disks import OVER_THE_NET, file_system
from dperm.ledger.sqlite import handles

MOUNTS = """21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
36 21 0:30 / /data rw - nfs4 host:/data rw
37 36 8:2 / /data/local rw - xfs /dev/sdb1 rw
38 21 0:31 / /with\\040space rw - cifs //host/x rw
39 21 0:32 / /over rw - ext4 /dev/sdc1 rw
40 39 0:33 / /over rw - fuse.sshfs host: rw
not a line of the table
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/a/census.ledger", "ext4"),
        ("/data/census.ledger", "nfs4"),
        ("/data/local/census.ledger", "xfs"),
        ("/database/census.ledger", "ext4"),
        ("/with space/census.ledger", "cifs"),
        ("/over/census.ledger", "fuse.sshfs"),
    ],
)
def test_the_deepest_and_last_mount_counts(path, kind):
    assert file_system(Path(path), MOUNTS) == kind


def test_a_table_that_does_not_tell(tmp_path):
    assert file_system(tmp_path, "") == ""
    assert "" not in OVER_THE_NET


def test_a_file_that_is_mounted_by_itself_is_refused_and_a_directory_is_not(tmp_path, monkeypatch):
    """As in a container: the log beside it would not be the log of those outside."""
    file, table = tmp_path / "census.ledger", tmp_path / "mounts"
    Ledger.open(file, PureDP(1.0, "add_remove"), dataset="d")
    handles.forget(file)
    monkeypatch.setattr(disks, "MOUNTS", table)
    monkeypatch.setattr(disks.sys, "platform", "linux")
    table.write_text(f"36 21 8:1 /x {tmp_path} rw - ext4 /dev/sda1 rw\n")
    assert Ledger(file).spent == {"epsilon": 0.0}
    handles.forget(file)
    table.write_text(f"36 21 8:1 /x {file} rw - ext4 /dev/sda1 rw\n")
    link = tmp_path / "link.ledger"
    link.symlink_to(file)
    for ask in (
        lambda: Ledger(file).spent,
        lambda: Ledger(link).reserve(Laplace(8.0)),
        lambda: Ledger.open(file, PureDP(1.0, "add_remove"), dataset="e", account="e"),
    ):
        with pytest.raises(LedgerError, match=r"mounted by itself.*Mount the directory"):
            ask()
