# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger open``: new account with a limit."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.ledger.options import AnchorOut, Force, Location
from dperm.cli.options import AdjacencyName, AsJson, number
from dperm.cli.running import note, reported_errors

if TYPE_CHECKING:
    from dperm.cli.ledger.account_status import AccountStatus

HELP = """Open an account for a data set, with a limit on the total privacy loss of its releases.

The limit is one of: --epsilon (pure), --epsilon with --delta and --blocks, --rho (zCDP), --mu (Gaussian DP), or --order
with --tau (Renyi DP). Set it before the first release. The ledger is created if it does not exist.

The command prints an anchor: a signed copy of the hash of the latest entry. Store the anchor separately from the
ledger, and store a newer one after later charges ("dperm ledger show --write-anchor"). With an anchor, "dperm ledger
verify" detects a rollback to any copy that is older than the anchor.

\b
Examples:
  dperm ledger open census.ledger --dataset "census 2026" --unit "one person" --adjacency replace_one \\
    --epsilon 3 --delta 1e-6 --blocks 10
  dperm ledger open census.ledger --account research --parent main --dataset "census 2026, region 7" \\
    --adjacency replace_one --rho 0.1 --approval
  dperm ledger open pure.ledger --dataset "survey" --adjacency add_remove --epsilon 1 --write-anchor anchor.json
"""


