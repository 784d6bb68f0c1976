# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Procedure of every command that reads private data and charges a ledger: plan, check, read, charge, release, write.

A `ChargedRequest` holds the differences between the commands: a model from a schema, a model of a privately prepared
table, or a private schema alone.
"""

import tempfile
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dperm.cli.outcome import report_earlier_run, wait_for_other_run, with_outcome
from dperm.cli.running import Interruption, note, open_output
from dperm.errors import AssumptionError

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.accounting.event import Event
    from dperm.cli.charging import Account, ContentCheck
    from dperm.cli.interrupts import Interrupts

SCHEMA_SUFFIX = ".schema.toml"
"""End of the name of a schema file beside a model that could not be fitted."""
LEDGER_ROOM = 2**18
"""Bytes kept free on the disk of a ledger file, for the entry that commits a release."""


class Planned(Protocol):
    """Parts of a plan that a run needs."""

    @property
    def event(self) -> "Event":
        """Event to charge."""


class Released(Protocol):
    """Result of a charged run."""

    @property
    def failure(self) -> AssumptionError | None:
        """Error that ended the run after a release, which is written all the same; None if the run succeeded."""

    def save(self, path: Path, *, overwrite: bool, allocated: Path | None = None) -> None:
        """Write the result to a file, or into ``allocated`` if that file is given.

        Raises
        ------
        FileExistsError
            If ``path`` exists and ``overwrite`` is False.
        """

    def show(self, out: Path, account: "Account | None", *, as_json: bool) -> None:
        """Print the result, which was written to ``out``."""


class ChargedRequest(Protocol):
    """Public options of a run, complete before private data are read."""

    @property
    def noun(self) -> str:
        """Name of the result in messages: "model" or "schema"."""

    @property
    def output(self) -> str:
        """Option with the file of the result, for messages."""

    @property
    def epsilon(self) -> float:
        """Privacy-loss bound; infinite for a fit without noise."""

    @property
    def delta(self) -> float:
        """Delta of the guarantee."""

    @property
    def seed(self) -> int | None:
        """Seed of a run that is NOT PRIVATE; None for secure randomness."""

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data."""

    @property
    def options(self) -> Mapping[str, object]:
        """Options by name, to which a request id is bound."""

    @property
    def largest_size(self) -> int:
        """Bytes to reserve for the file, from public numbers."""

    def plan(self) -> Planned | None:
        """Return the plan; None if it needs the number of records, which is not known yet."""

    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> Released:
        """Read the data, charge the budget, and return the release. Only a fit on row groups has several files."""

    def stored_entry(self, path: Path) -> tuple[object, object]:
        """Return request id and digest of the ledger entry in a result file; None without an entry."""


@dataclass(frozen=True)
class RunFiles:
    """Files and account of a run; there is at least one data file."""

    data: tuple[Path, ...]
    out: Path
    account: "Account | None"
    force: bool
    json: bool
    inputs: tuple[Path, ...]


def run_charged(request: ChargedRequest, files: RunFiles, interrupts: "Interrupts", *, repeatable: bool) -> None:
    """Run a request, or report the result of an earlier run of the same request.

    Parameters
    ----------
    request
        Request.
    files
        Files and account.
    interrupts
        Handler of signals.
    repeatable
        Whether the user has given a request id, which an earlier run may have used.
    """
    from dperm.cli.charging import RepeatedRequestError

    account = files.account
    if repeatable and account is not None:
        if report_earlier_run(request, account, files.data, files.out, as_json=files.json):
            return
    try:
        _run(request, files, interrupts)
    except RepeatedRequestError:
        wait_for_other_run(request, account, files.data, files.out, as_json=files.json)


def _run(request: ChargedRequest, files: RunFiles, interrupts: "Interrupts") -> None:
    """Plan, check the budget, read, release and write; every outcome is reported with its cost."""
    from dperm.cli.charging import RepeatedRequestError
    from dperm.cli.output_files import allocated

    saved, interrupts.started = False, True
    schema: Path | None = None
    try:
        known = _prepare(request, files)
        with allocated(request.output, files.out, request.largest_size) as room, _ledger_room(files) as ballast:
            released = _released(request, files, interrupts, known, ballast)
            interrupts.delay()  # the release is charged: it is written before a signal ends the command
            if released.failure is not None:
                named = _free_name(files.out.with_suffix(SCHEMA_SUFFIX))
                schema = _save(released, "schema", replace(files, out=named, force=False), room)
                raise released.failure
            out = _save(released, request.noun, files, room)
        saved = True
        with open_output(f"Written: {out}."):
            released.show(out, files.account, as_json=files.json)
        if files.account is not None and files.account.unchecked:
            note(files.account.unchecked)
        if interrupts.arrived is not None:
            raise Interruption(interrupts.arrived)
    except RepeatedRequestError:
        raise
    except BaseException as error:
        interrupts.silence()
        raise with_outcome(error, files.account, interrupts, saved=saved, noun=request.noun, schema=schema) from None


