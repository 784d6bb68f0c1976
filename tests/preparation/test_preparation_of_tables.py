# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Preparation, training and evaluation of tables in row groups: the bits of the same records in memory (T70, T203)."""

import pickle
import traceback
import warnings
from itertools import count, pairwise

import numpy as np
import pandas as pd
import pytest

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.data import Categorical, Numeric, row_groups
from dperm.data import table as open_table
from dperm.data.large_tables import Table
from dperm.data.local_engines import SerialEngine
from dperm.data.memory_groups import FrameGroup
from dperm.errors import AssumptionError, DataError, DpermWarning, NotPrivateWarning, ParameterError
from dperm.noise import NotPrivateBits
from dperm.pipeline.holdout import RecordCoins, RecordSplit
from dperm.sklearn import (
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableClassifier,
    PrivateTableEncoder,
    PrivateTableRegressor,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore:.*records are too few"),
    pytest.mark.filterwarnings("ignore:the metrics come from about"),
    pytest.mark.filterwarnings("ignore:The metrics come from about"),
]
SECRET = "secret cell"
WORK = {"work": Categorical(["private", "public"], other=True)}


def people(n=4000, seed=0):
    """Records with gaps, text among numbers, infinities, and one text that only few records hold."""
    rng = np.random.default_rng(seed)
    age, work = rng.integers(18, 90, n), rng.choice(["private", "public", "self"], n)
    pay = 3.0 * age + 50 * (work == "self") + rng.normal(size=n)
    odd = pay.astype(object)
    odd[::17], odd[1::29], odd[2::31], odd[5::401] = None, -np.inf, np.inf, SECRET
    income = np.where(pay > 180, "high", "low")
    return pd.DataFrame({"age": age, "work": work, "odd": odd, "pay": pay, "income": income})


PEOPLE = people()


def cut(frame, pieces, *, seed=1, group=FrameGroup):
    """Cut a frame at uneven places; from the second piece on, every fourth row group is empty."""
    ends = [0, *np.sort(np.random.default_rng(seed).integers(0, len(frame) + 1, pieces - 1)).tolist(), len(frame)]
    ends[2:-1:4] = ends[1:-2:4]
    return tuple(
        group(f"part-{place}.parquet", {name: frame[name].iloc[start:stop] for name in frame}, stop - start)
        for place, (start, stop) in enumerate(pairwise(ends))
    )


def table_of(frame, pieces=3, *, engine=None, groups=None):
    return Table(cut(frame, pieces) if groups is None else groups, tuple(frame), engine or SerialEngine(), 0)


class CarelessEngine:
    """Engine of other processes: pickled functions, answers in another order, twice, or of an earlier pass."""

    name = "careless"

    def __init__(self, seed=0, forgotten=()):
        self.rng, self.forgotten, self.closed, self.holds = np.random.default_rng(seed), forgotten, 0, 0

    def hold(self, encode, groups):
        self.holds += 1
        found = [pickle.loads(pickle.dumps(encode))(group) for group in groups if group.id not in self.forgotten]
        return CarelessGroups(self, found)


class CarelessGroups:
    def __init__(self, engine, held):
        self.engine, self.held = engine, held

    def run(self, task):
        answers = [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task))(held))) for held in self.held]
        order = self.engine.rng.permutation(np.repeat(np.arange(len(answers)), 2))
        for answer in answers[:2]:
            yield answer._replace(number=0) if hasattr(answer, "_replace") else type(answer)("?", 0, 9, 9, None)
        yield from (answers[place] for place in order)

    def close(self):
        self.engine.closed += 1


MODELS = {
    "schema, model and metrics": lambda: (PrivateTableClassifier(epsilon=3.0, delta=1e-5, holdout=0.3), "income"),
    "add or remove, groups": lambda: (
        PrivateTableClassifier(epsilon=3.0, delta=1e-5, adjacency="add_remove", groups={"work": ["self"]}),
        "income",
    ),
    "norms, declared columns and classes": lambda: (
        PrivateTableClassifier(
            epsilon=3.0, delta=1e-5, holdout=0.2, encoding="scaled", columns=WORK, classes=["low", "high"]
        ),
        "income",
    ),
    "regression": lambda: (PrivateTableRegressor(epsilon=5.0, delta=1e-5, groups={"work": ["self"]}), "age"),
    "declared labels": lambda: (
        PrivateTableRegressor(epsilon=5.0, delta=1e-5, label_range=(0, 100), holdout=0.0),
        "age",
    ),
    "pipeline": lambda: (
        PrivatePipeline(
            [("schema", PrivateTableEncoder()), ("model", PrivateLogisticRegression(method="output"))],
            epsilon=5.0,
            delta=1e-5,
        ),
        "income",
    ),
}


