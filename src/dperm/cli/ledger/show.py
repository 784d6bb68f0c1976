# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger show``: spent and remaining budget."""

from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.ledger.options import AccountName, AnchorOut, Force, Location
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

if TYPE_CHECKING:
    from dperm.cli.ledger.account_status import AccountStatus

HELP = """Show the spent and remaining budget of every account; with --entries, every entry of the ledger.

Spent amounts are rounded up and remaining ones down. The guarantee for all releases together is the limit, not the
amount spent. For an account with parents, "spendable" is an amount in the unit of the account's limit, such as rho. If
all limits have the same type, adjacency and delta per release, the account and its ancestors cover every release that
costs at most this amount. Otherwise, the amount is the cost of the most expensive Gaussian-noise release that all these
accounts cover. If one of the limits is for pure DP, Laplace noise takes the place of Gaussian noise. Releases of other
kinds may then be covered at a higher cost, or refused at a lower one. The ledger is verified first; if an entry or a
total was altered, nothing is shown.

\b
Examples:
  dperm ledger show census.ledger
  dperm ledger show census.ledger --account main --entries --json
  dperm ledger show census.ledger --write-anchor anchor.json
"""


def show(
    location: Location,
    account: AccountName = None,
    entries: Annotated[
        bool, typer.Option("--entries", help="List every release, approval and change of a limit.")
    ] = False,
    write_anchor: AnchorOut = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Show the accounts of a ledger."""
    with reported_errors():
        from dperm.cli.ledger.account_status import account_statuses
        from dperm.cli.ledger.anchors import write_anchors
        from dperm.cli.output_files import require_free

        if write_anchor is not None:
            require_free("--write-anchor", write_anchor, force=force)
        found = account_statuses(location, account, entries=entries)
        if write_anchor is not None and found:
            write_anchors(write_anchor, [one.anchor for one in found])
        if json:
            _print_json(found, entries)
        else:
            _print_text(found, entries)
            if write_anchor is not None and found:
                typer.echo(f"\nThe anchor was written to {write_anchor}; store it separately from the ledger.")


def _print_json(found: "tuple[AccountStatus, ...]", entries: bool) -> None:
    from dperm.cli.ledger.listing import data_of
    from dperm.cli.output import print_json

    accounts = [{**one.data(), **({"entries": data_of(one)} if entries else {})} for one in found]
    print_json({"ledger": found[0].anchor.ledger if found else None, "accounts": accounts})


def _print_text(found: "tuple[AccountStatus, ...]", entries: bool) -> None:
    from dperm.cli.ledger.listing import print_lines
    from dperm.cli.output import print_table

    if not found:
        typer.echo("The ledger has no account yet. Open one: dperm ledger open.")
        return
    tied = any(one.facts.parents for one in found)
    columns = ("account", "quantity", "limit", "spent", "remaining", *(["spendable"] * tied), "used")
    print_table(columns, _meters(found, tied))
    typer.echo()
    headers = ("account", "released", "burned", "open", "seeded", "last entry")
    print_table(headers, [_counts(one) for one in found])
    for one in found:
        _print_declared(one)
        if entries:
            print_lines(one)
    _print_warnings(found)


def _meters(found: "tuple[AccountStatus, ...]", tied: bool) -> list[tuple[str, ...]]:
    """Return the rows of the table; spendable amounts are included if an account has parents."""
    from dperm.cli.ledger.formatting import meter_rows
    from dperm.cli.ledger.layout import format_share

    return [
        (one.facts.name if number == 0 else "", *texts, *([most] * tied), format_share(share))
        for one in found
        for number, (*texts, most, share) in enumerate(meter_rows(one))
    ]


def _counts(one: "AccountStatus") -> tuple[str, ...]:
    numbers = (one.counts.committed, one.counts.burned, one.open, one.counts.seeded)
    return one.facts.name, *map(str, numbers), f"{one.anchor.seq}, {one.anchor.hash[:12]}"


def _print_declared(one: "AccountStatus") -> None:
    from dperm.cli.ledger.formatting import describe_charges, format_limit
    from dperm.cli.ledger.layout import print_folded
    from dperm.cli.output import plain_down

    facts, limit = one.facts, one.spendable.limited_by
    also = [
        *([f"Every release is also charged to {', '.join(facts.parents)}."] * bool(facts.parents)),
        *(
            [f"Spendable: {format_limit(one.spendable.guarantee, plain_down)}, limited by account {limit!r}."]
            * bool(limit)
        ),
        *(["Every release needs an approval."] * facts.approval),
        *([f"Files registered: {len(facts.fingerprints)}."] * bool(facts.fingerprints)),
    ]
    text = f"{facts.dataset}, {facts.unit}. Limit: {format_limit(facts.limit)}. Releases: {describe_charges(facts)}"
    typer.echo()
    print_folded(" ".join([text, *also]), first=f"{facts.name}: ", rest="  ")


def _print_warnings(found: "tuple[AccountStatus, ...]") -> None:
    from dperm.cli.ledger.layout import print_folded
    from dperm.presentation.phrases import count_of

    for one in found:
        if one.open:
            typer.echo()
            print_folded(
                f"{one.facts.name}: {count_of(one.open, 'open charge')}. A run is in progress, or it was killed before "
                "its release. The charge remains in both cases. To close the charge of a run that has died, run: "
                "dperm ledger burn"
            )
        if one.counts.seeded:
            typer.echo()
            print_folded(
                f"{one.facts.name}: {count_of(one.counts.seeded, 'release')} "
                f"{'is' if one.counts.seeded == 1 else 'are'} "
                "NOT PRIVATE. The noise was drawn from a seed, and anyone who knows the seed can subtract the noise. "
                "The limit holds for the other releases only."
            )
