# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Check for local disks: the write-ahead log of SQLite is not safe on network file systems."""

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
"""File systems shared between machines, and folders shared between a virtual machine and its host."""
MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def require_local(path: Path) -> None:
    """Refuse a file on a network file system, or a file mounted by itself.

    The check runs on Linux only.

    Raises
    ------
    LedgerError
        If machines share the file system, or a mount gives the file a second path.
    """
    mounts = MOUNTS.read_text(errors="replace") if sys.platform == "linux" and MOUNTS.exists() else ""
    if not path.is_dir() and path.resolve() in (point for point, _ in _mounted(mounts)):
        raise LedgerError(
            f"{str(path)!r} is a file mounted by itself, so SQLite would keep one log here and another beside the "
            "original, and lines would be lost. Nothing was charged.",
            remedy="Mount the directory of the ledger instead.",
        )
    kind = file_system(path, mounts)
    if kind in OVER_THE_NET:
        raise LedgerError(
            f"{str(path)!r} is on a network file system ({kind}), where SQLite may lose written data.",
            remedy='Put the ledger on a local disk, or share a PostgreSQL ledger: Ledger("postgresql://...").',
        )


def file_system(path: Path, mounts: str) -> str:
    """Return the type of the file system of ``path``; "" if the mount table does not contain it."""
    target, found, depth = path.resolve(), "", -1
    for point, kind in _mounted(mounts):
        if (point == target or point in target.parents) and len(point.parts) >= depth:
            found, depth = kind, len(point.parts)
    return found


def _mounted(mounts: str) -> Iterator[tuple[Path, str]]:
    """Yield mount points and their file systems."""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        if len(left.split()) >= 5 and right:
            yield Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), left.split()[4])), right.split()[0]