def fitted(name, table, *, by_y=False):
    model, target = MODELS[name]()
    model.set_params(random_state=7)
    return model.fit(table, target) if by_y else model.fit(table, target=target)


def release_of(model):
    """All released numbers, as exact text and bytes."""
    metrics = b"" if model.metrics_ is None else model.metrics_.noisy.tobytes()
    return repr(model.prepared_), model.schema_.to_toml(), model.model_._fitted.released.tobytes(), metrics


@pytest.fixture(scope="module")
def in_memory():
    return {}


@pytest.mark.parametrize("pieces", [1, 3, 16])
@pytest.mark.parametrize("name", MODELS)
def test_a_table_gives_the_release_of_the_same_records_in_memory(name, pieces, in_memory):
    """Schema, coefficients and metrics, bit by bit; engines answer in any order, and repeat themselves (T203, T206)."""
    if name not in in_memory:
        in_memory[name] = fitted(name, PEOPLE)
    base, engine = in_memory[name], CarelessEngine(pieces)
    found = fitted(name, table_of(PEOPLE, pieces, engine=engine), by_y=True)
    assert release_of(found) == release_of(base)
    public = [{**model.record_.public, "why": None} for model in (found, base)]
    assert public[0].pop("engine") == {"name": engine.name}
    assert public[0] == public[1]
    assert f'The records were read in row groups by the engine "{engine.name}".' in found.statement_["security"]
    assert (found.n_records_, found.record_.stages) == (base.n_records_, base.record_.stages)
    assert engine.closed == engine.holds == 2  # raw and encoded rows


def test_pieces_threads_and_files_change_no_bit(monkeypatch, tmp_path, in_memory):
    name = "schema, model and metrics"
    frame = PEOPLE.drop(columns="odd")  # a file holds no column of text and numbers
    base = release_of(fitted(name, frame))
    monkeypatch.setattr(row_groups, "PIECE_ROWS", 97)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame[:1500].to_parquet(tmp_path / "1.parquet", row_group_size=700)
    frame[1500:].to_parquet(tmp_path / "2.parquet")
    assert release_of(fitted(name, open_table(frame, memory="1MB"))) == base
    assert release_of(fitted(name, open_table(tmp_path / "people.csv", memory=0))) == base
    assert release_of(fitted(name, open_table(str(tmp_path / "*.parquet"), scratch=tmp_path, memory=0))) == base


@pytest.mark.parametrize("task", [None, "classification", "regression"])
@pytest.mark.parametrize("encoding", ["bins", "scaled"])
def test_an_encoder_finds_the_schema_of_the_same_records_in_memory(task, encoding):
    target = "age" if task == "regression" else "income"
    make = {"task": task, "encoding": encoding, "columns": WORK, "random_state": 3}
    base = PrivateTableEncoder(**make).fit(PEOPLE.drop(columns=target), PEOPLE[target])
    found = PrivateTableEncoder(**make).fit(table_of(PEOPLE, 5, engine=CarelessEngine()), target)
    assert repr(found.release_.value) == repr(base.release_.value)
    assert found.schema_.to_toml() == base.schema_.to_toml()
    assert found.feature_names_in_.tolist() == base.feature_names_in_.tolist()
    assert abs(found.transform(PEOPLE) - base.transform(PEOPLE)).max() == 0


def test_the_order_of_the_records_changes_no_count():
    """Values receive noise in alphabetical order, and not in the order in which records hold them (T73)."""
    shuffled = PEOPLE.sample(frac=1, random_state=2)
    base, found = (
        PrivateTableEncoder(task="classification", random_state=3).fit(frame.drop(columns="income"), frame["income"])
        for frame in (PEOPLE, shuffled)
    )
    assert repr(found.release_.value) == repr(base.release_.value)


