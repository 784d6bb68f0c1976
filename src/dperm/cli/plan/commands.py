# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Subcommands of ``dperm plan``, one for each question."""

from typing import Any

import typer
from typer.core import TyperGroup

from dperm.cli import model_options as models
from dperm.cli.options import AsJson
from dperm.cli.plan import old_spelling, options
from dperm.cli.plan.public_numbers import PrivacyOptions, TableColumns, TrialOptions
from dperm.cli.running import reported_errors
from dperm.errors import ParameterError

HELP = """Plan a fit: its cost, its expected accuracy, or the number of records it needs. No records are read.

Bounds are proved; expected accuracies come from trials of the methods on synthetic tables. Nothing is charged.

\b
Examples:
  dperm plan fit --schema schema.toml --epsilon 1 --n 20000 --ledger census.ledger
  dperm plan expect --n 20000 --dim 10 --epsilon 1 --balance 0.25 --method auto --quick
  dperm plan records --target-excess 0.05 --dim 10 --epsilon 1
"""
FIT_HELP = """Show the method, guarantee, noise and cost of the fit that "dperm fit" would run with the same options.

Under replace_one, the number of records is public, and --n is required. With --ledger, the cost of the fit is checked
against the account; the exit code is 3 if the account does not cover the cost. The output contains the accounting event
of the fit. To have this event approved, pass it to "dperm ledger approve --event", or pass the file written by
--write-event to "dperm ledger approve --event-file". With --holdout, the plan includes private metrics on held-out
records.

\b
Examples:
  dperm plan fit --schema schema.toml --epsilon 1 --n 20000
  dperm plan fit --schema schema.toml --epsilon 1 --n 20000 --ledger census.ledger
  dperm plan fit --schema schema.toml --epsilon 1 --adjacency add_remove --method output --json
"""
EXPECT_HELP = """Compare methods: noise, proved bound on the excess risk, and expected accuracy.

Describe the columns with --schema, or with --dim and --feature-norm. The expected accuracy is measured for
logistic regression on synthetic tables of this shape; results on your data may differ. With --ledger, delta and
adjacency are taken from the account.

\b
Examples:
  dperm plan expect --n 20000 --dim 10 --epsilon 1 --balance 0.25 --method auto --quick
  dperm plan expect --n 20000 --schema schema.toml --epsilon 1 --no-trials
  dperm plan expect --n 20000 --dim 10 --epsilon 1 --no-trials --json
"""
RECORDS_HELP = """Find how many records provably suffice for an expected excess risk of at most --target-excess.

With --n, also report whether n records suffice.

\b
Examples:
  dperm plan records --target-excess 0.05 --dim 10 --epsilon 1
  dperm plan records --target-excess 0.05 --schema schema.toml --epsilon 1 --n 5000
  dperm plan records --target-excess 0.05 --dim 10 --epsilon 1 --delta 0 --json
"""
TRIAL_HELP = """Find, by trials, how many records keep the accuracy loss due to privacy at or below --target-loss.

The trials fit models to synthetic tables. With --n, also report whether n records suffice.

\b
Examples:
  dperm plan records-by-trial --target-loss 0.05 --dim 3 --epsilon 1 --quick
  dperm plan records-by-trial --target-loss 0.05 --schema schema.toml --epsilon 1 --n 1000 --quick
  dperm plan records-by-trial --target-loss 0.05 --dim 3 --epsilon 1 --method objective --quick --json
"""
TABLE_HELP = """State the cost of preparing a table privately (dperm fit --prepare), and the number of records needed.

"dperm fit --prepare" privately finds the kinds, ranges, bins, categories and labels of undeclared columns. One
guarantee covers these findings and the model. Pass DATA to name the columns (only its header is read), or give their
number with --columns. Columns declared in --schema cost nothing. With --n, a warning is shown if there are too few
records. With --ledger, the cost is checked against the account, as in "dperm plan fit". With --holdout, the plan
includes private metrics on held-out records.

\b
Examples:
  dperm plan table --columns 15 --epsilon 1 --n 20000 --holdout 0.1
  dperm plan table data.csv --target income --exclude name --epsilon 1 --n 1500 --ledger census.ledger
  dperm plan table --columns 15 --epsilon 1 --delta 1e-5 --adjacency add_remove --json
"""
HELPS = {
    "plan table": TABLE_HELP,
    "plan fit": FIT_HELP,
    "plan expect": EXPECT_HELP,
    "plan records": RECORDS_HELP,
    "plan records-by-trial": TRIAL_HELP,
}
_OLD = "options"


