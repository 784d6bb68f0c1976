# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The verbs of ``dperm audit``."""

from typing import Any

import typer
from typer.core import TyperGroup

from dperm.cli.audit import bugs, demo, exact, guesses, membership, method, model, one_run, rates, scores

HELP = """Attack a model or a method, and compute a lower bound on epsilon.

A claimed epsilon below this bound is refuted. An audit can refute a claim but not prove one. If no violation is
found, the result states how close the attack came to the claim. "dperm audit model" and "dperm audit method" attack
dperm itself; "rates", "guesses", "one-run" and "scores" turn the results of your own attacks into bounds. Theorems A1,
A2, ... are listed in docs/theory/index.md.

\b
Examples:
  dperm audit method output --epsilon 1 --adjacency replace_one --seed 1
  dperm audit exact --epsilon 1
  dperm audit rates --true-positives 900 --members 1000 --false-positives 100 --non-members 1000

Exit codes: 0 no claim refuted, 2 invalid request, 4 the request would release private data without a guarantee, 5 a
claim is refuted (VIOLATION), or "dperm audit bugs" fails.
"""


class _Verbs(TyperGroup):
    """Verbs of ``dperm audit``; a model file instead of a verb gets a hint."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb, with a hint for a model file."""
        if args and self.get_command(ctx, args[0]) is None and args[0].endswith(".dperm"):
            ctx.fail(f"{args[0]!r} is not a command of dperm audit. Did you mean: dperm audit model {args[0]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="audit", cls=_Verbs, help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
app.command("model", help=model.HELP, short_help="Attack the method that trained a stored model.")(model.model)
app.command("method", help=method.HELP, short_help="Attack a method of dperm on worst-case neighbours.")(method.method)
app.command("exact", help=exact.HELP, short_help="Audit objective perturbation exactly, without sampling.")(exact.exact)
app.command("rates", help=rates.HELP, short_help="Bound epsilon from true and false positives.")(rates.rates)
app.command("guesses", help=guesses.HELP, short_help="Bound epsilon from correct guesses of fair coin flips.")(
    guesses.guesses
)
app.command("one-run", help=one_run.HELP, short_help="Bound epsilon from one training run with many canaries.")(
    one_run.one_run
)
app.command("scores", help=scores.HELP, short_help="Show the ROC curve, rates and AUC of a membership attack.")(
    scores.scores
)
app.command(
    "membership", help=membership.HELP, short_help="Run the LiRA membership attack on your own table. NOT PRIVATE."
)(membership.membership)
app.command("bugs", help=bugs.HELP, short_help="Check that known bugs are caught.")(bugs.bugs)
app.command("demo", help=demo.HELP, short_help="Run three attacks, with and without differential privacy.")(demo.demo)


@app.callback(help=HELP, invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Show the help if no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
