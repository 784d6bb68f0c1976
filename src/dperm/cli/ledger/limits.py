# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The limit that options name, and a change of one."""

from dataclasses import dataclass

from dperm import checks
from dperm.cli.ledger.words import in_words
from dperm.errors import ParameterError
from dperm.privacy.guarantee import GDP, RDP, ZCDP, AnyGuarantee, ApproxDP, PureDP

LIMITS = "--epsilon (with --delta and --blocks, unless it is pure), --rho, --mu, or --tau with --order"
_OPTIONS = {PureDP: "--epsilon", ApproxDP: "--epsilon", ZCDP: "--rho", GDP: "--mu", RDP: "--tau"}
"""The option that is the size of each kind of limit."""


@dataclass(frozen=True)
class Sizes:
    """The numbers of a command line, each None if it was not given."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    order: float | None = None
    tau: float | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Which sizes were given, as options; --delta and --order only come along with one."""
        sizes = {"--epsilon": self.epsilon, "--rho": self.rho, "--mu": self.mu, "--tau": self.tau}
        return tuple(option for option, value in sizes.items() if value is not None)


def new_limit(sizes: Sizes, adjacency: str, blocks: int | None) -> AnyGuarantee:
    """The limit of a new account.

    Raises
    ------
    ParameterError
        If the options name none, several, or half of one.
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


def changed_limit(limit: AnyGuarantee, sizes: Sizes) -> AnyGuarantee:
    """``limit`` with the size that the options give; its kind, adjacency, delta and order stay."""
    option, own = _only(sizes), _OPTIONS[type(limit)]
    if option != own:
        raise ParameterError(f"the limit of the account is {in_words(limit)}: its size is {own}, got {option}.")
    match limit:
        case ApproxDP():
            return ApproxDP(checks.positive("--epsilon", sizes.epsilon), limit.delta, limit.adjacency)
        case RDP():
            return RDP([(limit.curve[0][0], checks.positive("--tau", sizes.tau))], limit.adjacency)
    return _of_kind(option, sizes, limit.adjacency.value)


def size(limit: AnyGuarantee) -> float:
    """The number that a change of the limit changes."""
    if isinstance(limit, RDP):
        return limit.curve[0][1]
    return float(getattr(limit, _OPTIONS[type(limit)].removeprefix("--")))


def _of_kind(option: str, sizes: Sizes, adjacency: str) -> AnyGuarantee:
    match option:
        case "--rho":
            return ZCDP(checks.positive("--rho", sizes.rho), adjacency)
        case "--mu":
            return GDP(checks.positive("--mu", sizes.mu), adjacency)
        case "--tau":
            return RDP([(checks.above("--order", sizes.order, 1.0), checks.positive("--tau", sizes.tau))], adjacency)
    return PureDP(checks.positive("--epsilon", sizes.epsilon), adjacency)


def _only(sizes: Sizes) -> str:
    if len(sizes.given) != 1:
        found = f"got {' and '.join(sizes.given)}" if sizes.given else "none was given"
        raise ParameterError(f"give one limit: {LIMITS}; {found}.")
    return sizes.given[0]


def _require_blocks(delta: float, blocks: int | None) -> None:
    if delta == 0 and blocks is not None:
        raise ParameterError(f"--blocks divides a --delta > 0 among releases, and there is none, got {blocks}.")
    if delta > 0 and blocks is None:
        raise ParameterError(
            "--blocks is missing: among how many releases --delta is to be divided, at most. Each is charged its "
            "epsilon at an equal share of --delta, so the number is fixed when the account is opened."
        )
    if blocks is not None:
        checks.count("--blocks", blocks)
