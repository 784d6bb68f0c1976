# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger verify``: check of all entries, and of charged files."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.ledger.options import Location
from dperm.cli.options import AsJson
from dperm.cli.running import VIOLATION, note, reported_errors, spinner

if TYPE_CHECKING:
    from dperm.cli.ledger.artefact import Artefact
    from dperm.ledger import Verification
    from dperm.ledger.verify import VerifiedAccount

HELP = """Check every hash, sum and limit of a ledger. The exit code is 5 if a check fails.

The .lock file beside a ledger file reveals a rollback to an older copy. If this file is missing or was rolled back too,
or if the ledger is in PostgreSQL, a rollback is only detected with an anchor (a signed copy of the latest entry's
hash), or with the receipt in a model whose release was charged to the ledger. An anchor or a receipt signs one entry of
the ledger. It detects only a rollback to an older copy, which does not contain this entry.

With --model, the model must also agree with its ledger entry: released coefficients, guarantee, event, noise, and the
parameters and public facts in the header of the model file. A note lists the parts that are not compared.

\b
Examples:
  dperm ledger verify census.ledger
  dperm ledger verify census.ledger --anchor anchor.json --prices
  dperm ledger verify census.ledger --model model.dperm --json
"""

NO_ANCHOR = (
    "No anchor was given. Without one, a rollback to an older copy is not detected if the .lock file beside the ledger "
    "is missing or was rolled back too. To store an anchor separately from the ledger, run: dperm ledger show LEDGER "
    "--write-anchor FILE"
)


def verify(
    location: Location,
    anchor: Annotated[
        list[Path] | None,
        typer.Option(
            "--anchor",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            show_default=False,
            help=(
                "Anchor file written by --write-anchor, or saved --json output that contains anchors; may be repeated."
            ),
        ),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            show_default=False,
            help="Model whose release was charged to this ledger, or its statement in JSON; may be repeated.",
        ),
    ] = None,
    prices: Annotated[
        bool, typer.Option("--prices", help="Also recompute the cost of every release; this takes longer.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Check a ledger, and files against it; exits with code 5 on a problem."""
    with reported_errors():
        from dperm.cli.ledger.anchors import read_anchors
        from dperm.cli.ledger.artefact import read_artefact
        from dperm.cli.ledger.location_checks import require_ledger
        from dperm.ledger import verify as verified

        anchors = [one for file in anchor or () for one in read_anchors(file)]
        artefacts = [read_artefact(file) for file in model or ()]
        require_ledger(location)
        with spinner("Verifying ..."):
            carried = [found for found in (one.anchor() for one in artefacts) if found is not None]
            found = verified(location, [*anchors, *carried], prices=prices)
            contradictions, notes = _compared(location, artefacts, found)
            problems = list(dict.fromkeys([*found.problems, *contradictions]))
        if json:
            _print_json(found, problems, notes, len(artefacts))
        else:
            _print_text(found, problems, notes, len(carried))
        if problems:
            note(f"Error: {_verdict(found, contradictions, artefacts)}")
            raise typer.Exit(VIOLATION)


def _verdict(found: "Verification", contradictions: list[str], artefacts: "list[Artefact]") -> str:
    """Return a sentence that separates problems of the ledger from those of the compared files."""
    from dperm.presentation.phrases import count_of

    if found.problems:
        count = len({*found.problems, *contradictions})
        return f"{count_of(count, 'problem')} found. Charge nothing to this ledger until the cause is known."
    uncharged = [str(one.source) for one in artefacts if one.anchor() is None]
    if len(contradictions) > len(uncharged):
        return "the ledger is in order. The files listed above disagree with it: do not rely on them."
    verb = "was" if len(uncharged) == 1 else "were"
    return f"the ledger is in order. {', '.join(uncharged)} {verb} not charged to it."


def _compared(location: str, artefacts: "list[Artefact]", found: "Verification") -> tuple[list[str], list[str]]:
    """Return contradictions between artefacts and ledger, and notes on parts without a comparison."""
    from dperm.ledger.books import Books
    from dperm.ledger.stores import location_of, store_of
    from dperm.ledger.transactions import consult

    if not found.ledger or not artefacts:  # a ledger that cannot be read is a problem by itself
        return [], []

    def read(books: Books) -> tuple[list[str], list[str]]:
        problems = [problem for one in artefacts for problem in one.problems(books)]
        return problems, [note for one in artefacts for note in one.notes(books)]

    return consult(store_of(location_of(location)), read)


def _print_json(found: "Verification", problems: list[str], notes: list[str], models: int) -> None:
    from dperm.cli.output import print_json

    accounts = {name: asdict(account) for name, account in found.accounts.items()}
    compared = {"notes": notes, "anchors": found.anchors, "models": models}
    print_json(
        {"ledger": found.ledger or None, "ok": not problems, "problems": problems, **compared, "accounts": accounts}
    )


def _print_text(found: "Verification", problems: list[str], notes: list[str], carried: int) -> None:
    from dperm.cli.ledger.layout import print_folded

    for name, account in found.accounts.items():
        print_folded(_describe_account(account, in_order=not found.problems), first=f"{name}: ", rest="  ")
    for problem in problems:
        print_folded(problem, first="PROBLEM: ", rest="  ")
    for text in notes:
        print_folded(text, first="Note: ", rest="  ")
    if not found.anchors:
        print_folded(NO_ANCHOR)
    elif not found.problems:
        also = (
            f" ({carried} from {'the receipt of a model' if carried == 1 else 'receipts of models'})" if carried else ""
        )
        print_folded(f"Valid anchors: {found.anchors}{also}.")


def _describe_account(account: "VerifiedAccount", *, in_order: bool) -> str:
    from dperm.cli.ledger.formatting import format_constant, format_currency
    from dperm.cli.output import plain_up

    shown = {"delta": format_constant}  # equal shares, nothing to round
    spent = ", ".join(
        f"{format_currency(name)} {shown.get(name, plain_up)(value)} of {format_constant(account.capacity[name])}"
        for name, value in account.spent.items()
    )
    lines = f"{account.entries} {'entry' if account.entries == 1 else 'entries'}"
    return f"{lines}{', all valid' if in_order else ''}; spent {spent or 'unknown'}."
