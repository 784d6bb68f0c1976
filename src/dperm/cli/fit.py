# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit``: a private model from a file of data, charged to a ledger."""

import tempfile
import uuid
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli import model_options as options
from dperm.cli.options import AsJson
from dperm.cli.outcome import done_before, done_meanwhile, nothing_charged, told
from dperm.cli.running import Interruption, note, open_output, progress_bar, reported_errors, spinner

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.interrupts import Interrupts
    from dperm.cli.problem import Problem

LEDGER_ROOM = 2**18
"""Bytes that are kept free beside a ledger's file for the entry that commits a release."""

HELP = """Learn a model from DATA with a guarantee, charge it to a ledger, and write it to a file.

Bounds, categories and classes are declared in a schema, from what is known without the data: "dperm schema draft"
writes one to fill in. Nothing is taken from the data but the model itself.

The order: options and schema are checked and the plan is made; the budget is checked; space for the model is allocated
on the disk; the data are read and brought within their bounds; the budget is charged; the model is learnt, booked, and
written. Failures before the charge cost nothing. Failures after the charge are not refunded; the message states the
amount charged.

\b
Examples:
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger --out model.dperm
  dperm fit data.csv --target income --epsilon inf --not-private --schema schema.toml --out plain.dperm
"""


@dataclass(frozen=True)
class _Request:
    """Where things are read from, charged and written to."""

    data: Path
    out: Path
    account: "Account | None"
    force: bool
    json: bool
    inputs: tuple[Path, ...]


def fit(
    data: options.Data,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", show_default="that of the schema", help="To predict.")
    ] = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    adjacency: options.Relation = None,
    method: options.MethodName = "auto",
    estimator: options.EstimatorName = None,
    schema: options.SchemaFile = None,
    ledger: options.LedgerPlace = None,
    account: options.AccountName = None,
    request_id: Annotated[
        str | None,
        typer.Option("--request-id", metavar="ID", show_default=False, help="Charge and fit once under this name."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Where the model is written.")] = Path(
        "model.dperm"
    ),
    C: options.RegularizationC = None,
    clip: options.Clip = None,
    n: options.Rows = None,
    quantile: options.Quantile = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", show_default=False, help="Reproducible, and NOT PRIVATE.")
    ] = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Allow --epsilon inf and --seed, which promise nothing.")
    ] = False,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Fit the model of a command line."""
    with reported_errors():
        from dperm.cli.interrupts import Interrupts

        with Interrupts() as interrupts, nothing_charged(interrupts):
            from dperm.cli import problem
            from dperm.cli.charging import Account, RepeatedRequestError, delta_of, relation_of

            size = problem.checked_privacy(epsilon, seed, not_private=not_private)
            declared = problem.read_schema(schema, target, data)
            charged = Account.of(ledger, account, request_id)
            relation = relation_of(charged, adjacency)
            asked = problem.Problem(
                declared,
                size,
                delta_of(charged, delta),
                relation,
                method,
                estimator,
                C=C,
                clip=clip,
                n=n,
                quantile=quantile,
                seed=seed,
            )
            inputs = (data, *([schema] if schema else []), *([Path(ledger)] if ledger else []))
            request = _Request(data, out, charged, force, json, inputs)
            if request_id is None or charged is None or not done_before(asked, charged, data, out, as_json=json):
                try:
                    _fit(asked, request, interrupts)
                except RepeatedRequestError:
                    done_meanwhile(asked, charged, data, out, as_json=json)


def _fit(asked: "Problem", request: _Request, interrupts: "Interrupts") -> None:
    """Plan, check the budget, read, and run; every outcome is reported with its cost."""
    from dperm.cli.charging import RepeatedRequestError
    from dperm.cli.fit_report import print_fitted
    from dperm.cli.paths import allocated
    from dperm.sklearn.files import largest_size

    saved, interrupts.started = False, True
    try:
        known = _prepare(asked, request)
        with allocated("--out", request.out, largest_size(asked.schema)) as room, _ledger_room(request) as ballast:
            learnt = _learnt(asked, request, interrupts, known, ballast)
            interrupts.hold()  # it is paid for: what is left takes a moment, and is finished first
            out = _saved(learnt, request, asked, room)
        saved = True
        with open_output(f"Written: {out}."):
            print_fitted(learnt, out, request.account, as_json=request.json)
        if request.account is not None and request.account.unchecked:
            note(request.account.unchecked)
        if interrupts.arrived is not None:
            raise Interruption(interrupts.arrived)
    except RepeatedRequestError:
        raise
    except BaseException as error:
        interrupts.silence()
        raise told(error, request.account, interrupts, saved=saved) from None


def _ledger_room(request: _Request) -> AbstractContextManager[Path | None]:
    """A file beside the ledger's that is removed before the release is committed: its entry then has room."""
    from dperm.cli.paths import allocated
    from dperm.ledger.stores import is_file

    if request.account is None or not is_file(request.account.ledger.location):
        return nullcontext()
    return allocated("--ledger", Path(request.account.ledger.location), LEDGER_ROOM)


