# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Outcome of a charged run: its cost and its file, also after failures, and for repeated requests."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dperm.cli.running import Interruption, note, spinner
from dperm.errors import BudgetError

if TYPE_CHECKING:
    from dperm.cli.charged_run import ChargedRequest
    from dperm.cli.charging import Account
    from dperm.cli.interrupts import Interrupts
    from dperm.ledger import Booking

NOTHING = "Nothing was charged"
PATIENCE = 60.0
"""Seconds to wait for another run of the same request."""
WRITING = 5.0
"""Seconds to wait for the file of a run that has committed its release."""
PAUSE = 0.1
UNKNOWN = "The ledger shows whether something was charged: dperm ledger show LEDGER --entries."


@contextmanager
def note_nothing_charged(interrupts: "Interrupts", noun: str = "model") -> Iterator[None]:
    """Note on an interruption that nothing was charged, if the run had not begun; otherwise refer to the ledger."""
    try:
        yield
    except KeyboardInterrupt as error:
        if not getattr(error, "__notes__", ()):
            error.add_note(UNKNOWN if interrupts.started else f"{NOTHING}, and no {noun} was written.")
        raise


def with_outcome(
    error: BaseException,
    account: "Account | None",
    interrupts: "Interrupts",
    *,
    saved: bool,
    noun: str,
    schema: Path | None = None,
) -> BaseException:
    """Return the error, or the signal that caused it, with notes on the charge and on the file.

    ``schema`` is the file of a schema that was released without a model.
    """
    if interrupts.arrived is not None and not isinstance(error, Interruption):
        error = Interruption(interrupts.arrived)
    error.__notes__ = []  # replaces the notes of the run
    charged, booked = (f"{NOTHING}: there is no --ledger.", None) if account is None else account.charge()
    if booked is not None or isinstance(error, Interruption):
        error.add_note(charged)
        if schema is None:
            error.add_note(_written(booked, saved=saved, noun=noun))
    elif account is not None and NOTHING not in str(error):
        error.add_note(charged)
    if schema is not None:
        error.add_note(f"The released schema is in {schema}. No {noun} was written.")
    return error


def _written(booked: "Booking | None", *, saved: bool, noun: str) -> str:
    if saved:
        return f"The {noun} is complete, and written."
    released = booked is not None and booked.digest is not None
    return f"The {noun} was not written, and is lost." if released else f"No {noun} was written."


def report_earlier_run(
    request: "ChargedRequest", account: "Account", files: Sequence[Path], out: Path, *, as_json: bool
) -> bool:
    """Print the result of an earlier run of the same command, and return whether there was one.

    Raises
    ------
    BudgetError
        If the request id belongs to another command, or its result is not at ``out``.
    """
    from dperm.cli.command_facts import facts_of, require_same
    from dperm.cli.fit_report import print_repeated

    booked = account.booking()
    if booked is None:
        return False
    require_same(booked, facts_of(request, account, files))
    if booked.digest is not None and request.stored_entry(out) == (booked.request_id, booked.digest):
        print_repeated(request.noun, out, account, as_json=as_json)
        return True
    raise BudgetError(
        f"request id {booked.request_id!r} was charged before and is {booked.state.value}"
        f"{_remedy(booked, request.noun, out)} a new --request-id."
    )


def wait_for_other_run(
    request: "ChargedRequest", account: "Account | None", files: Sequence[Path], out: Path, *, as_json: bool
) -> None:
    """Wait for another run of the same request, which charged it first, and print its result.

    Raises
    ------
    BudgetError
        If the other run is still in progress after `PATIENCE` seconds, failed, or wrote its model elsewhere.
    """
    assert account is not None  # only a request of an account is repeated
    note(f"Another run is working on request id {account.ledger.request_id}; waiting for it.")
    with spinner("Waiting for the other run ..."):
        _wait_for(request, account, out)
    booked = account.booking()
    if booked is None or booked.state.value == "reserved":
        raise BudgetError(
            f"request id {account.ledger.request_id!r} belongs to another run, which is still in progress or was "
            "killed. This run charged nothing. Repeat this command later: it reports the result as soon as the "
            "other run has written it."
        )
    report_earlier_run(request, account, files, out, as_json=as_json)


def _wait_for(request: "ChargedRequest", account: "Account", out: Path) -> None:
    """Wait until another run has closed its reservation and, after a release, has had time to write it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        booked = account.booking()
        if booked is not None and booked.state.value != "reserved":
            end = min(end, time.monotonic() + WRITING)
            if booked.digest is None or request.stored_entry(out) == (booked.request_id, booked.digest):
                return
        time.sleep(PAUSE)


def _remedy(booked: "Booking", noun: str, out: Path) -> str:
    """Return the rest of a refusal: the state of the first run, and the remedy."""
    if booked.state.value == "committed":
        return (
            f", and {out} is not its {noun}: the {noun} was written elsewhere, or is lost. A second run would draw "
            f"noise twice for one charge. Use the {noun} of the first run, or charge a new run under"
        )
    if booked.state.value == "burned":
        return (
            ": that run failed, and nothing was released. The charge remains, because results may have been seen. Run "
            "again under"
        )
    return (
        ": that run is still in progress or was killed. Wait for it. If it has ended, the charge remains, no release "
        "is known, and you can run again under"
    )
