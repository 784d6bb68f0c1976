# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the driver against engines that repeat, delay, lose or change answers (T203, T206)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engine_stand_ins import GRID, ArrayGroup, InProcess, Moments, encode, groups, passes_over

from dperm.data.passes import Sums, TablePasses, checksum_of
from dperm.errors import DataError

TABLE = groups([4, 0, 5, 6])
KERNEL = Moments()


def sums_with(answers: Any, table: Any = TABLE) -> dict[str, list[int]]:
    found = passes_over(InProcess(answers).hold(encode, table), table).run(KERNEL)
    return {name: values.tolist() for name, values in found.items()}


EXPECTED = sums_with(lambda answers, number: answers)


def test_sums_are_those_of_the_rows_in_one_piece():
    cells = np.concatenate([group.cells for group in TABLE])
    whole = sums_with(lambda answers, number: answers, [ArrayGroup("all", cells)])
    assert {**whole, "places": []} == {**EXPECTED, "places": []}  # the places are those within a group
    rows, _ = GRID.rows(cells[:, :3], cells[:, 3].astype(np.int8))
    assert EXPECTED["rows"] == [15]
    assert EXPECTED["sums"] == ((rows.codes @ rows.cells.astype(np.int64)) * [1, 2, 3]).tolist()


def test_the_order_of_answers_changes_nothing():
    assert sums_with(lambda answers, number: answers[::-1]) == EXPECTED


def test_the_first_answer_of_a_row_group_counts():
    def repeated(answers, number):
        wrong = [replace(answer, value=Sums(rows=np.array([99]))) for answer in answers]
        return [*answers, *answers, *wrong]

    assert sums_with(repeated) == EXPECTED


def test_answers_of_earlier_passes_and_other_tables_are_dropped():
    late = []

    def delayed(answers, number):
        strangers = [replace(answer, id=f"other {answer.id}") for answer in answers]
        found = [*late, *strangers, *answers]
        late.extend(answers)
        return found

    passes = passes_over(InProcess(delayed).hold(encode, TABLE), TABLE)
    doubled = passes.run(Moments(np.array([2, 4, 6])))
    again = passes.run(KERNEL)
    assert doubled["sums"].tolist() == [2 * value for value in EXPECTED["sums"]]
    assert again["sums"].tolist() == EXPECTED["sums"]


@pytest.mark.parametrize("lost", range(len(TABLE)))
def test_a_missing_row_group_is_an_error_and_not_a_smaller_sum(lost):
    def without(answers, number):
        return answers if number == 1 else answers[:lost] + answers[lost + 1 :]

    with pytest.raises(DataError, match=f"row group 'group {lost}' was not read to its end"):
        sums_with(without)


def test_a_row_group_that_is_missing_from_the_first_pass_is_an_error():
    with pytest.raises(DataError, match="row group 'group 3' was not read to its end"):
        sums_with(lambda answers, number: answers[:-1])


@pytest.mark.parametrize("change", [{"rows": 6}, {"checksum": 1}, {"rows": 0}])
def test_a_changed_row_group_is_an_error(change):
    def changed(answers, number):
        return answers if number < 3 else [*answers[:2], replace(answers[2], **change), answers[3]]

    passes = passes_over(InProcess(changed).hold(encode, TABLE), TABLE)
    passes.run(KERNEL)
    with pytest.raises(DataError, match="row group 'group 2' has changed since it was first read") as caught:
        passes.run(KERNEL)
    assert str(TABLE[2].cells.shape[0]) not in str(caught.value)


def test_rows_and_offsets_are_those_of_the_manifest():
    passes = passes_over(InProcess().hold(encode, TABLE), TABLE)
    assert passes.rows == 15
    assert passes.offsets == {"group 0": 0, "group 1": 4, "group 2": 4, "group 3": 9}


def test_a_table_without_rows_has_no_sums():
    table = groups([0, 0])
    assert passes_over(InProcess().hold(encode, table), table).run(KERNEL) is None


def test_problems_are_those_of_each_row_group():
    held = InProcess().hold(encode, TABLE)
    held.held[2] = replace(held.held[2], problems=frozenset({"x2", "x0"}))
    found = TablePasses(held, tuple(group.id for group in TABLE)).read_manifest()
    assert found == {"group 0": [], "group 1": [], "group 2": ["x0", "x2"], "group 3": []}


@pytest.mark.parametrize("change", ["cell", "code", "length", "order", "fewer"])
def test_every_change_of_a_row_changes_the_checksum(change):
    rows, _ = GRID.rows(np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 0.125]]), np.array([0, 1], np.int8))
    other = rows.at([0, 1])
    if change == "cell":
        other.cells[1, 2] += 1
    elif change == "code":
        other.codes[0] = -1
    elif change == "length":
        other.lengths[0] = np.nextafter(other.lengths[0], 9)
    else:
        other = rows.at([1, 0] if change == "order" else [0])
    assert checksum_of(rows.at([0, 1])) == checksum_of(rows)
    assert checksum_of(other) != checksum_of(rows)


def test_late_answers_of_an_earlier_fit_are_dropped():
    """Numbers of passes start at random in each fit, so an engine with a long delay adds nothing of another fit."""
    numbers = {TablePasses(None, ()).number for _ in range(20)}
    assert len(numbers) == 20
    assert min(numbers) > 2**20
