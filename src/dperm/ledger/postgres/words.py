# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What went wrong in PostgreSQL, in our words."""

from typing import TYPE_CHECKING

from dperm.errors import LedgerError
from dperm.ledger.stores import without_secret
from dperm.ledger.transact import Interrupted

if TYPE_CHECKING:
    import psycopg

_CUT_OFF = {
    "57P01": "the server was shut down",
    "57P02": "the server crashed",
    "57P03": "the server is starting",
    "57P05": "the session was ended",
    "25P03": "the transaction took too long",
    "25P04": "the transaction took too long",
    "40001": "another transaction was in the way",
    "40P01": "another transaction was in the way",
}
_ABSENT = ("42P01", "3F000")
_BUSY = ("55P03", "57014")
_DAMAGED = ("XX001", "XX002", "58P01")


def named(location: str) -> str:
    """The ledger, without a password."""
    return f"the ledger {without_secret(location)!r}"


def in_words(location: str, error: "psycopg.Error", *, ending: bool) -> LedgerError:
    """The error of a statement as ours: `Interrupted` if it may be asked for again.

    Whoever loses the connection at COMMIT of a change, when it is ``ending``, cannot know whether it was written.
    """
    import psycopg

    state, name = error.sqlstate or "", named(location)
    if state in _CUT_OFF or state.startswith("08") or (not state and isinstance(error, psycopg.OperationalError)):
        known = "Nothing was changed. Ask again."
        unknown = "Whether the last change was written is not known. Look into the books before you ask for it again."
        reason = _CUT_OFF.get(state, "the connection was lost")
        return Interrupted(f"{name} was cut off: {reason}. {unknown if ending else known}")
    return LedgerError(f"{name} {_explained(state, _said(error))}")


def _explained(state: str, said: str) -> str:
    if state in _ABSENT:
        return "is not there: the database holds none. Open one: dperm ledger open, or Ledger.open."
    if state == "42501":
        return (
            f"refuses this to your role ({said}). Writers may reserve, commit and burn (grant_writers); opening "
            "accounts, limits and approvals are for its owner."
        )
    if state in _BUSY:
        return f"is busy ({said}): somebody holds the account for too long. Nothing was charged. Ask again."
    if state.startswith("23"):
        return f"refuses what contradicts its books ({said}). Nothing was charged. Verify it."
    if state in _DAMAGED:
        return f"is damaged ({said}). Restore it, and verify it against the anchor of the last artefact."
    if state.startswith("53"):
        return f"cannot be written ({said}): the server lacks space or memory. What was not written was not released."
    return f"cannot be used ({said})."


def _said(error: "psycopg.Error") -> str:
    """The first line only: what follows may quote a row."""
    return (error.diag.message_primary or str(error).partition("\n")[0]).rstrip(".")
