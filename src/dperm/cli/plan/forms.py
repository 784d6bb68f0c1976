# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which question a command line asks, and which options belong to it."""

from enum import Enum

from dperm.cli.plan.given import Given
from dperm.errors import ParameterError


class Form(Enum):
    """The questions that ``dperm plan`` answers, by the options that ask them."""

    FIT = "--schema"
    EXPECT = "--schema and --expect"
    OUTLOOK = "--n and --dim"
    EXCESS = "--target-excess"
    LOSS = "--target-loss"


_SCHEMA = (Form.FIT, Form.EXPECT)
_SHAPED = (Form.OUTLOOK, Form.EXCESS, Form.LOSS)
_TRIED = (Form.OUTLOOK, Form.EXPECT, Form.LOSS)
_PLACES = {
    "--estimator": _SCHEMA,
    "--ledger": _SCHEMA,
    "--account": _SCHEMA,
    "--request-id": _SCHEMA,
    "--write-event": _SCHEMA,
    "--expect": _SCHEMA,
    "--C": (Form.FIT,),
    "--clip": (Form.FIT,),
    "--quantile": (Form.FIT,),
    "--dim": _SHAPED,
    "--feature-norm": _SHAPED,
    "--target-excess": (Form.EXCESS,),
    "--target-loss": (Form.LOSS,),
    "--reference-norm": (Form.OUTLOOK, Form.EXPECT, Form.EXCESS),
    "--balance": _TRIED,
    "--baseline": _TRIED,
    "--quick": _TRIED,
    "--seed": _TRIED,
    "--no-trials": (Form.OUTLOOK, Form.EXPECT),
    "--plot": (Form.OUTLOOK, Form.EXPECT),
    "--method": (Form.FIT, Form.EXPECT, Form.OUTLOOK, Form.LOSS),
}
"""Options that do not belong to every question; --C and --clip change a fit, and no trial."""


def form_of(given: Given) -> Form:
    """The question that is asked; an option of another one is refused, and so is what is missing."""
    form = _asked(given)
    _require_columns(form, given)
    if form is Form.OUTLOOK and given.declared.n is None:
        raise ParameterError(
            "--n is missing: how many records there will be, such as --n 20000. To ask how many are needed, give "
            "--target-excess or --target-loss."
        )
    for typed in given.typed:
        if form not in _PLACES.get(typed, Form):
            remedy = "Add --expect, or" if form is Form.FIT and Form.EXPECT in _PLACES[typed] else f"With {form.value},"
            raise ParameterError(f"{typed} belongs to {_places(typed)}. {remedy} leave it out.")
    return form


def _places(typed: str) -> str:
    """The questions that an option belongs to, in words."""
    places = [place for place in _PLACES[typed] if place is not Form.EXPECT or Form.FIT not in _PLACES[typed]]
    return ", or ".join(place.value for place in places)


def _asked(given: Given) -> Form:
    question, typed = given.question, given.typed
    if question.target_excess is not None and question.target_loss is not None:
        raise ParameterError("--target-excess and --target-loss are two questions. Ask one at a time.")
    if question.target_excess is not None:
        return Form.EXCESS
    if question.target_loss is not None:
        return Form.LOSS
    if "--schema" in typed and "--dim" not in typed:
        return Form.EXPECT if question.expect else Form.FIT
    shaped = {typed for typed, places in _PLACES.items() if Form.FIT not in places}
    return Form.OUTLOOK if shaped & set(typed) else Form.FIT


def _require_columns(form: Form, given: Given) -> None:
    """Columns are those of a schema, or so many; nothing is said about them by default."""
    by_schema, by_number = given.model.schema is not None, given.declared.dim is not None
    if by_schema and by_number:
        raise ParameterError(
            "--schema and --dim say both how many columns there are. Give one of them: --schema for the plan of a "
            "fit (with --expect for what to expect of it), --dim where there is no schema."
        )
    if by_schema and "--feature-norm" in given.typed:
        raise ParameterError("--feature-norm belongs to --dim: with --schema the norm is that of its features.")
    if not by_schema and not by_number:
        raise _no_columns(form)


def _no_columns(form: Form) -> ParameterError:
    if form in (Form.EXCESS, Form.LOSS):
        return ParameterError(f"{form.value} needs --dim, the number of columns, such as --dim 10; or --schema.")
    error = ParameterError("--dim or --schema is missing: how many columns there are.")
    error.add_note("What to expect, from the number of columns alone:\n  dperm plan --n 20000 --dim 10 --epsilon 1")
    error.add_note(
        "What a fit would do, and with --expect what to expect of it:\n"
        "  dperm plan --schema schema.toml --n 20000 --epsilon 1 --expect"
    )
    return error