def _saved(learnt: Any, request: _Request, asked: "Problem", room: Path) -> Path:
    """Write the model; at another place if that fails, for it is paid for."""
    from dperm.sklearn import files

    try:
        files.save(learnt, request.out, schema=asked.schema, overwrite=request.force, allocated=room)
        return request.out
    except FileExistsError:
        out = _other_name(request.out.parent, request.out)
        files.save(learnt, out, schema=asked.schema, overwrite=False, allocated=room if room.exists() else None)
        note(
            f"Note: {request.out} was written by somebody else meanwhile, and is left as it is: this model is in {out}."
        )
        return out
    except OSError as error:
        return _rescued(learnt, request, asked, error)


def _rescued(learnt: Any, request: _Request, asked: "Problem", error: OSError) -> Path:
    """Write a model that is paid for into the working directory, or else into the one for temporary files."""
    from dperm.sklearn import files

    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        out = _other_name(folder, request.out)
        with suppress(OSError):
            files.save(learnt, out, schema=asked.schema, overwrite=False)
            note(
                f"Warning: {request.out} could not be written ({error.strerror or type(error).__name__}). The model is "
                f"complete, and is in {out}. Move it from there."
            )
            return out
    raise error


def _other_name(folder: Path, out: Path) -> Path:
    return folder / f"{out.stem[:200]}-{uuid.uuid4().hex[:8]}{out.suffix}"


def _prepare(asked: "Problem", request: _Request) -> dict[str, object]:
    """Everything that can be refused before the data are read; what the books will keep of the command."""
    from dperm.cli.command_facts import FILE, facts_of
    from dperm.cli.paths import require_free
    from dperm.data.files import table_file

    table_file(request.data)
    _require_chargeable(asked, request.account)
    require_free("--out", request.out, force=request.force, inputs=request.inputs)
    plan = asked.plan()
    account = request.account
    if account is None:
        return {}
    if plan is not None:
        account.ledger.check(plan.event)
    known = facts_of(asked, account, request.data)
    account.require_file(request.data, known[FILE])
    return known


def _require_chargeable(asked: "Problem", account: "Account | None") -> None:
    """Refuse a seed that is none, and a charge for a fit without noise."""
    import math

    from dperm.sklearn import parameters

    parameters.seed_of(asked.seed)
    if account is not None and math.isinf(asked.epsilon):
        parameters.require_no_budget(account.ledger)


def _learnt(
    asked: "Problem", request: _Request, interrupts: "Interrupts", known: dict[str, object], ballast: Path | None
) -> Any:
    """The fitted estimator: charged to the account, if there is one."""
    from dperm.cli.charging import WatchedBudget, require_unchanged
    from dperm.cli.command_facts import FILE
    from dperm.cli.dear_noise import on_dear_noise
    from dperm.cli.encoding import features_of
    from dperm.data.files import read_table

    account, target = request.account, asked.target
    budget = content = None
    if account is not None:
        content = account.ledger.fingerprinting()
        budget = WatchedBudget(
            account.ledger, interrupts, known, lambda event: on_dear_noise(event, account, asked), ballast
        )
    estimator = asked.made(budget)
    with progress_bar(f"Reading {request.data.name}") as progress:
        columns = {**asked.schema.encoder.columns, target.name: target}
        table = read_table(request.data, columns, progress, None if content is None else content.update)
    if content is not None:
        require_unchanged(request.data, known[FILE], content.text)
    labels = table.pop(target.name)
    with spinner("Encoding ..."):
        features = features_of(asked.schema.encoder, table)
    with spinner("Learning ..."):
        return estimator.fit(features, labels)
