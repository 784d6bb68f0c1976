# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger show``: what is spent and left."""

from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.ledger.options import AccountName, AnchorOut, Force, Location
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

if TYPE_CHECKING:
    from dperm.cli.ledger.standing import Standing

HELP = """What is spent of every account, and what is left; with --entries, every line of the books.

Spent is rounded up and left is rounded down. What is spent is the reading of a meter: the promise is the limit. For an
account with parents, a release of the size "spendable" is covered by the account and all its ancestors; releases of
other kinds, such as pure ones, may be larger. The books are verified first; if an entry or a total was changed, nothing
is shown.

\b
Examples:
  dperm ledger show census.ledger
  dperm ledger show census.ledger --account main --entries --json
  dperm ledger show census.ledger --write-anchor anchor.json
"""


def show(
    location: Location,
    account: AccountName = None,
    entries: Annotated[bool, typer.Option("--entries", help="List every release, approval and change.")] = False,
    write_anchor: AnchorOut = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Show the accounts of a ledger."""
    with reported_errors():
        from dperm.cli.ledger.anchors import write_anchors
        from dperm.cli.ledger.standing import standings
        from dperm.cli.paths import require_free

        if write_anchor is not None:
            require_free("--write-anchor", write_anchor, force=force)
        found = standings(location, account, entries=entries)
        if write_anchor is not None and found:
            write_anchors(write_anchor, [one.anchor for one in found])
        if json:
            _print_json(found, entries)
        else:
            _print_text(found, entries)
            if write_anchor is not None and found:
                typer.echo(f"\nThe anchor is in {write_anchor}: keep it where the ledger is not.")


def _print_json(found: "tuple[Standing, ...]", entries: bool) -> None:
    from dperm.cli.ledger.listing import data_of
    from dperm.cli.output import print_json

    accounts = [{**one.data(), **({"entries": data_of(one)} if entries else {})} for one in found]
    print_json({"ledger": found[0].anchor.ledger if found else None, "accounts": accounts})


def _print_text(found: "tuple[Standing, ...]", entries: bool) -> None:
    from dperm.cli.ledger.listing import print_lines
    from dperm.cli.output import print_table

    if not found:
        typer.echo("The ledger has no account yet: dperm ledger open.")
        return
    tied = any(one.facts.parents for one in found)
    columns = ("account", "currency", "limit", "spent", "left", *(["spendable"] * tied), "used")
    print_table(columns, _meters(found, tied))
    typer.echo()
    headers = ("account", "released", "burned", "open", "seeded", "last line")
    print_table(headers, [_counts(one) for one in found])
    for one in found:
        _print_declared(one)
        if entries:
            print_lines(one)
    _print_warnings(found)


def _meters(found: "tuple[Standing, ...]", tied: bool) -> list[tuple[str, ...]]:
    """The rows of the table; the spendable amounts are shown if an account has parents."""
    from dperm.cli.ledger.layout import used
    from dperm.cli.ledger.words import meter_rows

    return [
        (one.facts.name if number == 0 else "", *texts, *([most] * tied), used(share))
        for one in found
        for number, (*texts, most, share) in enumerate(meter_rows(one))
    ]


def _counts(one: "Standing") -> tuple[str, ...]:
    numbers = (one.counts.committed, one.counts.burned, one.open, one.counts.seeded)
    return one.facts.name, *map(str, numbers), f"{one.anchor.seq}, {one.anchor.hash[:12]}"


def _print_declared(one: "Standing") -> None:
    from dperm.cli.ledger.layout import print_folded
    from dperm.cli.ledger.words import charged, in_words

    facts, limit = one.facts, one.spendable.limited_by
    also = [
        *([f"Charges {', '.join(facts.parents)} too."] * bool(facts.parents)),
        *([f"Spendable: {in_words(one.spendable.guarantee)}, limited by account {limit!r}."] * bool(limit)),
        *(["Every release needs an approval."] * facts.approval),
        *([f"Files registered: {len(facts.fingerprints)}."] * bool(facts.fingerprints)),
    ]
    text = f"{facts.dataset}, {facts.unit}. Limit: {in_words(facts.limit)}. Releases: {charged(facts)}"
    typer.echo()
    print_folded(" ".join([text, *also]), first=f"{facts.name}: ", rest="  ")


def _print_warnings(found: "tuple[Standing, ...]") -> None:
    from dperm.cli.ledger.layout import print_folded

    for one in found:
        if one.open:
            typer.echo()
            print_folded(
                f"{one.facts.name}: {one.open} open. A run is under way, or it has crashed and is never closed. It "
                "stays charged either way."
            )
        if one.counts.seeded:
            typer.echo()
            print_folded(
                f"{one.facts.name}: {one.counts.seeded} NOT PRIVATE. The noise followed from a seed: whoever knows the "
                "seed can subtract it, and the limit holds for the other releases alone."
            )