def test_the_coin_of_a_record_does_not_depend_on_the_cuts():
    coins = RecordCoins.of(1000, holdout=0.3, stream=NotPrivateBits(1).stream())
    split = RecordSplit.by_coins(1000, holdout=0.3, stream=NotPrivateBits(1).stream())
    assert split.evaluation.tolist() == coins.evaluation(0, 1000).tolist()
    ends = [0, 1, 1, 400, 403, 1000]
    for choose, whole in ((coins.evaluation, split.evaluation), (coins.training, split.training)):
        assert np.concatenate([choose(start, stop) for start, stop in pairwise(ends)]).tolist() == whole.tolist()


# --- changed and missing row groups ---


class ChangingGroup(FrameGroup):
    """Row group that differs from its read number ``after`` on."""

    def __init__(self, id, columns, rows, after, change):
        super().__init__(id, columns, rows)
        vars(self).update(reads=count(1), after=after, change=change)

    def cells(self, names, rows):
        if next(self.reads) < self.after or not self.count:
            return super().cells(names, rows)
        columns = {name: self.change(values) for name, values in self.columns.items()}
        return FrameGroup(self.id, columns, len(columns["age"])).cells(names, rows)


def another_order(values):
    return values.iloc[::-1]


def one_row_less(values):
    return values.iloc[:-1]


@pytest.mark.parametrize("change", [another_order, one_row_less])
@pytest.mark.parametrize(
    ("name", "reads_of_a_fit"),
    [
        ("schema, model and metrics", 6),  # number of rows, check, profile, values, encoding, metrics
        ("norms, declared columns and classes", 7),  # also the norms
        ("declared labels", 4),  # number of rows, check with profile, values, encoding
        ("add or remove, groups", 5),  # check, profile, values, encoding, metrics
    ],
)
def test_a_row_group_that_changes_between_two_passes_is_refused(name, reads_of_a_fit, change):
    """T206: whichever pass reads another table."""
    reads = []
    for after in range(2, 9):
        groups = cut(PEOPLE, 3, group=lambda *facts, after=after: ChangingGroup(*facts, after, change))
        reader = groups[0].reads
        try:
            fitted(name, table_of(PEOPLE, groups=groups))
        except DataError as error:
            assert "row group 'part-0.parquet' has changed" in str(error)
            assert SECRET not in "".join(traceback.format_exception(error))
            reads.append(after)
        else:
            break
    assert next(reader) - 1 == reads_of_a_fit
    assert reads == list(range(2, reads_of_a_fit + 1))


def test_a_row_group_without_an_answer_is_named_and_nothing_is_charged():
    budget = MemoryBudget(ApproxDP(9.0, 1e-4, "replace_one"), blocks=1)
    for model in (PrivateTableClassifier(ledger=budget), PrivateTableEncoder(task="classification", ledger=budget)):
        engine = CarelessEngine(forgotten=("part-1.parquet",))
        with pytest.raises(DataError, match=r"row group 'part-1\.parquet' was not read to its end"):
            model.fit(table_of(PEOPLE, engine=engine), "income")
        assert engine.closed == engine.holds
    assert not budget.entries


# --- errors before the charge ---


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (PrivateTableClassifier(columns={"work": Categorical(["private", "public"])}), "column 'work' has a value"),
        (PrivateTableClassifier(classes=["low", "middle"]), "the labels must all be declared classes"),
        (PrivateTableEncoder(columns={"odd": Numeric(0, 1)}), "column 'odd' must hold numbers"),
        (PrivateTableRegressor(label_range=(0, 1)), "the labels must all be finite numbers"),
    ],
)
def test_a_broken_declaration_names_the_first_row_group_and_charges_nothing(model, rule):
    budget = MemoryBudget(ApproxDP(9.0, 1e-4, "replace_one"), blocks=1)
    table = table_of(PEOPLE, 16, engine=CarelessEngine())
    filled = next(group.id for group in table.groups if group.count)
    with pytest.raises(DataError) as caught:
        model.set_params(ledger=budget).fit(table, "income")
    assert rule in str(caught.value) and f"(in row group '{filled}')" in str(caught.value)
    assert not any(cell in str(caught.value) for cell in (SECRET, "self", "high"))
    assert not budget.entries


@pytest.mark.parametrize(
    ("fit", "rule"),
    [
        (lambda table: PrivateTableClassifier().fit(table, PEOPLE["income"]), "y must be the name of a column"),
        (lambda table: PrivateTableClassifier().fit(table), "a fit needs y, or target="),
        (lambda table: PrivateTableClassifier().fit(table, "income", target="income"), "a fit needs y, or target="),
        (lambda table: PrivateTableClassifier(n=9).fit(table, "income"), "n must be the number of records"),
        (lambda table: PrivateTableEncoder(task="classification").fit(table), "y must be given for task"),
    ],
)
def test_wrong_arguments_are_refused(fit, rule):
    with pytest.raises(ParameterError, match=rule):
        fit(table_of(PEOPLE))


