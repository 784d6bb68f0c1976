# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit model`` and ``method``: the plan of a stored model, attacked; the outcome goes into its statement."""

import json
import shutil
from pathlib import Path

import pytest

from dperm.report import Statement

FIT = "fit data.csv --epsilon 1 --schema schema.toml"
QUICK = "--runs 2000 --seed 1"


@pytest.fixture
def fitted(desk, ends):
    ends(0, f"{FIT} --delta 0")
    return desk


@pytest.fixture
def audited(desk, audited_files):
    """The desk with copies of the model and its audit."""
    for file in audited_files:
        shutil.copy(file, desk)
    return desk


def test_a_pure_model_is_attacked_in_a_black_box_and_exactly(fitted, answered):
    found = answered(f"audit model model.dperm {QUICK}")
    box, exactly = found["findings"]
    assert (found["violation"], found["method"], found["file"]) == (False, "objective", None)
    assert box["runs"] == 2000 and box["claimed"]["epsilon"] == 1 and exactly["confidence"] == 1
    assert 0.9 < exactly["bounds"]["largest loss"]["epsilon"] <= 0.99


@pytest.mark.parametrize(
    ("line", "method"),
    [
        (f"{FIT} --method output --adjacency add_remove", "output"),
        (f"{FIT} --method gradient", "gradient"),
        ("fit data.csv --epsilon 1 --schema pay.toml --estimator huber", "objective"),
        (f"{FIT} --estimator svc --C 0.01 --n 1500", "objective"),
    ],
)
def test_models_of_every_kind_are_planned_again_and_attacked(desk, ends, answered, line, method):
    ends(0, line)
    found = answered(f"audit model model.dperm {QUICK} --confidence 0.999999")
    assert (found["method"], found["violation"]) == (method, False)


def test_the_audit_goes_into_the_statement_in_every_form(fitted, ends, answered):
    said = ends(0, f"audit model model.dperm {QUICK} --out audit.json").stdout
    assert said.startswith("Written: audit.json")
    part = "This audit tests the perturbed objective, which uses epsilon 0.99 of the plan's epsilon 1."
    assert said.count(part) == 1
    for name in ("s.html", "s.md", "s.json"):
        ends(0, f"report model.dperm -o {name} --audit audit.json")
    statement = Statement.from_json(Path("s.json").read_text())
    box, exactly = statement["audit"]
    assert box["runs"] == 2000 and box["dperm"] and exactly["violation"] is False
    page, text = Path("s.html").read_text(), Path("s.md").read_text()
    for words in ("No violation found: epsilon", "largest loss", "privacy loss at a point"):
        assert words in page and words in text
    assert (
        "epsilon at least 0.98" in page
        and "no leak: 0)" in page
        and "&#x27;" not in page.split("field-29")[1].split("field-30")[0]
    )


def test_several_audits_of_one_model_are_listed(fitted, ends):
    for place in (1, 2):
        ends(0, f"audit model model.dperm --runs 1000 --seed {place} --out audit{place}.json")
    ends(0, "report model.dperm -o s.json --audit audit1.json --audit audit2.json")
    assert len(Statement.from_json(Path("s.json").read_text())["audit"]) == 4


@pytest.mark.parametrize(
    ("line", "differs"),
    [(f"{FIT} --delta 1e-6", "guarantee"), (f"{FIT} --delta 0 --C 0.1", "regularization")],
)
def test_the_audit_of_another_model_is_refused(audited, ends, line, differs):
    ends(0, f"{line} --out other.dperm")
    said = ends(2, "report other.dperm -o s.html --audit audit.json").stderr
    assert "another model" in said and differs in said and not Path("s.html").exists()


def test_the_same_plan_on_other_data_has_the_same_audit(audited, ends):
    ends(0, f"{FIT} --delta 0 --out again.dperm")
    ends(0, "report again.dperm -o s.json --audit audit.json")


def test_what_is_no_audit_is_refused(audited, ends):
    good = json.loads(Path("audit.json").read_text())
    bad = ("nothing", "[]", json.dumps({**good, "audits": []}), json.dumps({**good, "more": 1}))
    for text in bad:
        Path("bad.json").write_text(text)
        assert (
            "is not a file written by dperm audit model"
            in ends(2, "report model.dperm -o s.md --audit bad.json").stderr
        )
    Path("bad.json").write_text(json.dumps({**good, "dperm_audit": 2}))
    assert "format 2" in ends(2, "report model.dperm -o s.md --audit bad.json").stderr
    assert "missing.json" in ends(2, "report model.dperm -o s.md --audit missing.json").stderr


