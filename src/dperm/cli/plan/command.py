# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan``: the command line, and who answers it."""

from dperm.cli import model_options as models
from dperm.cli.options import AsJson
from dperm.cli.plan import options
from dperm.cli.plan.forms import Form, form_of
from dperm.cli.plan.given import Declared, Given, Model, Output, Promise, Question
from dperm.cli.running import reported_errors

HELP = """What "dperm fit" would do, promise and cost; what accuracy to expect; how many records it takes. No data.

With --schema: the plan of a fit, from public numbers alone. Under replace_one the number of records is public and has
to be given: --n. With --ledger the plan is priced, and whether the account covers it is said, with exit code 3 if it
does not; nothing is charged. The event can be approved beforehand: "dperm ledger approve --event", or --event-file with
what --write-event wrote. --expect adds what accuracy to expect.

With --n and --dim, and no schema: what to expect of each method. Proved bounds, and trials of the methods on made-up
data of that shape: of the user's data nothing is known.

With --target-excess or --target-loss: how many records are enough; with --n, whether so many are.

\b
Examples:
  dperm plan --schema schema.toml --epsilon 1 --n 20000 --ledger census.ledger
  dperm plan --n 20000 --dim 10 --epsilon 1 --balance 0.25 --method auto --quick
  dperm plan --target-excess 0.05 --dim 10 --epsilon 1
"""


def plan(
    schema: models.SchemaFile = None,
    epsilon: models.Epsilon = None,
    delta: models.Delta = None,
    n: options.Rows = None,
    dim: options.Columns = None,
    adjacency: models.Relation = None,
    method: options.MethodName = None,
    expect: options.Expect = False,
    target_excess: options.TargetExcess = None,
    target_loss: options.TargetLoss = None,
    balance: options.Balance = None,
    baseline: options.Baseline = None,
    feature_norm: options.FeatureNorm = None,
    reference_norm: options.ReferenceNorm = None,
    no_trials: options.NoTrials = False,
    quick: options.Quick = False,
    seed: options.Seed = None,
    plot: options.Plot = None,
    estimator: models.EstimatorName = None,
    ledger: models.LedgerPlace = None,
    account: models.AccountName = None,
    request_id: options.RequestId = None,
    C: models.RegularizationC = None,
    clip: models.Clip = None,
    quantile: models.Quantile = None,
    write_event: options.WriteEvent = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Plan what a command line describes."""
    with reported_errors():
        _answer(
            Given(
                Promise(epsilon, delta, adjacency, method),
                Model(schema, estimator, ledger, account, request_id, C, clip, quantile, write_event),
                Declared(n, dim, balance, baseline, feature_norm, reference_norm),
                Question(expect, target_excess, target_loss, no_trials, quick, seed),
                Output(plot, force, json),
            )
        )


def _answer(given: Given) -> None:
    form = form_of(given)
    if form in (Form.FIT, Form.EXPECT):
        from dperm.cli.plan.fit import plan_fit

        plan_fit(given)
    elif form is Form.OUTLOOK:
        from dperm.cli.plan.outlook import tell_outlook

        tell_outlook(given)
    elif form is Form.EXCESS:
        from dperm.cli.plan.records import tell_records

        tell_records(given)
    else:
        from dperm.cli.plan.loss import tell_loss

        tell_loss(given)
