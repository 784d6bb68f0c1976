# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of accounts: from the options of a command line, and changes of a limit with confirmation."""

import sys
from dataclasses import asdict, dataclass

import typer

from dperm import checks
from dperm.cli.ledger.account_status import account_statuses
from dperm.cli.ledger.formatting import format_currency, format_limit
from dperm.cli.ledger.layout import print_folded
from dperm.cli.output import plain_up, print_json
from dperm.cli.running import USAGE, note
from dperm.errors import BudgetError, ParameterError
from dperm.ledger import AccountFacts, Ledger
from dperm.ledger.units import amount, capacity_units
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP, guarantee_as_dict
from dperm.privacy.rounding import round_up

LIMITS = "--epsilon (with --delta and --blocks, unless it is pure), --rho, --mu, or --tau with --order"
_OPTIONS = {PureDP: "--epsilon", ApproxDP: "--epsilon", ZCDP: "--rho", GDP: "--mu", RDP: "--tau"}
"""Option for the size of each kind of limit."""
RAISED = (
    "The guarantee of the old limit no longer holds. The new limit covers all charges to the account, both earlier and "
    "later ones. A limit that is raised because of earlier releases was not fixed in advance. It is a record of the "
    "spending, not a guarantee."
)
UNCHANGED = "Nothing was changed."
LOWERED = "The guarantee of the old limit still holds. The remaining budget is smaller from now on."


