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
from dperm.cli.outcome import note_nothing_charged, report_earlier_run, wait_for_other_run, with_outcome
from dperm.cli.running import Interruption, note, open_output, progress_bar, reported_errors, spinner

if TYPE_CHECKING:
    from dperm.cli.charging import Account
    from dperm.cli.fit_request import FitRequest
    from dperm.cli.interrupts import Interrupts

LEDGER_ROOM = 2**18
"""Bytes that are kept free beside a ledger file for the entry that commits a release."""

HELP = """Fit a private model to DATA, charge its privacy cost to a ledger, and write the model to a file.

A schema declares bounds, categories and classes; write it without looking at the data. "dperm schema draft" writes a
draft to fill in. Bounds, categories and classes are never derived from the data; only the model is.

Steps: check the options and the schema; plan the fit; check the budget; reserve disk space for the model; read the data
and enforce the bounds; charge the budget; train the model; record the release in the ledger; write the model to a file.
Failures before the charge cost nothing. Failures after the charge are not refunded; the message states the amount
charged.

\b
Examples:
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml
  dperm fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger --out model.dperm
  dperm fit data.csv --target income --epsilon inf --not-private --schema schema.toml --out plain.dperm
"""


@dataclass(frozen=True)
class _FitFiles:
    """Files and account of a fit."""

    data: Path
    out: Path
    account: "Account | None"
    force: bool
    json: bool
    inputs: tuple[Path, ...]


