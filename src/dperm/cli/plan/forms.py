# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which question a command line asks, and which options belong to it."""

from enum import Enum

from dperm.cli.plan.given import Given
from dperm.errors import ParameterError


class Form(Enum):
    """The questions that ``dperm plan`` answers, by the options that ask them."""

    FIT = "--schema"
    EXPECT = "--schema with --expect"
    OUTLOOK = "--n with --dim"
    EXCESS = "--target-excess with --dim"
    LOSS = "--target-loss with --dim"


_SCHEMA = (Form.FIT, Form.EXPECT)
_NO_SCHEMA = (Form.OUTLOOK, Form.EXCESS, Form.LOSS)
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
    "--dim": _NO_SCHEMA,
    "--feature-norm": _NO_SCHEMA,
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
    if form in _NO_SCHEMA:
        _require_numbers(form, given)
    for typed in given.typed:
        if form not in _PLACES.get(typed, Form):
            raise ParameterError(f"{typed} belongs to {_places(typed)}. With {form.value}, leave it out.")
    return form


def _places(typed: str) -> str:
    """The questions that an option belongs to, in words."""
    places = [place for place in _PLACES[typed] if place is not Form.EXPECT or Form.FIT not in _PLACES[typed]]
    return ", or ".join(place.value for place in places)


def _asked(given: Given) -> Form:
    question, typed = given.question, given.typed
    if "--schema" in typed:
        if "--dim" in typed:
            raise ParameterError(
                "--schema and --dim say both how many columns there are. Give one of them: --schema for the plan of a "
                "fit (with --expect for what to expect of it), --dim where there is no schema."
            )
        return Form.EXPECT if question.expect else Form.FIT
    if question.target_excess is not None and question.target_loss is not None:
        raise ParameterError("--target-excess and --target-loss are two questions. Ask one at a time.")
    if question.target_excess is not None:
        return Form.EXCESS
    if question.target_loss is not None:
        return Form.LOSS
    shaped = {typed for typed, places in _PLACES.items() if Form.FIT not in places}
    return Form.OUTLOOK if shaped & set(typed) else Form.FIT


def _require_numbers(form: Form, given: Given) -> None:
    """The number of columns has no default; nor has that of the rows, unless it is what is asked for."""
    if given.declared.dim is None:
        raise ParameterError("--dim is missing: the number of columns, such as --dim 10; or give --schema.")
    if form is Form.OUTLOOK and given.declared.n is None:
        raise ParameterError(
            "--n is missing: how many records there will be, such as --n 20000. To ask how many are needed, give "
            "--target-excess or --target-loss."
        )
