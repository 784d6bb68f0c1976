# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a file is on a disk of this machine: a log of SQLite is not safe over a network."""

import sys
from pathlib import Path

from dperm.errors import LedgerError

OVER_THE_NET = frozenset(
    "9p afs ceph cifs coda fuse.ceph fuse.glusterfs fuse.s3fs fuse.sshfs gfs2 glusterfs lustre ncpfs nfs nfs4 ocfs2 "
    "smb3 smbfs virtiofs".split()
)
MOUNTS = Path("/proc/self/mountinfo")


def require_local(path: Path) -> None:
    """Refuse a file of a network file system. Looked up on Linux only; elsewhere it is the user's to know.

    Raises
    ------
    LedgerError
        If the file system is one that machines share.
    """
    kind = file_system(path, MOUNTS.read_text(errors="replace")) if sys.platform == "linux" and MOUNTS.exists() else ""
    if kind in OVER_THE_NET:
        raise LedgerError(
            f"{str(path)!r} is on a network file system ({kind}), where SQLite may lose what it wrote. Put the ledger "
            'on a local disk, or share a PostgreSQL ledger: Ledger("postgresql://...").'
        )


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that holds ``path``; "" if the table of mounts does not tell."""
    target, found, depth = path.resolve(), "", -1
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        if len(left.split()) < 5 or not right:
            continue
        point = Path(left.split()[4].replace("\\040", " "))
        if (point == target or point in target.parents) and len(point.parts) >= depth:
            found, depth = right.split()[0], len(point.parts)
    return found
