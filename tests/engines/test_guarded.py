# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of calls on workers name the row group and contain no cell."""

import pickle
import traceback

import pytest

from dperm.data.row_groups import FOREIGN
from dperm.engines.guarded import error_without_cells, failed_group, guarded
from dperm.errors import BudgetError, DataError, DpermError

SECRET = "12345"


def foreign(cell: str) -> None:
    raise UnicodeDecodeError("utf-8", cell.encode(), 0, 1, f"cell {cell}")


def noted(cell: str) -> None:
    try:
        foreign(cell)
    except ValueError as cause:
        error = DataError(argument="column 'age'", rule="must hold numbers", remedy="Declare it.")
        error.add_note(f"cell {cell}")
        raise error from cause


def budget(cell: str) -> None:
    raise BudgetError("the budget does not cover the request.")


def frames_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("function", [foreign, noted, budget])
def test_nothing_is_behind_an_error(function):
    with pytest.raises(DpermError) as caught:
        guarded(function, SECRET, name="group 7")
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    assert frames_of(error)[-1] == "guarded"
    assert SECRET not in f"{error!r} {vars(error)} {pickle.dumps(error)}"
    assert failed_group(error, ["group 0"]) == failed_group(pickle.loads(pickle.dumps(error)), ["group 0"]) == "group 7"


def test_errors_of_dperm_keep_their_parts_and_others_are_replaced():
    kinds = {function: error_of(function) for function in (foreign, noted, budget)}
    assert {type(error) for error in kinds.values()} == {DataError, BudgetError}
    assert kinds[foreign].code == FOREIGN
    assert "row group 'group 7' cannot be processed: a library raised UnicodeDecodeError." in str(kinds[foreign])
    assert (kinds[noted].argument, kinds[noted].code) == ("column 'age'", "data")
    assert str(kinds[budget]) == "the budget does not cover the request."


def error_of(function) -> DpermError:
    try:
        function(SECRET)
    except Exception as error:
        return error_without_cells(error, "group 7")
    raise AssertionError


def test_results_are_returned():
    assert guarded(len, SECRET, name="group 7") == len(SECRET)
