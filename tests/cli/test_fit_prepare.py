# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit --prepare``: a table with nothing public but the names of its columns, under one charge."""

import json
import os
import re
from pathlib import Path

import pytest
from people_tables import RAW_HEADER, raw_people, write_raw

from dperm import ApproxDP
from dperm.cli.charging import ContentCheck
from dperm.data.schema import PartialSchema
from dperm.errors import DataError, DpermWarning, LeakError, ParameterError
from dperm.sklearn import PrivateTableClassifier, PrivateTableEncoder, load_model
from dperm.sklearn.files import load_stored

FIT = "fit raw.csv --target income --epsilon 8 --prepare --exclude pay"
PART = '[columns.hours]\nlow = 0\nhigh = 80\n[target]\nname = "income"\nclasses = ["<=50K", ">50K"]\n'


@pytest.fixture
def raw(desk):
    write_raw(raw_people(3000))
    (desk / "part.toml").write_text(PART, encoding="utf-8")
    return desk


def test_a_raw_table_becomes_a_model_with_one_charge_that_every_verb_accepts(raw, opened, ends, answered):
    """3000 records and epsilon 8: both classes have more than 50 standard deviations of noise."""
    ledger = opened(limit=9.0)
    line = f"{FIT} --ledger census.ledger --request-id a"
    said = ends(0, line)
    (booked,) = ledger.bookings()
    assert booked.cost["epsilon"] == pytest.approx(8, rel=1e-3) and booked.state.value == "committed"
    for words in ("epsilon = 8", "a quarter of the privacy budget", "'<=50K', '>50K'", "left out:   id; no value"):
        assert words in said.stdout
    assert re.search(r"training by itself has epsilon [67]\.\d+ at delta 6e-7", said.stdout)
    assert "SECRET" not in Path("model.dperm").read_bytes().decode("latin1")
    stored = load_stored("model.dperm")
    assert stored.estimator.guarantee_ == ApproxDP(8.0, 1e-6, "replace_one")
    assert list(stored.schema.encoder.columns) == ["age", "work", "hours"]
    assert "was fitted before" in ends(0, line).stdout and len(ledger.bookings()) == 1
    other = ends(3, f"{line} --exclude id").stderr
    assert "used for another command" in other and len(ledger.bookings()) == 1
    predicted = ends(0, "predict model.dperm raw.csv").stdout.splitlines()[1:]
    true = [row[4] for row in raw_people(3000)]
    assert sum(one == other for one, other in zip(predicted, true, strict=True)) > 0.8 * 3000
    assert load_model("model.dperm").predict({"age": ["?", 20], "work": [None, 1], "hours": ["", 7]}).shape == (2,)
    ends(0, "report model.dperm -o statement.md")
    assert "found privately" in Path("statement.md").read_text()
    assert "binds the schema, the metrics" in ends(0, "ledger verify census.ledger --model model.dperm").stdout


def test_a_model_whose_schema_was_edited_does_not_verify(raw, opened, ends, dperm):
    from dperm.report.model_file import ModelFile, read_model, write_model

    opened(limit=9.0)
    ends(0, f"{FIT} --ledger census.ledger")
    file = read_model("model.dperm")
    schema = file.data["schema"].replace('"low": ', '"low": -')
    assert schema != file.data["schema"]
    write_model("edited.dperm", ModelFile(file.kind, {**file.data, "schema": schema}, file.arrays), overwrite=True)
    done = dperm("ledger verify census.ledger --model edited.dperm")
    assert done.exit_code == 5 and "edited or is damaged" in done.output


def test_declared_columns_are_free_and_the_model_is_the_one_of_the_python_api(raw, answered):
    from dperm.data.files import read_raw_table
    from dperm.data.schema import Schema

    found = answered(f"{FIT} --schema part.toml --seed 3 --not-private")
    assert not found["private"] and found["guarantee"] is None
    assert "preparation of 3 columns" in found["why"][0] and found["prepared"]["classes"] is None
    table = read_raw_table(Path("raw.csv"), RAW_HEADER[:5])
    part = PartialSchema.load(Path("part.toml"))
    given = {"columns": part.columns, "classes": part.target.classes, "random_state": 3}
    table["hours"] = table["hours"].numbers
    with pytest.warns(DpermWarning, match="NOT PRIVATE"):
        model = PrivateTableClassifier(epsilon=8.0, delta=1e-6, holdout=0.0, **given).fit(table, target="income")
    stored = load_stored("model.dperm")
    assert (stored.estimator.coef_ == model.model_.coef_).all() and stored.schema == model.schema_
    assert isinstance(stored.schema, Schema)


def test_a_number_to_predict_has_its_range_found(raw, answered):
    line = "fit raw.csv --target pay --task regression --epsilon 8 --prepare --exclude income --adjacency add_remove"
    found = answered(line)
    low, high = found["prepared"]["label_range"]
    assert found["estimator"] == "PrivateLinearRegression" and 0 <= low < 30 and 130 < high < 300
    assert found["prepared"]["training_guarantee"]["epsilon"] < 8 and "3000" not in json.dumps(found["why"])


