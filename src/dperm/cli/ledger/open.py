# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger open``: a new account."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.ledger.options import AnchorOut, Force, Location
from dperm.cli.options import AdjacencyName, AsJson, number
from dperm.cli.running import note, reported_errors

if TYPE_CHECKING:
    from dperm.cli.ledger.standing import Standing

HELP = """Open an account: whose data it protects, and how much of their privacy may be spent in all.

The limit is one of: --epsilon (pure), --epsilon with --delta and --blocks, --rho (zCDP), --mu (Gaussian DP), or --order
with --tau (Renyi DP). It is fixed before the first release. The ledger is made if there is none.

Keep the anchor that is printed where the ledger is not: only with it can be seen that an older copy was put back.

\b
Examples:
  dperm ledger open census.ledger --dataset "census 2026" --unit "one person" --adjacency replace_one \\
    --epsilon 3 --delta 1e-6 --blocks 10
  dperm ledger open census.ledger --account research --parent main --dataset "census 2026, region 7" \\
    --adjacency replace_one --rho 0.1 --approval
  dperm ledger open pure.ledger --dataset "survey" --adjacency add_remove --epsilon 1 --write-anchor anchor.json
"""

Words = typer.Option  # a line of text, free to choose


def open(
    location: Location,
    dataset: Annotated[str, Words("--dataset", metavar="TEXT", help="The data set, as its owner calls it.")],
    unit: Annotated[
        str | None,
        Words("--unit", metavar="TEXT", show_default="one record, or as --parent", help="What a record stands for."),
    ] = None,
    adjacency: AdjacencyName = "",
    epsilon: Annotated[float | None, number("--epsilon", "The most that may be spent.")] = None,
    delta: Annotated[float | None, number("--delta", "With --epsilon: the delta in all.")] = None,
    blocks: Annotated[
        int | None,
        typer.Option("--blocks", metavar="COUNT", show_default=False, help="Releases that share --delta, at most."),
    ] = None,
    composition: Annotated[
        str,
        typer.Option(
            "--composition",
            metavar="basic|advanced",
            help="With --delta: add epsilons, or their squares, which is better for many small releases.",
        ),
    ] = "basic",
    rho: Annotated[float | None, number("--rho", "The most that may be spent in zCDP.")] = None,
    mu: Annotated[float | None, number("--mu", "The most that may be spent in Gaussian DP.")] = None,
    order: Annotated[float | None, number("--order", "With --tau: the order of Renyi DP.")] = None,
    tau: Annotated[float | None, number("--tau", "The most that may be spent at --order.")] = None,
    account: Annotated[str, Words("--account", metavar="NAME", help="How the account is called.")] = "main",
    parent: Annotated[
        list[str] | None,
        Words(
            "--parent",
            metavar="NAME",
            show_default=False,
            help="An account of data that these overlap or were made from: charged too. May be repeated.",
        ),
    ] = None,
    approval: Annotated[bool, typer.Option("--approval", help="Every release needs an approval beforehand.")] = False,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            show_default=False,
            help="A file of these data, kept as a keyed fingerprint: dperm fit takes no other. May be repeated.",
        ),
    ] = None,
    write_anchor: AnchorOut = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Open an account."""
    with reported_errors():
        from dperm.cli.ledger.anchors import write_anchors
        from dperm.cli.ledger.limits import Sizes, new_limit
        from dperm.cli.ledger.no_ledger import require_ledger_or_nothing
        from dperm.cli.ledger.standing import standings
        from dperm.cli.paths import require_free
        from dperm.cli.subject import filling
        from dperm.ledger import Ledger

        relation = filling(adjacency).adjacency
        limit = new_limit(Sizes(epsilon, delta, rho, mu, order, tau), relation, blocks)
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
            files=data or (),
        )
        (opened,) = standings(location, account)
        if write_anchor is not None:
            write_anchors(write_anchor, [opened.anchor])
        _warn_of_any_file(opened)
        if json:
            _print_json(opened)
        else:
            _print_text(opened, write_anchor)


def _require_parents(location: str, parents: list[str]) -> None:
    """Before the file of a new ledger is made: a parent that is not there would leave it empty."""
    from dperm.errors import LedgerError
    from dperm.ledger import Ledger

    known = Ledger(location).accounts() if parents else ()
    missing = [name for name in parents if name not in known]
    if missing:
        rest = f"it has {', '.join(map(repr, known))}" if known else "it has none yet"
        raise LedgerError(f"--parent: there is no account {missing[0]!r} in the ledger; {rest}. Open it first.")


def _unit(location: str, parents: list[str]) -> str:
    """That of a parent: what is charged to both is about the same."""
    from dperm.ledger import Ledger

    return Ledger(location, parents[0]).account_facts.unit if parents else "one record"


def _warn_of_any_file(opened: "Standing") -> None:
    """Warn of a child without files under an account that has some: a fit on any file is charged through it."""
    above = [one.account for one in opened.balances[1:] if one.facts.fingerprints]
    if above and not opened.facts.fingerprints:
        note(
            f"Warning: account {above[0]!r} has registered files, and {opened.facts.name!r} has none: a fit on any "
            f"file can be charged to {above[0]!r} through {opened.facts.name!r}. Files are registered when an account "
            "is opened: to prevent it, open the account that is used with --data FILE."
        )


def _print_json(opened: "Standing") -> None:
    from dperm.cli.output import print_json

    print_json({"ledger": opened.anchor.ledger, **opened.data()})


def _print_text(opened: "Standing", kept: Path | None) -> None:
    from dperm.cli.ledger.layout import print_folded, print_named
    from dperm.cli.ledger.words import charged, in_words

    facts = opened.facts
    print_folded(f"Opened account {facts.name!r}: {facts.dataset}, {facts.unit}.")
    rows = [
        ("limit", in_words(facts.limit)),
        ("releases", charged(facts)),
        *([("parents", f"{', '.join(facts.parents)}: charged too, each release in all of them")] * bool(facts.parents)),
        *([("approval", "every release needs one beforehand: dperm ledger approve")] * facts.approval),
        *([("data", f"{len(facts.fingerprints)} registered: dperm fit takes no other")] * bool(facts.fingerprints)),
        ("ledger", opened.anchor.ledger),
    ]
    typer.echo()
    print_named(rows)
    typer.echo()
    if kept is not None:
        print_folded(f"The anchor is in {kept}: keep it where the ledger is not.")
        return
    print_folded("Keep this anchor where the ledger is not; dperm ledger verify --anchor FILE reads it:")
    typer.echo(opened.anchor.to_json())