def changed(name, **changes):
    """The audit of the black box with other words; written as it would be."""
    data = json.loads(Path("audit.json").read_text())
    data["audits"][0] |= changes
    Path(name).write_text(json.dumps(data))


def refuted():
    """The file of an audit whose strongest bound is 3, as the audit would have written it."""
    from dperm.cli.audit.audit_files import _rebuilt
    from dperm.sklearn.files import load_stored
    from dperm.sklearn.replan import replan

    box = json.loads(Path("audit.json").read_text())["audits"][0]
    box["bounds"]["likelihood ratio"]["epsilon"] = 3.0
    _, finding = _rebuilt(box, replan(load_stored("model.dperm").estimator))
    changed("refuted.json", bounds=box["bounds"], violation=True, result=str(finding), explanation=finding.explanation)


def test_a_refutation_turns_the_statement_and_ends_with_five(audited, ends, dperm):
    refuted()
    for name in ("s.html", "s.md", "s.json"):
        result = dperm(f"report model.dperm -o {name} --audit refuted.json")
        said = result.stdout
        assert (
            result.exit_code == 5
            and "REFUTED BY AN AUDIT" in said
            and "VIOLATION: claimed epsilon 1, measured >= 3" in said
        )
        assert "REFUTED BY AN AUDIT" in Path(name).read_text() and "PRIVATE, as far" not in Path(name).read_text()
    page, data = Path("s.html").read_text(), json.loads(Path("s.json").read_text())
    assert 'class="status good"' not in page and 'class="status bad"><p class="word">REFUTED BY AN AUDIT' in page
    assert data["private"] is False and data["fields"]["status"].startswith("REFUTED")
    assert Path("s.md").read_text().startswith("# REFUTED BY AN AUDIT")
    answer = json.loads(dperm("report model.dperm -o t.json --audit refuted.json --json").stdout)
    assert answer["refuted"] is True and answer["private"] is False


FORGED = {
    "verdict": {"violation": True},
    "words": {"result": "No violation found: all is well."},
    "claim": {"claimed": {"kind": "PureDP", "epsilon": 9.0, "adjacency": "replace_one"}},
    "no bounds": {"bounds": {}},
    "odd bounds": {"bounds": {"a": {"epsilon": "x"}}},
    "higher bound": {"bounds": {"a": dict(epsilon=7.0, delta=0.0, confidence=0.99, method="A4", assumes="")}},
    "runs": {"runs": 5},
    "explanation": {"explanation": "All is well."},
}


@pytest.mark.parametrize("kind", FORGED)
def test_an_audit_that_contradicts_itself_is_refused(audited, ends, kind):
    changed("bad.json", **FORGED[kind])
    said = ends(2, "report model.dperm -o s.html --audit bad.json").stderr
    assert "contradicts itself" in said and not Path("s.html").exists()


def test_too_few_runs_are_no_clean_pass(fitted, ends, answered):
    said = ends(0, "audit model model.dperm --runs 6 --seed 1 --confidence 0.9 --out audit.json").stdout
    assert "This audit could not have refuted the claim: with 6 runs" in said and "at least 8 runs are needed" in said
    box = answered("audit model model.dperm --runs 200 --seed 1 --confidence 0.9")["findings"][0]
    assert "powerless" not in box
    ends(0, "report model.dperm -o s.md --audit audit.json")
    assert "could not have refuted the claim" in Path("s.md").read_text()
    changed("bad.json", powerless="")
    ends(2, "report model.dperm -o t.md --audit bad.json")


def test_models_that_promise_nothing_are_refused(desk, ends, dperm):
    dperm("fit data.csv --epsilon inf --not-private --schema schema.toml --out plain.dperm")
    dperm(f"{FIT} --seed 1 --not-private --out seeded.dperm")
    assert "without noise" in ends(2, "audit model plain.dperm").stderr
    assert "with a seed" in ends(2, "audit model seeded.dperm").stderr
    Path("audit.json").write_text(
        json.dumps({"dperm_audit": 1, "of": dict.fromkeys(("guarantee", "event"), 0), "audits": [{}]})
    )
    ends(2, "report plain.dperm -o s.html --audit audit.json")