REFUSED = {
    "mistyped": ("--schema typo.toml", "column named 'hour'"),
    "excluded twice": ("--exclude SECRETS", "column named 'SECRETS'"),
    "excluded and declared": ("--schema part.toml --exclude hours", "declared in the schema"),
    "excluded target": ("--exclude income", "to be predicted"),
    "complete": ("--schema full.toml --exclude id --exclude age --exclude work", "nothing to prepare"),
    "method": ("--method output", "--method cannot be combined with --prepare"),
    "estimator": ("--estimator svc", "--estimator cannot be combined"),
    "C": ("--C 1", "--C cannot be combined"),
    "quantile": ("--quantile 0.5", "--quantile cannot be combined"),
    "task": ("--task cluster", "classification or regression"),
    "contradiction": ("--schema part.toml --task regression", "declares classes"),
    "classes": ("--schema part.toml --most-classes 3", "whose classes are not declared"),
    "pure": ("--delta 0", "delta > 0"),
    "draft": ("--schema draft.toml", "FILL IN"),
    "empty": ("--schema empty.toml", "declares nothing"),
    "infinite": ("--epsilon inf --not-private", "must be finite"),
    "target": ("--schema both.toml", "predicted from itself"),
}


def test_what_makes_no_sense_is_refused_before_the_data_are_read(raw, opened, dperm, monkeypatch):
    from dperm.data import files

    ledger = opened(limit=9.0)
    for name, text in {
        "typo": PART.replace("hours", "hour"),
        "full": PART,
        "draft": '[columns.hours]\nlow = "FILL IN"\nhigh = 80\n',
        "empty": "",
        "both": '[columns.income]\ncategories = ["a", "b"]\n',
    }.items():
        Path(f"{name}.toml").write_text(text)
    monkeypatch.setattr(files, "read_raw_table", lambda *given: pytest.fail("the data were read"))
    for more, words in REFUSED.values():
        done = dperm(f"{FIT} {more} --ledger census.ledger")
        assert done.exit_code in (2, 4) and words in done.stderr, done.output
    assert ledger.bookings() == () and not Path("model.dperm").exists()


def test_options_of_a_preparation_need_it_and_a_missing_schema_names_both_ways(raw, ends):
    for more in ("--task regression", "--exclude id", "--most-classes 3"):
        assert "belongs to --prepare" in ends(2, f"fit raw.csv --epsilon 1 --schema schema.toml {more}").stderr
    said = ends(4, "fit raw.csv --target income --epsilon 1").stderr
    assert "dperm schema draft raw.csv" in said and "add --prepare" in said
    assert "--target is missing" in ends(2, "fit raw.csv --epsilon 1 --prepare").stderr


def test_no_cell_of_a_prepared_column_is_refused_or_repeated(raw, ends):
    rows = raw_people(3000)
    rows[0] = ["SECRET", "SECRET" * 50, "\ud7ff", "1e999", "SECRET", "-"]
    rows[1] = ["", "", "", "", "", ""]
    write_raw(rows)
    said = ends(0, f"{FIT} --adjacency add_remove")
    assert said.stderr == "" and "SECRET" not in Path("model.dperm").read_bytes().decode("latin1")
    rows[2] = rows[2][:-1]
    write_raw(rows)
    assert "as many cells in every record" in ends(2, f"{FIT} --force").stderr


def test_a_declared_column_that_breaks_its_declaration_costs_nothing(raw, opened, ends):
    ledger = opened(limit=9.0)
    Path("raw.csv").write_text(Path("raw.csv").read_text().replace(",53,", ",SECRET,"))
    said = ends(2, f"{FIT} --schema part.toml --ledger census.ledger").stderr
    assert "column 'hours' must hold numbers" in said and "Nothing was charged" in said and ledger.bookings() == ()


def test_labels_that_do_not_stand_out_are_charged_and_no_model_is_written(raw, opened, ends):
    ledger = opened(limit=9.0)
    write_raw([[*row[:4], "one", 1] for row in raw_people(3000)])
    said = ends(2, f"{FIT} --ledger census.ledger").stderr
    assert "fewer than two classes" in said and "Charged to account 'census'" in said
    (booked,) = ledger.bookings()
    assert booked.state.value == "committed" and not Path("model.dperm").exists()
    assert "The released schema is in model.schema.toml. No model was written." in said and "is lost" not in said
    text = Path("model.schema.toml").read_text(encoding="utf-8")
    assert booked.digest in text and "epsilon = 8" in text and "SECRET" not in text
    assert {"age", "hours"} <= set(PartialSchema.load(Path("model.schema.toml")).columns)
    again = ends(2, FIT)  # another name, whatever is in the first one
    assert "Nothing was charged" not in again.stderr and len(list(Path().glob("model.schema*.toml"))) == 2
    assert Path("model.schema.toml").read_text(encoding="utf-8") == text


