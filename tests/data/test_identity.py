# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Equal values are one person, one class, one category: whatever their type or Unicode normal form."""

import enum
import unicodedata

import numpy as np
import pandas as pd
import pytest

from dperm import Laplace, Ledger, PureDP
from dperm.data.columns import Categorical, Numeric
from dperm.data.encoder import PublicEncoder
from dperm.data.identity import KeyRule, ambiguous, person_keys, plain_label
from dperm.errors import DataError, ParameterError
from dperm.sklearn import PrivateLogisticRegression

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Zoé") for form in ("NFC", "NFD"))


class Number(enum.IntEnum):
    ONE = 1


class Name(str, enum.Enum):  # noqa: UP042  # str(Name.ALICE) is not "alice"
    ALICE = "alice"


class CaseBlind(str):
    """Text with an equality of its own: no rule of ours says which of these are one person."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


ONE_PERSON = {
    "text": ["alice", np.str_("alice"), Name.ALICE],
    "numbers": [1, True, np.True_, np.int8(1), np.uint64(1), Number.ONE],
    "bytes": [b"alice", np.bytes_(b"alice")],
    "normal forms": [COMPOSED, DECOMPOSED],
    "parts of tuples": [("alice", 1), (np.str_("alice"), True)],
}


@pytest.mark.parametrize("name", ONE_PERSON)
def test_equal_keys_are_one_person(name):
    assert len(set(person_keys(ONE_PERSON[name]))) == 1


class Constant(int):
    """A number whose conversions are all 7."""

    def __int__(self) -> int:
        return 7

    __index__ = __int__


class ConstantItem(np.int64):
    """A number of numpy whose conversions are all 7."""

    def __int__(self) -> int:
        return 7

    def item(self) -> int:
        return 7

    __index__ = __int__


class Turned(tuple):
    """A pair whose parts are all 7 when they are listed."""

    def __iter__(self):
        return iter((7, 7))


@pytest.mark.parametrize(
    ("keys", "plain"),
    [
        ([Constant(1), Constant(2)], [1, 2]),
        ([ConstantItem(1), ConstantItem(2)], [1, 2]),
        ([Turned((1, 2)), Turned((3, 4))], [(1, 2), (3, 4)]),
    ],
    ids=["int", "numpy", "tuple"],
)
def test_conversions_of_a_derived_type_do_not_merge_people(keys, plain):
    found = person_keys(keys)
    assert found == plain
    assert {type(part) for key in found for part in (key if isinstance(key, tuple) else (key,))} == {int}


REFUSED = {
    "text and numbers": (KeyRule.MIXED, [1, "1"]),
    "bytes and text": (KeyRule.MIXED, [b"alice", "alice"]),
    "tuples of different kinds": (KeyRule.MIXED, [(1, "a"), (1, 2)]),
    "tuples of different lengths": (KeyRule.MIXED, [(1,), (1, 2)]),
    "zeros as floats": (KeyRule.FLOATS, [0.0, -0.0]),
    "an array of floats": (KeyRule.FLOATS, np.arange(3.0)),
    "NaN": (KeyRule.MISSING, [float("nan"), float("nan")]),
    "integers of which one is missing": (KeyRule.MISSING, pd.Series([1, None, 2])),
    "None": (KeyRule.MISSING, [1, None]),
    "empty text": (KeyRule.MISSING, ["alice", ""]),
    "an empty part": (KeyRule.MISSING, [("alice", b"")]),
    "missing text of pandas": (KeyRule.MISSING, pd.Series(["a", None], dtype="string")),
    "masked": (KeyRule.MISSING, np.ma.masked_array([1, 2], mask=[True, False])),
    "missing dates": (KeyRule.MISSING, np.array(["NaT", "NaT"], dtype="M8[ns]")),
    "dates": (KeyRule.KIND, np.array(["2026-01-01"], dtype="M8[ns]")),
    "lists": (KeyRule.KIND, [[1], [1]]),
    "an equality of its own": (KeyRule.KIND, [CaseBlind("a"), CaseBlind("A")]),
    "a table": (KeyRule.SEQUENCE, pd.DataFrame({"a": [1], "b": [2]})),
    "one text": (KeyRule.SEQUENCE, "ab"),
    "one number": (KeyRule.SEQUENCE, 3),
    "a set": (KeyRule.SEQUENCE, {1, 2}),
    "a mapping": (KeyRule.SEQUENCE, {1: 1, 2: 2}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_keys_without_a_rule_for_equality_are_refused_with_the_rule_that_is_broken(name):
    rule, keys = REFUSED[name]
    with pytest.raises(DataError) as caught:
        person_keys(keys)
    assert str(caught.value) == rule.value


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy before 2.0")
def test_text_of_any_length_in_numpy_is_text():
    kind = np.dtypes.StringDType
    assert person_keys(np.array(["a", COMPOSED, DECOMPOSED], dtype=kind())) == ["a", COMPOSED, COMPOSED]
    for missing in (None, np.nan):
        with pytest.raises(DataError) as caught:
            person_keys(np.array(["a", missing], dtype=kind(na_object=missing)))
        assert str(caught.value) == KeyRule.MISSING.value


def test_text_that_spells_a_missing_value_is_text():
    assert person_keys(["nan", "None"]) == ["nan", "None"]


def test_labels_are_plain_and_zero_has_one_sign():
    assert type(plain_label(Name.ALICE)) is str and plain_label(Name.ALICE) == "alice"
    assert str(plain_label(np.float64(-0.0))) == "0.0"
    assert not ambiguous(["a", "A", "b"])
    assert (
        ambiguous([COMPOSED, DECOMPOSED])
        and ambiguous(["a", "a\0"])
        and ambiguous([0.0, -0.0])
        and ambiguous([1, True])
    )


X = np.array([[0.5, -0.5], [-0.5, 0.5]] * 20)


def classifier(classes):
    return PrivateLogisticRegression(epsilon=1.0, delta=1e-5, bounds=(-1, 1), classes=classes)


@pytest.mark.filterwarnings("ignore:classes were not declared")
def test_class_labels_of_an_enumeration_are_their_text():
    y = np.array([Name.ALICE, "bob", np.str_("alice"), "bob"] * 10, dtype=object)
    assert classifier(("alice", "bob")).fit(X, y).classes_.tolist() == ["alice", "bob"]
    assert classifier((Name.ALICE, "bob")).fit(X, y).classes_.tolist() == ["alice", "bob"]
    assert classifier(None).fit(X, y).classes_.tolist() == ["alice", "bob"]


@pytest.mark.filterwarnings("ignore:classes were not declared")
def test_class_labels_that_look_the_same_are_refused():
    y = np.array([COMPOSED, DECOMPOSED] * 20)
    with pytest.raises(ParameterError, match="Unicode normal form"):
        classifier((COMPOSED, DECOMPOSED)).fit(X, y)
    with pytest.raises(DataError, match="Unicode normal form"):
        classifier(None).fit(X, y)


def test_categories_are_found_in_every_normal_form():
    for declared in (COMPOSED, DECOMPOSED):
        encoder = PublicEncoder({"name": Categorical([declared, "Ana"], other=True)})
        assert encoder.transform({"name": [COMPOSED, DECOMPOSED, "Ana"]}).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    with pytest.raises(ParameterError, match="Unicode normal form"):
        PublicEncoder({"name": Categorical([COMPOSED, DECOMPOSED])})


def test_column_names_differ_as_text():
    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, bounds={1: (-1, 1), "1": (-2, 2)}, classes=(0, 1))
    with pytest.raises(ParameterError, match="bounds by name must use different names"):
        model.plan(n=40, dim=2)
    with pytest.raises(ParameterError, match="must have different names"):
        model.fit(pd.DataFrame(X, columns=[1, "1"]), np.array([0, 1] * 20))


def test_column_names_in_two_normal_forms_are_refused():
    with pytest.raises(ParameterError, match=r"different features, and two are named .* Unicode normal forms"):
        PublicEncoder({COMPOSED: Numeric(0, 1), DECOMPOSED: Numeric(0, 1)})
    assert PublicEncoder({DECOMPOSED: Numeric(0, 1)}).feature_names == (DECOMPOSED,)
    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, bounds=(-1, 1), classes=(0, 1))
    with pytest.raises(ParameterError, match=r"must have different names; .* Unicode normal forms"):
        model.fit(pd.DataFrame(X, columns=[COMPOSED, DECOMPOSED]), np.array([0, 1] * 20))


def test_names_in_a_ledger_have_one_normal_form(tmp_path):
    goal, place = PureDP(1.0, "replace_one"), tmp_path / "people.ledger"
    with pytest.raises(ParameterError, match="account must be in Unicode normal form C"):
        Ledger.open(place, goal, dataset="people", account=DECOMPOSED)
    assert not place.exists()
    ledger = Ledger.open(place, goal, dataset="people", account=COMPOSED)
    with pytest.raises(ParameterError, match="request_id must be in Unicode normal form C"):
        ledger.reserve(Laplace(noise_multiplier=8.0), request_id=DECOMPOSED)
    assert ledger.spent == {"epsilon": 0.0}


def test_a_request_id_of_an_enumeration_is_its_text(tmp_path):
    ledger = Ledger.open(tmp_path / "people.ledger", PureDP(1.0, "replace_one"), dataset="people")
    event = Laplace(noise_multiplier=8.0)
    ledger.reserve(event, request_id="alice").commit("sha256:1")
    for name in (np.str_("alice"), Name.ALICE):
        assert ledger.reserve(event, request_id=name).repeated
    assert ledger.spent == {"epsilon": 0.25}