def test_a_plan_with_options_that_files_do_not_hold_is_refused(desk, ends):
    from dperm.methods import OutputPerturbation
    from dperm.sklearn import PrivateLogisticRegression

    X, y = [[0.1, 0.2], [0.3, -0.1]] * 500, [0, 1] * 500
    method = OutputPerturbation(noise="laplace")
    model = PrivateLogisticRegression(epsilon=1.0, delta=0.0, method=method, feature_norm=1.0, classes=(0, 1))
    model.fit(X, y).save("model.dperm")
    said = ends(2, "audit model model.dperm").stderr
    assert "cannot be made again" in said and "of_plan(model.plan_)" in said


def test_existing_files_are_left_alone(fitted, ends):
    Path("audit.json").write_text("old")
    assert "exists" in ends(2, "audit model model.dperm --out audit.json").stderr
    assert "is one of the input files" in ends(2, "audit model model.dperm --out model.dperm --force").stderr
    assert Path("audit.json").read_text() == "old"


@pytest.mark.parametrize(
    ("line", "least"),
    [
        ("output --epsilon 1", 0.85),
        ("output --epsilon 1 --delta 1e-5 --noise gaussian", 0.6),
        ("objective --epsilon 1 --loss huber_hinge --lambda 6", 0.6),
        ("gradient --epsilon 1 --delta 1e-5", 0.2),
    ],
)
def test_methods_are_attacked_on_worst_case_neighbours(answered, line, least):
    found = answered(f"audit method {line} --adjacency add_remove --runs 10000 --seed 3 --confidence 0.999")
    bounds = [bound["epsilon"] for bound in found["findings"][0]["bounds"].values()]
    assert least < max(bounds) <= 1 and found["violation"] is False


def test_a_seed_repeats_an_audit(answered):
    line = "audit method output --epsilon 1 --adjacency add_remove --runs 1000"
    one, two, other = (answered(f"{line} --seed {seed}")["findings"] for seed in (1, 1, 2))
    assert one == two != other


def test_other_methods_are_run_one_by_one(answered):
    line = "audit method bolt_on --epsilon 8 --adjacency replace_one --n 50 --runs 60 --confidence 0.9 --seed 1"
    assert answered(line)["findings"][0]["runs"] == 60


def test_claimed_against_measured_is_drawn(tmp_path, dperm):
    pytest.importorskip("matplotlib")
    file = tmp_path / "measured.png"
    assert dperm(f"audit method output --adjacency add_remove --runs 1000 --seed 1 --plot {file}").exit_code == 0
    assert file.stat().st_size > 5000


def test_a_model_in_the_place_of_a_verb_and_other_endings_get_a_hint(fitted, ends):
    assert "dperm audit model model.dperm" in ends(2, "audit model.dperm").stderr
    assert "must end in .json" in ends(2, "audit model model.dperm --out audit.txt").stderr


BAD = [
    ("audit method outputs --adjacency add_remove", "METHOD must be one of objective, output"),
    ("audit method output", "--adjacency is missing"),
    ("audit method output --adjacency add_remove --loss none", "--loss must be one of"),
    ("audit method gradient --adjacency add_remove", "delta"),
    ("audit method gradient --delta 1e-5 --adjacency add_remove --noise laplace", "--noise belongs to"),
    ("audit method output --adjacency add_remove --runs 3", "--runs must"),
    ("audit method output --adjacency add_remove --seed 1 --workers 2", "--workers 1"),
    ("audit method objective --adjacency add_remove --loss hinge", "kink"),
    ("audit exact --lambda 0.01", "Lambda"),
    ("audit exact --epsilon 0", "--epsilon"),
    ("audit bugs --only moths", "'raw floats'"),
    ("audit bugs --runs 10", "--runs must"),
]


@pytest.mark.parametrize(("line", "word"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_attacked_is_refused(refused, line, word):
    assert word in refused(line)


def test_trainings_one_by_one_say_before_how_long_they_take(dperm):
    result = dperm("audit method bolt_on --epsilon 1 --adjacency replace_one --n 50 --runs 60 --seed 1")
    assert result.stderr.startswith("60 training runs, one at a time: about") and "are weak" in result.stderr
    assert "audit_training" in result.stderr