def fit(
    data: options.Data,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", show_default="the target of the schema", help="Column to predict."),
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
        typer.Option(
            "--request-id",
            metavar="ID",
            show_default=False,
            help="Request id; a repeated request is neither charged nor fitted again.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File for the model.")] = Path("model.dperm"),
    C: options.RegularizationC = None,
    clip: options.Clip = None,
    n: options.Rows = None,
    quantile: options.Quantile = None,
    invalid: options.Invalid = "raise",
    separator: options.Separator = ",",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="S",
            show_default=False,
            help="Seed for the noise; the model is reproducible and NOT PRIVATE.",
        ),
    ] = None,
    not_private: Annotated[
        bool, typer.Option("--not-private", help="Allow --epsilon inf and --seed, which give no guarantee.")
    ] = False,
    diagnose: Annotated[
        bool,
        typer.Option(
            "--diagnose",
            help="Instead of a fit, list the first 20 cells of DATA that break the schema, for the data holder only. "
            "Nothing is fitted, charged or written.",
        ),
    ] = False,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Fit a model, charge it and write it."""
    with reported_errors():
        from dperm.cli.interrupts import Interrupts

        with Interrupts() as interrupts, note_nothing_charged(interrupts):
            from dperm.cli.charging import Account, RepeatedRequestError, delta_of, relation_of
            from dperm.cli.fit_request import FitRequest, checked_privacy, read_schema
            from dperm.data.bounded import invalid_rows
            from dperm.data.files import separator_name

            if diagnose:
                from dperm.cli.diagnosis import print_diagnosis

                print_diagnosis(data, read_schema(schema, target, data), separator, as_json=json)
                return
            size = checked_privacy(epsilon, seed, not_private=not_private)
            declared = read_schema(schema, target, data)
            charged = Account.of(ledger, account, request_id)
            relation = relation_of(charged, adjacency)
            request = FitRequest(
                schema=declared,
                epsilon=size,
                delta=delta_of(charged, delta),
                adjacency=relation,
                method=method,
                estimator=estimator,
                C=C,
                clip=clip,
                n=n,
                quantile=quantile,
                seed=seed,
                invalid=invalid_rows(invalid),
                separator=separator_name(separator),
            )
            inputs = (data, *([schema] if schema else []), *([Path(ledger)] if ledger else []))
            files = _FitFiles(data, out, account=charged, force=force, json=json, inputs=inputs)
            if (
                request_id is None
                or charged is None
                or not report_earlier_run(request, charged, data, out, as_json=json)
            ):
                try:
                    _fit(request, files, interrupts)
                except RepeatedRequestError:
                    wait_for_other_run(request, charged, data, out, as_json=json)


def _fit(request: "FitRequest", files: _FitFiles, interrupts: "Interrupts") -> None:
    """Plan, check the budget, read, fit and write; every outcome is reported with its cost."""
    from dperm.cli.charging import RepeatedRequestError
    from dperm.cli.fit_report import print_fitted
    from dperm.cli.output_files import allocated
    from dperm.sklearn.files import largest_size

    saved, interrupts.started = False, True
    try:
        known = _prepare(request, files)
        with allocated("--out", files.out, largest_size(request.schema)) as room, _ledger_room(files) as ballast:
            fitted = _fitted(request, files, interrupts, known, ballast)
            interrupts.delay()  # the model is charged: it is written before a signal ends the command
            out = _save(fitted, request, files, room)
        saved = True
        with open_output(f"Written: {out}."):
            print_fitted(fitted, out, files.account, as_json=files.json)
        if files.account is not None and files.account.unchecked:
            note(files.account.unchecked)
        if interrupts.arrived is not None:
            raise Interruption(interrupts.arrived)
    except RepeatedRequestError:
        raise
    except BaseException as error:
        interrupts.silence()
        raise with_outcome(error, files.account, interrupts, saved=saved) from None


def _ledger_room(files: _FitFiles) -> AbstractContextManager[Path | None]:
    """Allocate a file beside the ledger; its removal before the commit makes room for the entry."""
    from dperm.cli.output_files import allocated
    from dperm.ledger.stores import is_file

    if files.account is None or not is_file(files.account.ledger.location):
        return nullcontext()
    return allocated("--ledger", Path(files.account.ledger.location), LEDGER_ROOM)


def _save(fitted: Any, request: "FitRequest", files: _FitFiles, room: Path) -> Path:
    """Write the model, if necessary to another file, and return its path: a charged model must not be lost."""
    from dperm.sklearn.files import save

    try:
        save(fitted, files.out, schema=request.schema, overwrite=files.force, allocated=room)
        return files.out
    except FileExistsError:
        out = _other_name(files.out.parent, files.out)
        save(fitted, out, schema=request.schema, overwrite=False, allocated=room if room.exists() else None)
        note(
            f"Note: another process has written {files.out} meanwhile, which is left as it is. This model is in {out}."
        )
        return out
    except OSError as error:
        return _save_elsewhere(fitted, request, files, error)


def _save_elsewhere(fitted: Any, request: "FitRequest", files: _FitFiles, error: OSError) -> Path:
    """Write the model to the working directory, or else to the directory for temporary files."""
    from dperm.sklearn.files import save

    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        out = _other_name(folder, files.out)
        with suppress(OSError):
            save(fitted, out, schema=request.schema, overwrite=False)
            note(
                f"Warning: {files.out} could not be written ({error.strerror or type(error).__name__}). The model is "
                f"complete, and is in {out}. Move it from there."
            )
            return out
    raise error


def _other_name(folder: Path, out: Path) -> Path:
    return folder / f"{out.stem[:200]}-{uuid.uuid4().hex[:8]}{out.suffix}"


def _prepare(request: "FitRequest", files: _FitFiles) -> dict[str, object]:
    """Make all checks without data, and return the facts of the command for the ledger."""
    from dperm.cli.command_facts import FILE, facts_of
    from dperm.cli.output_files import require_free
    from dperm.data.files import table_file

    table_file(files.data)
    _require_chargeable(request, files.account)
    require_free("--out", files.out, force=files.force, inputs=files.inputs)
    plan = request.plan()
    account = files.account
    if account is None:
        return {}
    if plan is not None:
        account.ledger.check(plan.event)
    known = facts_of(request, account, files.data)
    account.require_file(files.data, known[FILE])
    return known


def _require_chargeable(request: "FitRequest", account: "Account | None") -> None:
    """Refuse an invalid seed, and a ledger for a fit without noise."""
    import math

    from dperm.sklearn import parameters

    parameters.seed_of(request.seed)
    if account is not None and math.isinf(request.epsilon):
        parameters.require_no_budget(account.ledger)


def _fitted(
    request: "FitRequest", files: _FitFiles, interrupts: "Interrupts", known: dict[str, object], ballast: Path | None
) -> Any:
    """Read the data, charge the account, and return the fitted estimator."""
    from dperm.cli.charging import WatchedBudget, require_unchanged
    from dperm.cli.command_facts import FILE
    from dperm.cli.costly_noise import costly_noise_note
    from dperm.cli.encoding import features_of
    from dperm.data.files import read_table

    account, target = files.account, request.target
    budget = content = None
    if account is not None:
        content = account.ledger.fingerprinting()
        budget = WatchedBudget(
            account.ledger, interrupts, known, lambda event: costly_noise_note(event, account, request), ballast
        )
    estimator = request.model.set_params(ledger=budget)
    with progress_bar(f"Reading {files.data.name}") as progress:
        columns = {**request.schema.encoder.columns, target.name: target}
        watch = None if content is None else content.update
        table = read_table(files.data, columns, progress, watch, unseen=request.unseen, separator=request.separator)
    if content is not None:
        require_unchanged(files.data, known[FILE], content.text)
    labels = table.pop(target.name)
    with spinner("Encoding ..."):
        features = features_of(request.schema.encoder, table, unseen=request.unseen)
    with spinner("Learning ..."):
        return estimator.fit(features, labels)
