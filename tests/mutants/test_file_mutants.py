# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Small changes to how files are read, charged and interrupted that must not survive."""

import os
import signal

import numpy as np

from dperm.cli.running import Interruption
from dperm.data import Categorical, Numeric
from dperm.errors import DataError
from dperm.privacy import PureDP, Record


def refuses_ragged_records(module, path):
    path.write_text("age,x\n1,2\n3,4,5\n")
    try:
        module.CsvFile(path).read({"age": Numeric(0, 9)}, lambda share: None)
    except DataError:
        return
    raise AssertionError("a ragged record was read")


def reads_declared_categories_first(module):
    found = module.cell_reader(Categorical(("NA", "b"))).read("w", ["NA", "b", ""]).tolist()
    assert found == ["NA", "b", None]


def reads_numbers_one_by_one(module):
    try:
        found = module.NumberCells().read("v", ["true", "1"]).tolist()
    except DataError:
        raise AssertionError("one cell decided about another") from None
    assert found == [1.0, *module.NumberCells().read("v", ["1"]).tolist()] == [1.0, 1.0]


def holds_signals(module):
    with module.Interrupts() as interrupts:
        try:
            interrupts.delay()
            os.kill(os.getpid(), signal.SIGINT)
        except Interruption:
            raise AssertionError("a signal that was held came through") from None


def does_not_repeat_a_header(module, path):
    try:
        module.require_columns(path, ["secret", "secret"], {"age": Numeric(0, 9)})
    except DataError as error:
        assert "secret" not in str(error)
        return
    raise AssertionError("a missing column was not noticed")


def watches_what_it_reads(module, path):
    path.write_text("age,x\n1,2\n")
    seen = bytearray()
    with open(path, "rb", buffering=0) as file:
        module.StoredBytes(file, seen.extend).read()
    assert seen == path.read_bytes()


def keeps_nothing_of_a_file_in_an_error(module, path):
    path.write_bytes(b"age\nsecret\xff\n")
    try:
        module.CsvFile(path).read({"age": Numeric(0, 9)}, lambda share: None)
    except DataError as error:
        assert error.__context__ is None
        return
    raise AssertionError("text that is not UTF-8 was read")


def compares_rounded(module):
    assert module._alike(np.array([1.0]), np.array([1 + 1e-12]))
    assert not module._alike(np.array([1.0]), np.array([1 + 1e-6]))
    assert not module._alike(np.array([1.0]), np.array([-1.0]))


def refuses_private_words_about_a_seed(module):
    record = Record(PureDP(1.0, "replace_one"), {}, noise="random bits: NOT PRIVATE (generated from seed 1)")
    try:
        module._require_seed(record, None)
    except ValueError:
        return
    raise AssertionError("a seeded model passed for private")


def test_a_reader_whose_content_is_not_watched_dies(assert_killed, tmp_path):
    assert_killed(
        lambda module: watches_what_it_reads(module, tmp_path / "t.csv"),
        "dperm.data.byte_streams",
        "self._watch(block)",
        "self._watch(block[1:])",
    )


def test_an_error_that_keeps_a_part_of_the_file_dies(assert_killed, tmp_path):
    assert_killed(
        lambda module: keeps_nothing_of_a_file_in_an_error(module, tmp_path / "t.csv"),
        "dperm.data.csv_files",
        'rule = "UTF-8 text. Save it as UTF-8."',
        'raise DataError("it must be UTF-8") from None',
    )


def test_coefficients_that_are_hardly_compared_die(assert_killed):
    assert_killed(compares_rounded, "dperm.sklearn.consistency", "ROUNDING = 1e-9", "ROUNDING = 1e-3")


def test_a_seeded_model_that_passes_for_private_dies(assert_killed):
    assert_killed(
        refuses_private_words_about_a_seed,
        "dperm.sklearn.consistency",
        'record.seeded is ("NOT PRIVATE" in record.noise)',
        'record.seeded or ("NOT PRIVATE" in record.noise)',
    )


def test_a_reader_that_takes_ragged_records_dies(assert_killed, tmp_path):
    path = tmp_path / "t.csv"
    assert_killed(
        lambda module: refuses_ragged_records(module, path),
        "dperm.data.csv_files",
        "if widths - {0, width}:",
        "if widths - {0, width, 3}:",
    )


def test_a_reader_that_prefers_missing_values_dies(assert_killed):
    assert_killed(
        reads_declared_categories_first,
        "dperm.data.cells",
        "known[cell] if cell in known else self._other(cell)",
        "self._other(cell)",
    )


def test_a_reader_that_reads_a_column_as_a_whole_dies(assert_killed):
    assert_killed(reads_numbers_one_by_one, "dperm.data.cells", "    if word in TRUTH:\n", "    if word in ():\n")


def test_signals_that_do_not_wait_die(assert_killed):
    assert_killed(holds_signals, "dperm.cli.interrupts", "(again or not self._delays)", "True")


def test_a_message_that_repeats_the_header_dies(assert_killed, tmp_path):
    assert_killed(
        lambda module: does_not_repeat_a_header(module, tmp_path / "t.csv"),
        "dperm.data.files",
        "for name in wanted:",
        "for name in ():",
    )
