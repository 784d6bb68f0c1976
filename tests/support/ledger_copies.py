# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a ledger as it stands on the disk, to be damaged: the file, its log, and the mark beside it."""

from dataclasses import dataclass
from pathlib import Path

from ledger_reader import Books, read_books

from dperm import PureDP
from dperm.accounting import Pure
from dperm.ledger import Anchor, Ledger
from dperm.ledger.sqlite import handles

EVENT = Pure(2.0**-10, "replace_one")
NAMES = ("x.ledger", "x.ledger-wal", "x.ledger.lock")


@dataclass(frozen=True)
class Original:
    """What stood on the disk, what it says, and the anchor of its last artefact."""

    files: dict[str, bytes]
    books: Books
    anchor: Anchor

    def copied(self, folder: Path, **changed: bytes | None) -> Path:
        """The same files elsewhere, some of them (file, log, lock) changed, or left out if None."""
        folder.mkdir()
        for name, key in zip(NAMES, ("file", "log", "lock"), strict=True):
            content = changed.get(key, self.files[name])
            if content is not None:
                (folder / name).write_bytes(content)
        return folder / NAMES[0]


def original(folder: Path, settled: int, logged: int) -> Original:
    """A ledger with ``settled`` releases in its file, and ``logged`` in its log, as a crash would leave it."""
    path = folder / NAMES[0]
    ledger = Ledger.open(path, PureDP(4.0, "replace_one"), dataset="copies")
    for number in range(settled + logged):
        if number == settled:
            handles.forget(path)  # whoever closes it last moves the log into the file
        reservation = ledger.reserve(EVENT, request_id=f"r{number}", facts={"seeded": False})
        reservation.commit(f"sha256:{number}")
    anchor = Anchor.from_receipt(reservation.receipt)
    files = {name: (folder / name).read_bytes() for name in NAMES}
    handles.forget(path)
    return Original(files, read_books(str(path)), anchor)
