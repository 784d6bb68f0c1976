# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old spelling of ``dperm plan``: options without a subcommand, deprecated until 1.0.

Five questions share one list of options here. The given options decide between them.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from dperm.cli import model_options as models
from dperm.cli.option_names import option_name
from dperm.cli.options import AsJson
from dperm.cli.plan import options
from dperm.cli.plan.public_numbers import PrivacyOptions, TableColumns, TrialOptions
from dperm.cli.running import note, reported_errors
from dperm.errors import ParameterError

DEPRECATED = "Note: dperm plan without a subcommand is deprecated and will be removed in 1.0. Use {}."


class PlanQuestion(Enum):
    """Questions of the old spelling, by their options."""

    FIT = "--schema"
    EXPECT = "--schema and --expect"
    OUTLOOK = "--n and --dim"
    EXCESS = "--target-excess"
    LOSS = "--target-loss"


NEW_SPELLING = {
    PlanQuestion.FIT: "dperm plan fit",
    PlanQuestion.EXPECT: "dperm plan fit, and dperm plan expect",
    PlanQuestion.OUTLOOK: "dperm plan expect",
    PlanQuestion.EXCESS: "dperm plan records",
    PlanQuestion.LOSS: "dperm plan records-by-trial",
}
_SCHEMA = (PlanQuestion.FIT, PlanQuestion.EXPECT)
_SHAPED = (PlanQuestion.OUTLOOK, PlanQuestion.EXCESS, PlanQuestion.LOSS)
_TRIED = (PlanQuestion.OUTLOOK, PlanQuestion.EXPECT, PlanQuestion.LOSS)
_QUESTIONS = {
    "--estimator": _SCHEMA,
    "--ledger": _SCHEMA,
    "--account": _SCHEMA,
    "--request-id": _SCHEMA,
    "--write-event": _SCHEMA,
    "--expect": _SCHEMA,
    "--C": (PlanQuestion.FIT,),
    "--clip": (PlanQuestion.FIT,),
    "--quantile": (PlanQuestion.FIT,),
    "--dim": _SHAPED,
    "--feature-norm": _SHAPED,
    "--target-excess": (PlanQuestion.EXCESS,),
    "--target-loss": (PlanQuestion.LOSS,),
    "--reference-norm": (PlanQuestion.OUTLOOK, PlanQuestion.EXPECT, PlanQuestion.EXCESS),
    "--balance": _TRIED,
    "--baseline": _TRIED,
    "--quick": _TRIED,
    "--seed": _TRIED,
    "--no-trials": (PlanQuestion.OUTLOOK, PlanQuestion.EXPECT),
    "--plot": (PlanQuestion.OUTLOOK, PlanQuestion.EXPECT),
    "--method": (PlanQuestion.FIT, PlanQuestion.EXPECT, PlanQuestion.OUTLOOK, PlanQuestion.LOSS),
}
"""Options that do not belong to every question; --C and --clip change a fit, and no trial."""


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
    """Run the old form of dperm plan, without a subcommand."""
    values = {name: value for name, value in locals().items() if name not in ("force", "json")}
    with reported_errors():
        _answer(OldOptions(**values), force=force, as_json=json)


@dataclass(frozen=True)
class OldOptions:
    """All options of the old spelling but --force and --json; None or False where an option is left out."""

    schema: Path | None
    epsilon: float | None
    delta: float | None
    n: int | None
    dim: int | None
    adjacency: str | None
    method: str | None
    expect: bool
    target_excess: float | None
    target_loss: float | None
    balance: float | None
    baseline: float | None
    feature_norm: float | None
    reference_norm: float | None
    no_trials: bool
    quick: bool
    seed: int | None
    plot: Path | None
    estimator: str | None
    ledger: str | None
    account: str | None
    request_id: str | None
    C: float | None
    clip: float | None
    quantile: float | None
    write_event: Path | None

    @property
    def typed(self) -> tuple[str, ...]:
        """Names of the given options, such as "--n"."""
        given = (name for name, value in vars(self).items() if value is not None and value is not False)
        return tuple(map(option_name, given))

    def columns(self, option: str) -> TableColumns:
        """Return the columns of --schema or --dim."""
        return TableColumns.of_options(self.schema, self.dim, self.feature_norm, option=option)


