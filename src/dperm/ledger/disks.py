# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a file is on a disk of this machine: a log of SQLite is not safe over a network."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from dperm.errors import LedgerError

OVER_THE_NET = frozenset(
    "9p afs beegfs ceph cifs coda davfs drvfs fakeowner fuse.blobfuse2 fuse.ceph fuse.curlftpfs fuse.davfs2 "
    "fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.grpcfuse fuse.juicefs fuse.mfs fuse.osxfs fuse.rclone fuse.s3fs "
    "fuse.sshfs fuse.vmhgfs-fuse gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs panfs prl_fs smb3 smbfs "
    "vboxsf virtiofs vmhgfs".split()
)
"""File systems that several machines write, and folders that a virtual machine shares with its host."""
MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def require_local(path: Path) -> None:
    """Refuse a file of a network file system, and one that is mounted by itself.

    Looked up on Linux only; elsewhere it is the user's to know.

    Raises
    ------
    LedgerError
        If the file system is one that machines share, or the file has a second place by a mount.
    """
    mounts = MOUNTS.read_text(errors="replace") if sys.platform == "linux" and MOUNTS.exists() else ""
    if not path.is_dir() and path.resolve() in (point for point, _ in _mounted(mounts)):
        raise LedgerError(
            f"{str(path)!r} is a file that is mounted by itself, and SQLite would keep a log here and another where "
            "the file comes from: lines would be lost. Nothing was charged. Mount the directory of the ledger instead."
        )
    kind = file_system(path, mounts)
    if kind in OVER_THE_NET:
        raise LedgerError(
            f"{str(path)!r} is on a network file system ({kind}), where SQLite may lose what it wrote. Put the ledger "
            'on a local disk, or share a PostgreSQL ledger: Ledger("postgresql://...").'
        )


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that holds ``path``; "" if the table of mounts does not tell."""
    target, found, depth = path.resolve(), "", -1
    for point, kind in _mounted(mounts):
        if (point == target or point in target.parents) and len(point.parts) >= depth:
            found, depth = kind, len(point.parts)
    return found


def _mounted(mounts: str) -> Iterator[tuple[Path, str]]:
    """Where something is mounted, and its file system."""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        if len(left.split()) >= 5 and right:
            yield Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), left.split()[4])), right.split()[0]