@dataclass(frozen=True)
class LimitOptions:
    """Sizes of a limit in the options; None where an option is left out."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    order: float | None = None
    tau: float | None = None

    @property
    def size_options(self) -> tuple[str, ...]:
        """Names of the given size options; --delta and --order only accompany one."""
        sizes = {"--epsilon": self.epsilon, "--rho": self.rho, "--mu": self.mu, "--tau": self.tau}
        return tuple(option for option, value in sizes.items() if value is not None)


def new_limit(sizes: LimitOptions, adjacency: str, blocks: int | None) -> AnyGuarantee:
    """Return the limit of a new account.

    Raises
    ------
    ParameterError
        If the options give no limit, several, or an incomplete one.
    """
    option = _only(sizes)
    if sizes.delta is not None and option != "--epsilon":
        raise ParameterError(f"--delta belongs to --epsilon, and the limit is given as {option}. Leave it out.")
    if (sizes.order is None) != (sizes.tau is None):
        raise ParameterError("--order and --tau belong together, as in --order 8 --tau 0.5: Renyi DP at one order.")
    delta = 0.0 if sizes.delta is None else checks.small_delta("--delta", sizes.delta)
    _require_blocks(delta, blocks)
    if delta > 0:
        return ApproxDP(checks.positive("--epsilon", sizes.epsilon), delta, adjacency)
    return _of_kind(option, sizes, adjacency)


def changed_limit(limit: AnyGuarantee, sizes: LimitOptions) -> AnyGuarantee:
    """Return ``limit`` with the size of the options; kind, adjacency, delta and order stay."""
    option, own = _only(sizes), _OPTIONS[type(limit)]
    if option != own:
        raise ParameterError(f"the limit of the account is {format_limit(limit)}: its size is {own}, got {option}.")
    match limit:
        case ApproxDP():
            return ApproxDP(checks.positive("--epsilon", sizes.epsilon), limit.delta, limit.adjacency)
        case RDP():
            return RDP([(limit.curve[0][0], checks.positive("--tau", sizes.tau))], limit.adjacency)
    return _of_kind(option, sizes, limit.adjacency.value)


def size(limit: AnyGuarantee) -> float:
    """Return the size of a limit: epsilon, rho, mu or tau."""
    if isinstance(limit, RDP):
        return limit.curve[0][1]
    return float(getattr(limit, _OPTIONS[type(limit)].removeprefix("--")))


def _of_kind(option: str, sizes: LimitOptions, adjacency: str) -> AnyGuarantee:
    match option:
        case "--rho":
            return ZCDP(checks.positive("--rho", sizes.rho), adjacency)
        case "--mu":
            return GDP(checks.positive("--mu", sizes.mu), adjacency)
        case "--tau":
            return RDP([(checks.above("--order", sizes.order, 1.0), checks.positive("--tau", sizes.tau))], adjacency)
    return PureDP(checks.positive("--epsilon", sizes.epsilon), adjacency)


def _only(sizes: LimitOptions) -> str:
    if len(sizes.size_options) != 1:
        found = f"got {' and '.join(sizes.size_options)}" if sizes.size_options else "none was given"
        raise ParameterError(f"give one limit: {LIMITS}; {found}.")
    return sizes.size_options[0]


def _require_blocks(delta: float, blocks: int | None) -> None:
    if delta == 0 and blocks is not None:
        raise ParameterError(f"--blocks divides a --delta > 0 among releases, and there is no --delta, got {blocks}.")
    if delta > 0 and blocks is None:
        raise ParameterError(
            "--blocks is missing: the largest number of releases, among which --delta is divided. Each release is "
            "charged its epsilon at an equal share of --delta, so the number is fixed when the account is opened."
        )
    if blocks is not None:
        checks.count("--blocks", blocks)


@dataclass(frozen=True)
class LimitChange:
    """A limit and its replacement."""

    account: str
    before: AnyGuarantee
    after: AnyGuarantee

    def print_text(self, *, err: bool) -> None:
        """Print the change and its consequences."""
        print_folded(f"Limit of account {self.account!r}:", err=err)
        print_folded(format_limit(self.before), first="  before  ", rest=" " * 10, err=err)
        print_folded(format_limit(self.after), first="  after   ", rest=" " * 10, err=err)
        print_folded(RAISED if size(self.after) > size(self.before) else LOWERED, err=err)

    def data(self) -> dict[str, object]:
        """Return the change as JSON-serialisable data."""
        limits = {"before": guarantee_as_dict(self.before), "after": guarantee_as_dict(self.after)}
        return {"account": self.account, **limits}


def change_limit(ledger: Ledger, sizes: LimitOptions, *, by: str, reason: str, yes: bool, json: bool) -> None:
    """Change the limit after a confirmation."""
    facts = ledger.account_facts
    change = LimitChange(facts.name, facts.limit, changed_limit(facts.limit, sizes))
    if change.before == change.after:
        raise ParameterError(f"the limit of account {facts.name!r} is already {format_limit(facts.limit)}.")
    _require_above_spent(ledger, facts.with_limit(change.after))
    if not yes and not sys.stdin.isatty():
        raise ParameterError("a change of the limit needs a confirmation, and stdin is not a terminal. Add --yes.")
    change.print_text(err=json)
    if not yes and not _is_confirmed():
        note(UNCHANGED)
        raise typer.Exit(USAGE)
    ledger.change_limit(change.after, by=by, reason=reason)
    if json:
        print_json({**change.data(), "anchor": asdict(ledger.anchor())})
    else:
        typer.echo("Changed. The ledger records the approver and the reason.")


def _require_above_spent(ledger: Ledger, changed: AccountFacts) -> None:
    """Refuse a limit below the spending, before the confirmation."""
    (status,) = account_statuses(ledger.location, changed.name)
    for name, capacity in capacity_units(changed.rule).items():
        spent = status.meters[name].spent
        if capacity < spent:
            shown = plain_up(round_up(amount(changed.rule, name, spent)))
            raise BudgetError(
                f"the limit of account {changed.name!r} cannot be {format_limit(changed.limit)}: "
                f"{format_currency(name)} {shown} is already spent, and there are no refunds. Nothing was changed."
            )


def _is_confirmed() -> bool:
    try:
        return typer.confirm("Change the limit?", err=True)
    except typer.Abort as error:
        typer.echo(err=True)
        if isinstance(error.__context__, KeyboardInterrupt):
            interrupted = KeyboardInterrupt()
            interrupted.add_note(UNCHANGED)
            raise interrupted from None
        return False  # the end of the input
