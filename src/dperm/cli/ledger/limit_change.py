# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Another limit for an account: what it means is said before, and somebody has to agree."""

import sys
from dataclasses import asdict, dataclass

import typer

from dperm.cli.ledger.layout import print_folded
from dperm.cli.ledger.limits import Sizes, changed_limit, size
from dperm.cli.ledger.standing import standings
from dperm.cli.ledger.words import currency, in_words
from dperm.cli.output import plain_up, print_json
from dperm.cli.running import USAGE, note
from dperm.errors import BudgetError, ParameterError
from dperm.ledger import AccountFacts, Ledger
from dperm.ledger.units import amount, capacity_units
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict
from dperm.privacy.rounding import round_up

RAISED = (
    "What was promised under the old limit no longer holds: the new one covers everything charged to the account, "
    "before and after. If it is raised because of what was released, it was not fixed in advance, and says what "
    "happened without guaranteeing it."
)
UNCHANGED = "Nothing was changed."
LOWERED = "What was promised still holds. Less is left from now on."


@dataclass(frozen=True)
class Change:
    """A limit and the one that takes its place."""

    account: str
    before: AnyGuarantee
    after: AnyGuarantee

    def print_text(self, *, err: bool) -> None:
        """What changes, and what that means."""
        print_folded(f"Limit of account {self.account!r}:", err=err)
        print_folded(in_words(self.before), first="  before  ", rest=" " * 10, err=err)
        print_folded(in_words(self.after), first="  after   ", rest=" " * 10, err=err)
        print_folded(RAISED if size(self.after) > size(self.before) else LOWERED, err=err)

    def data(self) -> dict[str, object]:
        """The change as JSON-ready data."""
        limits = {"before": guarantee_as_dict(self.before), "after": guarantee_as_dict(self.after)}
        return {"account": self.account, **limits}


def change_limit(ledger: Ledger, sizes: Sizes, *, by: str, reason: str, yes: bool, json: bool) -> None:
    """Change the limit, once somebody has agreed."""
    facts = ledger.account_facts
    change = Change(facts.name, facts.limit, changed_limit(facts.limit, sizes))
    if change.before == change.after:
        raise ParameterError(f"the limit of account {facts.name!r} is {in_words(facts.limit)} already.")
    _require_above_spent(ledger, facts.with_limit(change.after))
    if not yes and not sys.stdin.isatty():
        raise ParameterError("a change of the limit asks for consent, and nobody can be asked here. Add --yes.")
    change.print_text(err=json)
    if not yes and not _agreed():
        note(UNCHANGED)
        raise typer.Exit(USAGE)
    ledger.change_limit(change.after, by=by, reason=reason)
    if json:
        print_json({**change.data(), "anchor": asdict(ledger.anchor())})
    else:
        typer.echo("Changed. The books say by whom and why.")


def _require_above_spent(ledger: Ledger, changed: AccountFacts) -> None:
    """Refuse what the books would, before anything is said about what a change means."""
    (standing,) = standings(ledger.location, changed.name)
    for name, capacity in capacity_units(changed.rule).items():
        spent = standing.meters[name].spent
        if capacity < spent:
            shown = plain_up(round_up(amount(changed.rule, name, spent)))
            raise BudgetError(
                f"the limit of account {changed.name!r} cannot be {in_words(changed.limit)}: {currency(name)} {shown} "
                "is spent already, and nothing is given back. Nothing was changed."
            )


def _agreed() -> bool:
    try:
        return typer.confirm("Change the limit?", err=True)
    except typer.Abort as error:
        typer.echo(err=True)
        if isinstance(error.__context__, KeyboardInterrupt):
            interrupted = KeyboardInterrupt()
            interrupted.add_note(UNCHANGED)
            raise interrupted from None
        return False  # the end of the input
