# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A fitted model writes its statement: as a page, as Markdown, as JSON."""

import pytest
from families import FAMILIES
from sklearn.exceptions import NotFittedError

from dperm import ParameterError
from dperm.errors import NotPrivateWarning
from dperm.report import Statement, page

FAMILY = FAMILIES["logistic"]


@pytest.fixture(scope="module")
def model():
    return FAMILY.make(method="objective").fit(*FAMILY.data)


def test_the_page_is_that_of_the_statement_with_the_curves_of_the_model(model, tmp_path):
    model.write_statement(tmp_path / "s.html", fields={"curator": "The office"})
    text = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert text == page(model.statement_.filled({"curator": "The office"}), model.profile_)
    assert "The office" in text and 'id="trade-off"' in text and 'id="field-31"' in text


def test_the_suffix_decides(model, tmp_path):
    model.write_statement(str(tmp_path / "s.json"))
    assert Statement.from_json((tmp_path / "s.json").read_text(encoding="utf-8")) == model.statement_
    model.write_statement(tmp_path / "s.md")
    assert (tmp_path / "s.md").read_text(encoding="utf-8") == model.statement_.to_markdown()


def test_a_model_from_a_file_writes_the_same_page(model, tmp_path):
    model.save(tmp_path / "m")
    type(model).load(tmp_path / "m").write_statement(tmp_path / "again.html")
    model.write_statement(tmp_path / "s.html")
    again, first = ((tmp_path / name).read_text(encoding="utf-8") for name in ("again.html", "s.html"))
    assert sorted(again) == sorted(first)  # the same signs: files sort their keys


@pytest.mark.parametrize("parameters", [{"random_state": 1}, {"epsilon": float("inf")}], ids=["seeded", "no noise"])
def test_what_is_not_private_says_so_in_every_form(tmp_path, parameters):
    with pytest.warns(NotPrivateWarning):
        model = FAMILY.make(**parameters).fit(*FAMILY.data)
    for suffix in (".html", ".md", ".json"):
        model.write_statement(tmp_path / f"s{suffix}")
        assert "NOT PRIVATE" in (tmp_path / f"s{suffix}").read_text(encoding="utf-8")


def test_what_cannot_be_said_is_refused_and_nothing_is_written(model, tmp_path):
    with pytest.raises(ParameterError, match="follow from the release"):
        model.write_statement(tmp_path / "s.html", fields={"parameters": "better"})
    with pytest.raises(ParameterError, match="path must end in"):
        model.write_statement(tmp_path / "s.pdf")
    with pytest.raises(NotFittedError):
        FAMILY.make().write_statement(tmp_path / "s.html")
    assert list(tmp_path.iterdir()) == []