def _answer(given: OldOptions, *, force: bool, as_json: bool) -> None:
    from dperm.cli.plan.fit_plan import FitPlanOptions, show_fit_plan
    from dperm.cli.plan.outlook import OutlookOptions, show_outlook
    from dperm.cli.plan.records import show_records, show_records_by_trial

    question = question_of(given)
    note(DEPRECATED.format(NEW_SPELLING[question]))
    privacy = PrivacyOptions(given.epsilon, given.delta, given.adjacency)
    tables = TrialOptions(given.balance, given.baseline, given.quick, given.seed)
    wanted = OutlookOptions(
        given.method,
        given.reference_norm,
        no_trials=given.no_trials,
        tables=tables,
        schema=given.schema,
        plot=given.plot,
        force=force,
    )
    if question in _SCHEMA:
        assert given.schema is not None
        model = FitPlanOptions(
            schema=given.schema,
            n=given.n,
            method=given.method or "auto",
            estimator=given.estimator,
            C=given.C,
            clip=given.clip,
            quantile=given.quantile,
            ledger=given.ledger,
            account=given.account,
            request_id=given.request_id,
            write_event=given.write_event,
            force=force,
        )
        show_fit_plan(privacy, model, outlook=wanted if given.expect else None, as_json=as_json)
    elif question is PlanQuestion.OUTLOOK:
        assert given.n is not None
        goal, columns = privacy.goal, given.columns("--n")
        show_outlook(wanted.request(tables.shape(given.n, columns), goal, columns), as_json=as_json)
    elif question is PlanQuestion.EXCESS:
        assert given.target_excess is not None
        goal, columns, norm = privacy.goal, given.columns("--target-excess"), given.reference_norm
        show_records(goal, columns, target_excess=given.target_excess, reference_norm=norm, n=given.n, as_json=as_json)
    else:
        assert given.target_loss is not None
        goal, columns, loss = privacy.goal, given.columns("--target-loss"), given.target_loss
        method = given.method or "auto"
        show_records_by_trial(goal, columns, tables, target_loss=loss, method=method, n=given.n, as_json=as_json)


def question_of(given: OldOptions) -> PlanQuestion:
    """Return the question behind the options.

    Raises
    ------
    ParameterError
        If an option belongs to another question, or one is missing.
    """
    question = _question(given)
    _require_columns(question, given)
    if question is PlanQuestion.OUTLOOK and given.n is None:
        raise ParameterError(
            "--n is missing: the number of records that there will be, such as --n 20000. To find out how many are "
            "needed, "
            "give --target-excess or --target-loss."
        )
    for typed in given.typed:
        if question not in _QUESTIONS.get(typed, PlanQuestion):
            add = question is PlanQuestion.FIT and PlanQuestion.EXPECT in _QUESTIONS[typed]
            remedy = "Add --expect, or" if add else f"With {question.value},"
            raise ParameterError(f"{typed} belongs to {_belonging(typed)}. {remedy} leave it out.")
    return question


def _belonging(typed: str) -> str:
    """Return the questions of an option, as text."""
    known = _QUESTIONS[typed]
    questions = [one for one in known if one is not PlanQuestion.EXPECT or PlanQuestion.FIT not in known]
    return ", or ".join(one.value for one in questions)


def _question(given: OldOptions) -> PlanQuestion:
    typed = given.typed
    if given.target_excess is not None and given.target_loss is not None:
        raise ParameterError("--target-excess and --target-loss are mutually exclusive. Use one of them.")
    if given.target_excess is not None:
        return PlanQuestion.EXCESS
    if given.target_loss is not None:
        return PlanQuestion.LOSS
    if "--schema" in typed and "--dim" not in typed:
        return PlanQuestion.EXPECT if given.expect else PlanQuestion.FIT
    shaped = {option for option, questions in _QUESTIONS.items() if PlanQuestion.FIT not in questions}
    return PlanQuestion.OUTLOOK if shaped & set(typed) else PlanQuestion.FIT


def _require_columns(question: PlanQuestion, given: OldOptions) -> None:
    """Refuse both or neither of --schema and --dim."""
    by_schema, by_number = given.schema is not None, given.dim is not None
    if by_schema and by_number:
        raise ParameterError(
            "--schema and --dim both set the number of columns. Give one of them: --schema for the plan of a fit (with "
            "--expect for its expected accuracy), --dim without a schema."
        )
    if by_schema and "--feature-norm" in given.typed:
        raise ParameterError("--feature-norm belongs to --dim: with --schema the norm is that of its features.")
    if not by_schema and not by_number:
        raise _no_columns(question)


def _no_columns(question: PlanQuestion) -> ParameterError:
    if question in (PlanQuestion.EXCESS, PlanQuestion.LOSS):
        return ParameterError(f"{question.value} needs --dim, the number of columns, such as --dim 10; or --schema.")
    error = ParameterError("--dim or --schema is missing: the number of columns, or a schema that declares them.")
    error.add_note("Expected accuracy from the number of columns:\n  dperm plan expect --n 20000 --dim 10 --epsilon 1")
    error.add_note("Plan of a fit:\n  dperm plan fit --schema schema.toml --n 20000 --epsilon 1")
    return error