@pytest.mark.filterwarnings("ignore:The metrics come from")
def test_too_few_public_records_are_refused_before_the_charge(raw, opened, ends):
    """450 records are enough for 4 columns at epsilon 8, and too few if the preparation reads half of them."""
    ledger = opened(limit=9.0)
    write_raw(raw_people(450))
    line = f"{FIT} --exclude id --holdout 0.5 --ledger census.ledger"
    for more in ("", "--n 450"):
        said = ends(2, f"{line} {more}").stderr
        for words in (
            "450 records are too few",
            "reads 50 % of them",
            "add --allow-few-records",
            "Nothing was charged",
        ):
            assert words in said
    assert ledger.bookings() == () and not Path("model.dperm").exists()
    said = ends(0, f"{line} --allow-few-records")
    assert "450 records are too few" in said.stderr and len(ledger.bookings()) == 1
    assert " training records (a noisy count)" in said.stdout
    ends(0, f"{FIT} --exclude id --out whole.dperm")
    assert "belongs to --prepare" in ends(2, "fit raw.csv --epsilon 1 --schema schema.toml --allow-few-records").stderr


def test_a_model_without_any_feature_says_so(raw, ends, answered):
    """Ids, texts and dates that all differ: no value and no range of them can be released."""
    rows = [[f"id{place}", f"x{place}", "", "", "<=50K" if place % 2 else ">50K", 1] for place in range(3000)]
    write_raw(rows)
    line = f"{FIT} --adjacency add_remove --force"
    done = ends(0, line)
    assert "every prepared column was left out" in done.stderr
    assert "left out:   id, age, work, hours; no value or range stands out from the noise" in done.stdout
    assert "WARNING:    every prepared column was left out" in done.stdout
    assert (
        "features:   2, which show only whether 'id' is missing" in done.stdout and "from 1 columns" not in done.stdout
    )
    ends(0, "report model.dperm -o statement.md")
    text = Path("statement.md").read_text(encoding="utf-8")
    assert "Every prepared column was left out" in text and "one of , or" not in text
    found = answered(line)["prepared"]
    assert found["constant"] == ["id", "age", "work", "hours"] and len(found["warnings"]) == 1
    declared = '[columns.age]\ncategories = ["x1", "x2"]\nother = true\n'
    Path("age.toml").write_text(declared)
    assert "show only the declared columns" in ends(0, f"{line} --schema age.toml").stdout


@pytest.mark.filterwarnings("ignore:The metrics come from")
def test_too_few_public_records_are_warned_about_before_the_charge(monkeypatch):
    table = {"a": range(50), "b": ["x", "y"] * 25}
    for model, given in (
        (PrivateTableClassifier(epsilon=1.0, n=50, adjacency="add_remove"), {"target": "b"}),
        (PrivateTableClassifier(epsilon=1.0), {"target": "b"}),
        (PrivateTableEncoder(epsilon=1.0), {}),
    ):

        def refuses(*given, **more):
            raise DataError("read")

        monkeypatch.setattr("dperm.mechanisms.run._read", refuses)
        with pytest.warns(DpermWarning, match="50 records are too few"), pytest.raises(DataError, match="read"):
            model.fit(table, **given)


def test_two_passes_read_the_same_content(tmp_path):
    check = ContentCheck((tmp_path / "data.csv",))
    with check.reading() as watch:
        watch(b"one")
    with check.reading() as watch:
        watch(b"one")
    with pytest.raises(DataError, match="changed"), check.reading() as watch:
        watch(b"two")
    with check.reading(once=True) as watch:
        assert watch is None


def test_a_model_on_a_full_disk_is_written_elsewhere(raw, opened, ends, monkeypatch):
    opened(limit=9.0)
    known = os.replace

    def full(source, target):
        if str(target) == "model.dperm":
            raise OSError(28, "No space left on device")
        known(source, target)

    monkeypatch.setattr("dperm.report.whole_file.os.replace", full)
    done = ends(0, f"{FIT} --ledger census.ledger --force")
    assert "The model is complete" in done.stderr
    (other,) = Path().glob("model-*.dperm")
    assert load_stored(other).schema.target.classes == ("<=50K", ">50K")


def test_partial_schemas_declare_columns_or_the_target(tmp_path):
    part = PartialSchema.from_toml(PART)
    assert list(part.columns) == ["hours"] and part.target.classes == ("<=50K", ">50K")
    assert PartialSchema.from_toml(PART.partition("[target]")[0]).target is None
    assert PartialSchema.from_toml("[target]" + PART.partition("[target]")[2]).columns == {}
    assert part.digest != PartialSchema.from_toml(PART.replace("80", "81")).digest
    with pytest.raises(LeakError, match="delete it, so that it is prepared"):
        PartialSchema.from_toml("[columns.a]\n")
    with pytest.raises(ParameterError, match="declares nothing"):
        PartialSchema.from_toml("")