def _ledger_room(files: RunFiles) -> AbstractContextManager[Path | None]:
    """Allocate a file in the folder of the ledger; its removal before the commit makes room for the entry."""
    from dperm.cli.output_files import allocated
    from dperm.ledger.stores import is_file

    if files.account is None or not is_file(files.account.ledger.location):
        return nullcontext()
    return allocated("--ledger", Path(files.account.ledger.location), LEDGER_ROOM)


def _save(released: Released, noun: str, files: RunFiles, room: Path) -> Path:
    """Write the result, if necessary to another file, and return its path: a charged release must not be lost."""
    try:
        released.save(files.out, overwrite=files.force, allocated=room)
        return files.out
    except FileExistsError:
        out = _other_name(files.out.parent, files.out)
        released.save(out, overwrite=False, allocated=room if room.exists() else None)
        note(
            f"Note: another process has written {files.out} in the meantime. That file is unchanged, and this {noun} "
            f"is in {out}."
        )
        return out
    except OSError as error:
        return _save_elsewhere(released, noun, files, error)


def _save_elsewhere(released: Released, noun: str, files: RunFiles, error: OSError) -> Path:
    """Write the result to the working directory, or else to the directory for temporary files."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        out = _other_name(folder, files.out)
        with suppress(OSError):
            released.save(out, overwrite=False)
            note(
                f"Warning: {files.out} could not be written ({error.strerror or type(error).__name__}). The {noun} is "
                f"complete, and is in {out}. Move it from there."
            )
            return out
    raise error


def _free_name(path: Path) -> Path:
    """Return the path, or a similar one if there is a file."""
    return _other_name(path.parent, path) if path.exists() else path


def _other_name(folder: Path, out: Path) -> Path:
    return folder / f"{out.stem[:200]}-{uuid.uuid4().hex[:8]}{out.suffix}"


def _prepare(request: ChargedRequest, files: RunFiles) -> dict[str, object]:
    """Make all checks without data, and return the facts of the command for the ledger."""
    from dperm.cli.command_facts import facts_of, fingerprints
    from dperm.cli.output_files import require_free
    from dperm.data.files import table_file

    for path in files.data:
        table_file(path)
    _require_chargeable(request, files.account)
    require_free(request.output, files.out, force=files.force, inputs=files.inputs)
    plan = request.plan()
    account = files.account
    if account is None:
        return {}
    if plan is not None:
        account.ledger.check(plan.event)
    known = facts_of(request, account, files.data)
    for path, fingerprint in zip(files.data, fingerprints(known), strict=True):
        account.require_file(path, fingerprint)
    return known


def _require_chargeable(request: ChargedRequest, account: "Account | None") -> None:
    """Refuse an invalid seed, and a ledger for a fit without noise."""
    import math

    from dperm.sklearn import parameters

    parameters.seed_of(request.seed)
    if account is not None and math.isinf(request.epsilon):
        parameters.require_no_budget(account.ledger)


def _released(
    request: ChargedRequest, files: RunFiles, interrupts: "Interrupts", known: dict[str, Any], ballast: Path | None
) -> Released:
    """Read the data, charge the account, and return the release."""
    from dperm.cli.charging import ContentCheck, WatchedBudget
    from dperm.cli.command_facts import fingerprints
    from dperm.cli.costly_noise import costly_noise_note

    account = files.account
    if account is None:
        return request.run(files.data, None, ContentCheck(files.data))
    budget = WatchedBudget(
        account.ledger, interrupts, known, lambda event: costly_noise_note(event, account, request), ballast
    )
    expected = dict(zip(files.data, fingerprints(known), strict=True))
    return request.run(files.data, budget, ContentCheck(files.data, account.ledger, expected))