def test_a_missing_column_and_an_empty_table_are_refused():
    with pytest.raises(DataError, match=r"must have a column named 'wage'\. The table has the columns 'age', "):
        PrivateTableClassifier().fit(table_of(PEOPLE), target="wage")
    with pytest.raises(DataError, match="must have at least one feature column"):
        PrivateTableClassifier().fit(table_of(PEOPLE[["income"]]), "income")
    for model in (PrivateTableClassifier(adjacency="add_remove"), PrivateTableEncoder(adjacency="add_remove")):
        with pytest.raises(DataError, match="must have at least one record"):
            model.fit(table_of(PEOPLE[:0]), "income")


def test_rows_of_a_table_are_predicted_and_encoded_in_memory_only():
    model = fitted("norms, declared columns and classes", PEOPLE)
    encoder = PrivateTableEncoder(random_state=1).fit(PEOPLE)
    for call in (model.predict, model.predict_proba, encoder.transform):
        with pytest.raises(ParameterError, match=r"X must be in memory .* piece by piece"):
            call(table_of(PEOPLE))
    with pytest.raises(ParameterError, match=r"X must be an array or a table, got the path .* dperm\.data\.table"):
        PrivateTableClassifier().fit("people/*.parquet", "income")


def test_a_warning_from_the_release_names_the_line_of_the_user():
    model = PrivateTableClassifier(epsilon=3.0, delta=1e-5, adjacency="add_remove", random_state=1)
    for few in (PEOPLE[:200], table_of(PEOPLE[:200])):
        with pytest.warns(DpermWarning, match="noisy count") as caught:
            model.fit(few, target="income")
        assert {warning.filename for warning in caught} == {__file__}


def test_a_schema_without_a_model_names_the_engine():
    model = PrivateTableClassifier(epsilon=3.0, delta=1e-5, random_state=1)
    with warnings.catch_warnings(action="ignore"), pytest.raises(AssumptionError, match="fewer than two classes"):
        model.fit(table_of(PEOPLE.assign(income="low")), "income")
    assert 'by the engine "' in model.statement_["security"]


def test_an_error_of_a_library_shows_no_cell_and_is_not_kept():
    class Broken(FrameGroup):
        def cells(self, names, rows):
            raise ValueError(f"cannot read {SECRET}")

    groups = cut(PEOPLE, 3, group=Broken)
    with pytest.raises(DataError, match=r"row group 'part-0\.parquet' cannot be processed") as caught:
        PrivateTableClassifier(adjacency="add_remove").fit(table_of(PEOPLE, groups=groups), "income")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_parts_without_records_raise_no_error():
    """Coins that choose no training or no evaluation record decide no error after the charge (T71)."""
    declared = {"age": Numeric(0, 100), "work": Categorical(["private", "public", "self"])}
    columns, sizes = ["age", "work", "income"], set()
    for seed in range(8):
        options = {"adjacency": "add_remove", "holdout": 0.5, "random_state": seed}
        model = PrivateTableClassifier(columns=declared, classes=["low", "high"], **options)
        base = PrivateTableClassifier(columns=declared, classes=["low", "high"], **options)
        one = PEOPLE.loc[3:3, columns]
        assert release_of(model.fit(table_of(one, 2), "income")) == release_of(base.fit(one, target="income"))
        sizes.add(len(RecordSplit.by_coins(1, holdout=0.5, stream=NotPrivateBits(seed).stream()).evaluation))
        with pytest.raises(AssumptionError, match="fewer than two classes"), pytest.warns(DpermWarning):
            PrivateTableClassifier(**options).fit(table_of(one, 2), "income")
    assert sizes == {0, 1}


def test_a_seeded_fit_of_a_table_is_not_private():
    with pytest.warns(NotPrivateWarning):
        model = PrivateTableClassifier(adjacency="add_remove", random_state=1).fit(table_of(PEOPLE), "income")
    assert model.guarantee_ is None
    model = PrivateTableClassifier(adjacency="add_remove").fit(table_of(PEOPLE), "income")
    assert model.guarantee_.epsilon == 1.0