def open(
    location: Location,
    dataset: Annotated[str, typer.Option("--dataset", metavar="TEXT", help="Name of the data set.")],
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="TEXT",
            show_default="one record, or the unit of --parent",
            help="Unit of privacy, such as 'one person'.",
        ),
    ] = None,
    adjacency: AdjacencyName = "",
    epsilon: Annotated[float | None, number("--epsilon", "Limit on the total epsilon.")] = None,
    delta: Annotated[float | None, number("--delta", "With --epsilon: limit on the total delta.")] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            metavar="COUNT",
            show_default=False,
            help="Maximum number of releases; they share --delta equally.",
        ),
    ] = None,
    composition: Annotated[
        str,
        typer.Option(
            "--composition",
            metavar="basic|advanced",
            help="With --delta: basic adds epsilons; advanced adds their squares (better for many small releases).",
        ),
    ] = "basic",
    rho: Annotated[float | None, number("--rho", "Limit on the total rho (zCDP).")] = None,
    mu: Annotated[float | None, number("--mu", "Limit on the total mu (Gaussian DP).")] = None,
    order: Annotated[float | None, number("--order", "With --tau: order of Renyi DP, greater than 1.")] = None,
    tau: Annotated[float | None, number("--tau", "Limit on the total Renyi divergence at --order.")] = None,
    account: Annotated[str, typer.Option("--account", metavar="NAME", help="Account name.")] = "main",
    parent: Annotated[
        list[str] | None,
        typer.Option(
            "--parent",
            metavar="NAME",
            show_default=False,
            help="Account of a data set that overlaps this one, or from which this one was taken. Every release from "
            "the new account is also charged to this parent. May be repeated.",
        ),
    ] = None,
    approval: Annotated[bool, typer.Option("--approval", help="Require an approval before each release.")] = False,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="FILE",
            show_default=False,
            help="Data file, or quoted pattern such as 'data/*.parquet', to register by a keyed fingerprint of each "
            "file. For this account, commands then accept only registered files. May be repeated.",
        ),
    ] = None,
    write_anchor: AnchorOut = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Open an account, and print it with its anchor."""
    with reported_errors():
        from dperm.cli.event_input import substitution
        from dperm.cli.ledger.account_status import account_statuses
        from dperm.cli.ledger.anchors import write_anchors
        from dperm.cli.ledger.limits import LimitOptions, new_limit
        from dperm.cli.ledger.location_checks import require_ledger_or_nothing
        from dperm.cli.output_files import require_free
        from dperm.ledger import Ledger

        files = _registered(data or [])
        relation = substitution(adjacency).adjacency
        limit = new_limit(LimitOptions(epsilon, delta, rho=rho, mu=mu, order=order, tau=tau), relation, blocks)
        if write_anchor is not None:
            require_free("--write-anchor", write_anchor, force=force)
        require_ledger_or_nothing(location)
        _require_parents(location, parent or [])
        Ledger.open(
            location,
            limit,
            dataset=dataset,
            unit=_unit(location, parent or []) if unit is None else unit,
            account=account,
            blocks=blocks,
            composition=composition,
            parents=parent or (),
            approval=approval,
            files=files,
        )
        (opened,) = account_statuses(location, account)
        if write_anchor is not None:
            write_anchors(write_anchor, [opened.anchor])
        _warn_of_any_file(opened)
        if json:
            _print_json(opened)
        else:
            _print_text(opened, write_anchor)


def _registered(data: list[Path]) -> tuple[Path, ...]:
    """Return the files of --data, also those that match patterns; refuse a missing one before a ledger is made."""
    from dperm.cli.table_reading import data_files
    from dperm.errors import ParameterError

    files = data_files(data, "--data")
    for path in files:
        if not path.exists():
            raise ParameterError(f"--data: {str(path)!r} does not exist.")
        if not os.access(path, os.R_OK):
            raise ParameterError(f"--data: {str(path)!r} cannot be read.")
    return files


def _require_parents(location: str, parents: list[str]) -> None:
    """Refuse a missing parent before the file of a new ledger is created."""
    from dperm.errors import LedgerError
    from dperm.ledger import Ledger

    known = Ledger(location).accounts() if parents else ()
    missing = [name for name in parents if name not in known]
    if missing:
        rest = f"it has {', '.join(map(repr, known))}" if known else "it has none yet"
        raise LedgerError(f"--parent: there is no account {missing[0]!r} in the ledger; {rest}. Open it first.")


def _unit(location: str, parents: list[str]) -> str:
    """Return the unit of the first parent; "one record" without parents."""
    from dperm.ledger import Ledger

    return Ledger(location, parents[0]).account_facts.unit if parents else "one record"


def _warn_of_any_file(opened: "AccountStatus") -> None:
    """Warn of an account without registered files under one that has some: it accepts a fit on any file."""
    above = [one.account for one in opened.balances[1:] if one.facts.fingerprints]
    if above and not opened.facts.fingerprints:
        note(
            f"Warning: account {above[0]!r} has registered files, and {opened.facts.name!r} has none: a fit on any "
            f"file can be charged to {above[0]!r} through {opened.facts.name!r}. To restrict an account to certain "
            "files, register them when you open it: --data FILE."
        )


def _print_json(opened: "AccountStatus") -> None:
    from dperm.cli.output import print_json

    print_json({"ledger": opened.anchor.ledger, **opened.data()})


def _describe_parents(parents: Sequence[str]) -> str:
    return f"{', '.join(parents)} (every release is also charged to {'it' if len(parents) == 1 else 'them'})"


def _print_text(opened: "AccountStatus", kept: Path | None) -> None:
    from dperm.cli.ledger.formatting import describe_charges, format_limit
    from dperm.cli.ledger.layout import print_folded, print_named
    from dperm.presentation.phrases import count_of

    facts = opened.facts
    print_folded(f"Opened account {facts.name!r}: {facts.dataset}, {facts.unit}.")
    rows = [
        ("limit", format_limit(facts.limit)),
        ("releases", describe_charges(facts)),
        *([("parents", _describe_parents(facts.parents))] * bool(facts.parents)),
        *([("approval", "required before every release: dperm ledger approve")] * facts.approval),
        *(
            [
                (
                    "data",
                    f"{count_of(len(facts.fingerprints), 'file')} registered; commands accept only registered files",
                )
            ]
            * bool(facts.fingerprints)
        ),
        ("ledger", opened.anchor.ledger),
    ]
    typer.echo()
    print_named(rows)
    typer.echo()
    if kept is not None:
        print_folded(f"The anchor was written to {kept}; store it separately from the ledger.")
        return
    print_folded('Store this anchor separately from the ledger; "dperm ledger verify --anchor FILE" reads it:')
    typer.echo(opened.anchor.to_json())
