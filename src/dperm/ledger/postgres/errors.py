# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Translation of PostgreSQL errors into ledger errors."""

from typing import TYPE_CHECKING

from dperm.errors import LedgerError
from dperm.ledger.stores import without_secret
from dperm.ledger.transactions import TransactionInterruptedError

if TYPE_CHECKING:
    import psycopg

_INTERRUPTED = {
    "57P01": "the server was shut down",
    "57P02": "the server crashed",
    "57P03": "the server is starting",
    "57P05": "the session was ended",
    "25P03": "the transaction took too long",
    "25P04": "the transaction took too long",
    "40001": "another transaction conflicted",
    "40P01": "another transaction conflicted",
}
_ABSENT = ("42P01", "3F000")
_BUSY = ("55P03", "57014")
_DAMAGED = ("XX001", "XX002", "58P01")


def describe_ledger(location: str) -> str:
    """Return the ledger with its location, without a password."""
    return f"the ledger {without_secret(location)!r}"


def translate_error(location: str, error: "psycopg.Error", *, ending: bool) -> LedgerError:
    """Return the ledger error for an error of a statement: `TransactionInterruptedError` if it can be repeated.

    After a loss of the connection at COMMIT of a change (``ending``), it is unknown whether the change was written.
    """
    import psycopg

    state, name = error.sqlstate or "", describe_ledger(location)
    if state in _INTERRUPTED or state.startswith("08") or (not state and isinstance(error, psycopg.OperationalError)):
        known = "Nothing was changed. Try again."
        unknown = "It is not known whether the last change was written. Check the books before repeating it."
        reason = _INTERRUPTED.get(state, "the connection was lost")
        return TransactionInterruptedError(f"{name} was interrupted: {reason}. {unknown if ending else known}")
    return LedgerError(f"{name} {_explained(state, _server_message(error))}")


def _explained(state: str, said: str) -> str:
    if state in _ABSENT:
        return "does not exist: the database holds none. Open one by dperm ledger open or Ledger.open."
    if state == "42501":
        return (
            f"refuses this to your role ({said}). Writers may reserve, commit and burn (grant_writers); only the owner "
            "opens accounts, sets limits and approves."
        )
    if state in _BUSY:
        return f"is busy ({said}): another session holds the account. Nothing was charged. Try again."
    if state.startswith("23"):
        return f"refuses a change that contradicts its books ({said}). Nothing was charged. Verify the ledger."
    if state in _DAMAGED:
        return f"is damaged ({said}). Restore it, and verify it against the anchor of the last artefact."
    if state.startswith("53"):
        return f"cannot be written ({said}): the server lacks space or memory. Unwritten charges were not released."
    return f"cannot be used ({said})."


def _server_message(error: "psycopg.Error") -> str:
    """Return the first line of the server's message; further lines may quote a row."""
    return (error.diag.message_primary or str(error).partition("\n")[0]).rstrip(".")
