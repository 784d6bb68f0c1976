# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings keep the parts of their messages, and front ends spell the arguments."""

import copy
import inspect
import pickle
import warnings

import pytest

from dperm import checks, errors
from dperm.deprecation import deprecated_names
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg

KINDS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.Message | Exception)
]


def option(name, value):
    return f"--{name}" if value is None else f"--{name} {value}"


def test_a_message_has_argument_rule_value_and_remedy():
    error = errors.ParameterError(
        argument="epsilon", rule=f"must be below {arg('limit')}", got="3", remedy=f"Give {arg('epsilon', 1)}."
    )
    assert str(error) == "epsilon must be below limit, got 3. Give epsilon=1."
    assert error.describe(option) == "--epsilon must be below --limit, got 3. Give --epsilon 1."
    assert repr(error) == f"ParameterError({str(error)!r})"


def test_text_of_a_user_is_no_reference():
    for text in ("{@n}", "{@n:5}", "{n}", arg("n"), arg("n", 5)):
        error = errors.DataError(f"column {text!r} must hold numbers, see {arg('n')}.")
        assert str(error) == f"column {text!r} must hold numbers, see n."
        assert error.describe(option) == f"column {text!r} must hold numbers, see --n."


def test_text_with_braces_is_left_alone():
    assert str(errors.DataError("column '{n}' has {0} and {@}")) == "column '{n}' has {0} and {@}"
    assert str(errors.DataError(f"Give {arg('values', {'a': 1})}.")) == "Give values={'a': 1}."


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(kind, Exception)])
def test_errors_keep_their_parts_when_they_are_copied_or_pickled(kind):
    error = kind(argument="n", rule="must be positive", got="0", remedy="Give 1.", code="custom")
    error.add_note("nothing was charged")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (type(other), str(other), other.argument, other.code) == (kind, str(error), "n", "custom")
        assert other.__notes__ == ["nothing was charged"] and other.args == error.args


def test_every_kind_has_a_code_of_its_own():
    codes = [kind("problem.").code for kind in KINDS if issubclass(kind, Exception)]
    bases = {errors.DpermError.default_code}
    assert len({*codes} - bases) == len([code for code in codes if code not in bases])


def test_checks_of_arguments_have_the_parts():
    with pytest.raises(errors.ParameterError) as raised:
        checks.positive("epsilon", -1, "Choose 1.0.")
    error = raised.value
    assert (error.argument, error.rule, error.got) == ("epsilon", "must be a finite number > 0", "-1")
    assert (error.remedy, error.code) == ("Choose 1.0.", "parameter")


def test_a_fact_is_a_sentence_with_values_and_arguments():
    fact = Fact("clip.chosen", "Clipped at {clip:.2g}; {@clip:{all:g}} clips nothing.", {"clip": 0.512, "all": 1.0})
    assert str(fact) == "Clipped at 0.51; clip=1 clips nothing."
    assert fact.describe(option) == "Clipped at 0.51; --clip 1 clips nothing."
    assert fact.as_dict() == {"code": "clip.chosen", "values": {"clip": 0.512, "all": 1.0}, "text": str(fact)}


def test_an_old_name_works_with_a_warning():
    get = deprecated_names("dperm.old", {"Failure": "dperm.errors:DpermError"})
    with pytest.warns(DeprecationWarning, match=r"dperm\.old\.Failure is deprecated .* use dperm\.errors\.DpermError"):
        assert get("Failure") is errors.DpermError
    with pytest.raises(AttributeError, match="no attribute 'Other'"), warnings.catch_warnings():
        get("Other")