class _PlanGroup(TyperGroup):
    """Group whose old spelling, options without a subcommand, is passed to a hidden subcommand until 1.0."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the hidden subcommand before options."""
        old = bool(args) and args[0].startswith("-") and args[0] != "--help"
        return super().parse_args(ctx, [_OLD, *args] if old else args)


app = typer.Typer(
    name="plan", cls=_PlanGroup, help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
app.command(_OLD, hidden=True)(old_spelling.plan)


@app.callback(help=HELP, invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Show the help if no subcommand is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("fit", help=FIT_HELP, short_help="Show the method, guarantee, noise and cost of a fit.")
def fit(
    schema: options.RequiredSchema,
    epsilon: options.RequiredEpsilon,
    delta: models.Delta = None,
    adjacency: models.Relation = None,
    n: options.Rows = None,
    model: models.ModelName = "linear",
    method: models.MethodName = "auto",
    estimator: models.EstimatorName = None,
    C: models.RegularizationC = None,
    clip: models.Clip = None,
    quantile: models.Quantile = None,
    holdout: models.Holdout = None,
    groups: models.GroupColumn = None,
    ledger: options.PricingLedger = None,
    account: models.AccountName = None,
    request_id: options.RequestId = None,
    write_event: options.WriteEvent = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Show the plan of a fit."""
    with reported_errors():
        from dperm.cli.plan.fit_plan import FitPlanOptions, show_fit_plan

        privacy = PrivacyOptions(epsilon, delta, adjacency)
        planned = FitPlanOptions(
            schema=schema,
            n=n,
            model=model,
            method=method,
            estimator=estimator,
            C=C,
            clip=clip,
            quantile=quantile,
            holdout=holdout,
            groups=groups,
            ledger=ledger,
            account=account,
            request_id=request_id,
            write_event=write_event,
            force=force,
        )
        show_fit_plan(privacy, planned, as_json=json)


@app.command(
    "table",
    help=TABLE_HELP,
    short_help="State the cost of preparing a table privately (dperm fit --prepare), and the number of records needed.",
)
def table(
    epsilon: options.RequiredEpsilon,
    data: options.HeaderFile = None,
    columns: options.PreparedColumnCount = None,
    target: options.PreparedTarget = None,
    task: models.TaskName = None,
    most_classes: models.MostClasses = None,
    schema: models.SchemaFile = None,
    exclude: models.Exclude = None,
    separator: models.Separator = ",",
    delta: models.PositiveDelta = None,
    adjacency: models.Relation = None,
    n: options.Rows = None,
    holdout: models.Holdout = None,
    groups: models.GroupColumn = None,
    ledger: options.PricingLedger = None,
    account: models.AccountName = None,
    request_id: options.RequestId = None,
    write_event: options.WriteEvent = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Show the plan of a private preparation."""
    with reported_errors():
        from dperm.cli.plan.table_plan import TablePlanOptions, show_table_plan

        planned = TablePlanOptions(
            data=data,
            columns=columns,
            target=target,
            task=task,
            most_classes=most_classes,
            schema=schema,
            exclude=tuple(exclude or ()),
            separator=separator,
            n=n,
            holdout=holdout,
            groups=groups,
            ledger=ledger,
            account=account,
            request_id=request_id,
            write_event=write_event,
            force=force,
        )
        show_table_plan(PrivacyOptions(epsilon, delta, adjacency), planned, as_json=json)


@app.command("expect", help=EXPECT_HELP, short_help="Compare methods: noise, proved bound, expected accuracy.")
def expect(
    epsilon: options.RequiredEpsilon,
    n: options.Rows = None,
    dim: options.Columns = None,
    schema: models.SchemaFile = None,
    delta: models.Delta = None,
    adjacency: models.Relation = None,
    method: options.TriedMethodName = None,
    feature_norm: options.FeatureNorm = None,
    reference_norm: options.ReferenceNorm = None,
    balance: options.Balance = None,
    baseline: options.Baseline = None,
    no_trials: options.NoTrials = False,
    quick: options.Quick = False,
    seed: options.Seed = None,
    ledger: options.DefaultsLedger = None,
    account: models.AccountName = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Print noise, bounds and expected accuracy of each method."""
    with reported_errors():
        from dperm.cli.charging import Account, delta_of, relation_of
        from dperm.cli.plan.outlook import OutlookOptions, show_outlook
        from dperm.cli.plan.public_numbers import guarantee

        if n is None:
            raise ParameterError(
                "--n is missing: the number of records that there will be, such as --n 20000. To find out how many "
                "are needed, use dperm plan records."
            )
        size = PrivacyOptions(epsilon, delta, adjacency).size
        charged = Account.of(ledger, account, None)
        goal = guarantee(size, delta_of(charged, delta), relation_of(charged, adjacency))
        columns = TableColumns.of_options(schema, dim, feature_norm, option="dperm plan expect")
        tables = TrialOptions(balance, baseline, quick, seed)
        wanted = OutlookOptions(
            method, reference_norm, no_trials=no_trials, tables=tables, schema=schema, plot=plot, force=force
        )
        show_outlook(wanted.request(tables.shape(n, columns), goal, columns), as_json=json)


@app.command("records", help=RECORDS_HELP, short_help="Find how many records provably suffice.")
def records(
    target_excess: options.RequiredExcess,
    epsilon: options.RequiredEpsilon,
    dim: options.Columns = None,
    schema: models.SchemaFile = None,
    delta: models.DeltaWithoutAccount = None,
    adjacency: models.RelationWithoutAccount = None,
    n: options.Rows = None,
    feature_norm: options.FeatureNorm = None,
    reference_norm: options.ReferenceNorm = None,
    json: AsJson = False,
) -> None:
    """Print the number of records by proof."""
    with reported_errors():
        from dperm.cli.plan.records import show_records

        goal = PrivacyOptions(epsilon, delta, adjacency).goal
        columns = TableColumns.of_options(schema, dim, feature_norm, option="--target-excess")
        show_records(goal, columns, target_excess=target_excess, reference_norm=reference_norm, n=n, as_json=json)


@app.command("records-by-trial", help=TRIAL_HELP, short_help="Find how many records suffice in trials.")
def records_by_trial(
    target_loss: options.RequiredLoss,
    epsilon: options.RequiredEpsilon,
    dim: options.Columns = None,
    schema: models.SchemaFile = None,
    delta: models.DeltaWithoutAccount = None,
    adjacency: models.RelationWithoutAccount = None,
    n: options.Rows = None,
    method: options.TrialMethodName = "auto",
    feature_norm: options.FeatureNorm = None,
    balance: options.Balance = None,
    baseline: options.Baseline = None,
    quick: options.Quick = False,
    seed: options.Seed = None,
    json: AsJson = False,
) -> None:
    """Print the number of records by trials."""
    with reported_errors():
        from dperm.cli.plan.records import show_records_by_trial

        goal = PrivacyOptions(epsilon, delta, adjacency).goal
        columns = TableColumns.of_options(schema, dim, feature_norm, option="--target-loss")
        tables = TrialOptions(balance, baseline, quick, seed)
        show_records_by_trial(goal, columns, tables, target_loss=target_loss, method=method, n=n, as_json=json)
