# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm ledger verify``: what is in order passes, and whatever was changed, put back or made up is found."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from additive_tables import classifier, records
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dperm import ApproxDP, Pure, PureDP
from dperm.cli.output import plain_up
from dperm.data.pipeline_steps import checked_steps
from dperm.errors import DpermWarning
from dperm.ledger import Ledger
from dperm.ledger.sqlite import handles
from dperm.privacy import Record
from dperm.privacy.digest import digest
from dperm.report import Statement
from dperm.report.model_file import ModelFile, read_model, write_model
from dperm.sklearn import PrivateLogisticRegression

DIGEST = f"sha256:{'ab' * 32}"


@pytest.fixture
def census(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("census.ledger", ApproxDP(3.0, 1e-6, "replace_one"), dataset="census 2026", blocks=10)
    release(ledger)
    return ledger


def release(ledger, epsilon=0.25):
    """Charge and commit; the record that a model would carry."""
    event = Pure(epsilon, "replace_one")
    reservation = ledger.reserve(event)
    reservation.commit(DIGEST)
    described = {"dperm_event": 1, "type": "pure", "epsilon": epsilon, "adjacency": "replace_one"}
    return Record(PureDP(epsilon, "replace_one"), described, ledger=reservation.receipt)


def store(path, record):
    text = None if record is None else record.to_json()
    write_model(path, ModelFile("PrivateLogisticRegression", {"record": text}, {"coef": np.zeros((1, 2))}))
    return path


@pytest.fixture
def found(dperm):
    """A function that runs verify with --json, asserts exit code 5, and returns the problems."""

    def run(line, *more):
        result = dperm(line, *more, "--json")
        assert result.exit_code == 5, result.output
        assert "Traceback" not in result.output
        assert result.stderr.startswith("Error: ")
        data = json.loads(result.stdout)
        assert data["ok"] is False
        text = dperm(line, *more)
        assert text.exit_code == 5
        assert text.stdout.count("PROBLEM: ") == len(data["problems"])
        return " ".join(data["problems"])

    return run


def test_spending_is_the_same_number_as_in_show(dperm, tmp_path, monkeypatch):
    """A fifth is 0.2, although its double is above it; a third is rounded up."""
    monkeypatch.chdir(tmp_path)
    for place, (epsilon, spent) in enumerate([(0.1, "0.1"), (0.2, "0.2"), (1 / 3, "0.3333334")]):
        release(Ledger.open(f"{place}.ledger", PureDP(1.0, "replace_one"), dataset="x"), epsilon)
        assert f"spent epsilon {spent} of 1." in dperm(f"ledger verify {place}.ledger").stdout
        (row,) = [
            line.split() for line in dperm(f"ledger show {place}.ledger").stdout.splitlines() if " epsilon " in line
        ][:1]
        assert row[:4] == ["main", "epsilon", "1", spent]


def test_a_ledger_in_order_passes_with_a_line_for_each_account(dperm, answered, census):
    Ledger.open("census.ledger", PureDP(1.0, "replace_one"), account="other", dataset="x")
    result = dperm("ledger verify census.ledger --prices")
    assert (result.exit_code, result.stderr) == (0, "")
    main, other, advice = result.stdout.splitlines()
    spent = plain_up(Ledger("census.ledger", "main").spent["epsilon"])
    assert main == f"main: 3 entries, all valid; spent epsilon {spent} of 3, delta 1e-7 of 1e-6."
    assert other == "other: 1 entry, all valid; spent epsilon 0 of 1."
    assert advice.startswith("No anchor was given")
    data = answered("ledger verify census.ledger")
    assert (data["ok"], data["problems"], data["anchors"], data["models"]) == (True, [], 0, 0)
    assert data["ledger"] == Ledger("census.ledger", "main").anchor().ledger
    assert data["accounts"]["main"]["spent"] == Ledger("census.ledger", "main").spent


@pytest.mark.parametrize(
    "command",
    [
        "ledger show census.ledger --write-anchor anchor.json",
        "ledger show census.ledger --json",
        "ledger open census.ledger --dataset x --adjacency replace_one --epsilon 1 --account second --json",
    ],
)
def test_an_anchor_is_read_as_the_verbs_give_it(dperm, answered, census, tmp_path, command):
    out = dperm(command).stdout
    if command.endswith("--json"):
        (tmp_path / "anchor.json").write_text(out)
    assert answered("ledger verify census.ledger --anchor anchor.json")["anchors"] == 1
    text = dperm("ledger verify census.ledger --anchor anchor.json").stdout
    assert "Valid anchors: 1." in text
    assert "No anchor was given" not in text


def test_a_ledger_that_was_put_back_is_found_by_an_anchor(dperm, found, census, tmp_path):
    older = tmp_path / "older"
    older.mkdir()
    dperm("ledger show census.ledger")  # closes nothing, but the copy below is made with the log
    for file in tmp_path.glob("census.ledger*"):
        shutil.copy(file, older)
    release(census)
    dperm("ledger show census.ledger --write-anchor anchor.json")
    lone = older / "census.ledger"
    assert dperm("ledger verify", str(lone)).exit_code == 0
    assert "rolled back to an older state" in found("ledger verify", str(lone), "--anchor", "anchor.json")


def test_a_ledger_that_was_put_back_is_found_by_a_model(dperm, found, census, tmp_path):
    older = tmp_path / "older"
    older.mkdir()
    for file in tmp_path.glob("census.ledger*"):
        shutil.copy(file, older)
    store(tmp_path / "model.dperm", release(census))
    assert "rolled back" in found("ledger verify", str(older / "census.ledger"), "--model", "model.dperm")


def test_a_ledger_behind_its_own_mark_is_found_without_an_anchor(found, census, tmp_path):
    shutil.copy(tmp_path / "census.ledger.lock", tmp_path / "mark")
    release(census)
    other = Ledger.open(tmp_path / "new.ledger", PureDP(1.0, "replace_one"), dataset="x")
    assert other.accounts() == ("main",)
    shutil.copy(tmp_path / "census.ledger.lock", tmp_path / "new.ledger.lock")
    assert "behind the mark" in found("ledger verify new.ledger")


def test_an_anchor_of_another_ledger_is_no_anchor_of_this_one(dperm, found, census):
    Ledger.open("other.ledger", PureDP(1.0, "replace_one"), dataset="x")
    dperm("ledger show other.ledger --write-anchor anchor.json")
    assert "of another ledger" in found("ledger verify census.ledger --anchor anchor.json")


def test_an_anchor_that_was_made_up_is_found(dperm, found, census, tmp_path):
    dperm("ledger show census.ledger --write-anchor anchor.json")
    data = json.loads((tmp_path / "anchor.json").read_text())
    (tmp_path / "anchor.json").write_text(json.dumps({**data, "seq": 1}))
    assert "not signed" in found("ledger verify census.ledger --anchor anchor.json")


def changed(path, statement):
    """Change the tables behind the ledger's back."""
    with closing(sqlite3.connect(path)) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, text in guards:
            connection.execute(text)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE entry SET cost = '{\"epsilon\": 1, \"delta\": 1}' WHERE kind = 'reserve'", "changed after"),
        ("UPDATE meter SET spent = 0", "meters"),
        ("UPDATE entry SET at = '2020-01-01T00:00:00.000+00:00' WHERE seq = 1", "changed after"),
    ],
)
def test_books_that_were_changed_are_found(found, census, statement, word):
    changed("census.ledger", statement)
    assert word in found("ledger verify census.ledger")


def test_a_damaged_file_is_found(found, census, tmp_path):
    with closing(sqlite3.connect("census.ledger")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / "census.ledger"
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    assert found("ledger verify census.ledger")


def test_a_file_of_something_else_was_not_verified(dperm, census, tmp_path):
    (tmp_path / "diary.ledger").write_text("a diary. " * 200)
    result = dperm("ledger verify diary.ledger")
    assert (result.exit_code, result.stdout) == (3, "") and "holds no ledger" in result.stderr
    assert not (tmp_path / "diary.ledger.lock").exists()


def test_something_else_where_a_ledger_was_is_found(found, census, tmp_path):
    (tmp_path / "diary.ledger").write_text("a diary. " * 200)
    (tmp_path / "diary.ledger.lock").write_bytes(b"\0" * 100)
    assert "holds no ledger" in found("ledger verify diary.ledger")


def test_a_model_is_no_anchor(refused, census, tmp_path):
    store(tmp_path / "model.dperm", release(census))
    assert "Use --model model.dperm" in refused("ledger verify census.ledger --anchor model.dperm")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A ledger, two models that were charged to it, and their statements."""
    folder = tmp_path_factory.mktemp("fitted")
    ledger = Ledger.open(folder / "census.ledger", ApproxDP(3.0, 1e-6, "replace_one"), dataset="census", blocks=10)
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    for name in ("one", "two"):
        model = PrivateLogisticRegression(
            epsilon=0.5, delta=1e-7, bounds=[(-1, 1)] * 3, classes=[0, 1], method="output", ledger=ledger
        )
        model.fit(X, (X[:, 0] > 0).astype(int)).save(folder / f"{name}.dperm")
        model.write_statement(folder / f"{name}.json")
    return folder


def edited(source, target, edit):
    """A copy of a model file whose content was changed: all parts of the file, the record as data."""
    file = read_model(source)
    data = json.loads(json.dumps(dict(file.data)))
    data["record"] = json.loads(data["record"])
    arrays = {name: array.copy() for name, array in file.arrays.items()}
    edit(data, arrays)
    data["record"] = json.dumps(data["record"])
    write_model(target, ModelFile(file.kind, data, arrays))


def lower_epsilon(data, arrays):
    data["record"]["guarantee"]["epsilon"] = data["parameters"]["epsilon"] = 0.1


def lower_epsilon_of_the_record(data, arrays):
    data["record"]["guarantee"]["epsilon"] = 0.1


def higher_epsilon(data, arrays):
    data["record"]["guarantee"]["epsilon"] = data["parameters"]["epsilon"] = 0.75


def other_coefficients(data, arrays):
    arrays["coef"] *= 1.5


def the_last_bit_of_a_coefficient(data, arrays):
    arrays["coef"][0, 0] = np.nextafter(arrays["coef"][0, 0], np.inf)


def the_last_bit_of_an_intercept(data, arrays):
    arrays["intercept"][0] = np.nextafter(arrays["intercept"][0], np.inf)


def other_release(data, arrays):
    for name in ("coef", "intercept", "released"):
        arrays[name] *= 1.5


def other_digest_too(data, arrays):
    other_release(data, arrays)
    data["record"]["ledger"]["digest"] = digest(arrays["released"])


def other_noise(data, arrays):
    data["record"]["noise"] = f"a thousand times {data['record']['noise']}"


def swapped_classes(data, arrays):
    """All places that name the classes, so that the file agrees with itself."""
    for place in (data, data["parameters"], data["record"]["public"]):
        place["classes"] = [2, 3]


def other_regularization(data, arrays):
    data["parameters"]["C"] = 0.001


EDITS = [
    (lower_epsilon, "'guarantee' differs"),
    (lower_epsilon_of_the_record, "'guarantee' differs"),
    (higher_epsilon, "'guarantee' differs"),
    (other_coefficients, "do not follow from the released values"),
    (other_release, "the digest in the receipt is that of another release"),
    (other_digest_too, "has a digest that differs from entry"),
    (other_noise, "'noise' differs from entry"),
]
LAST_BITS = [(the_last_bit_of_a_coefficient, "do not follow"), (the_last_bit_of_an_intercept, "do not follow")]
HEADER_EDITS = [(swapped_classes, "its header was edited"), (other_regularization, "its header was edited")]


def test_a_model_that_was_charged_passes(answered, fitted):
    names = " ".join(f"--model {fitted / name}" for name in ("one.dperm", "two.dperm"))
    data = answered(f"ledger verify {fitted / 'census.ledger'} {names}")
    assert (data["anchors"], data["models"], len(data["notes"])) == (2, 2, 2)
    assert all("timestamp, eta and tau" in note and "version" in note for note in data["notes"])


@pytest.mark.parametrize(("fact", "value"), [("eta", 0.25), ("tau", 0.25), ("timestamp", "1999-01-01T00:00:00+00:00")])
def test_facts_that_no_entry_binds_are_named_in_the_note(answered, fitted, tmp_path, fact, value):
    def edit(data, arrays):
        assert data["record"][fact] != value
        data["record"][fact] = value

    edited(fitted / "one.dperm", tmp_path / "edited.dperm", edit)
    (note,) = answered(f"ledger verify {fitted / 'census.ledger'} --model {tmp_path / 'edited.dperm'}")["notes"]
    assert "not compared" in note and fact in note


@pytest.mark.parametrize(("edit", "word"), EDITS + HEADER_EDITS + LAST_BITS)
def test_an_edited_model_is_found(found, fitted, tmp_path, edit, word):
    edited(fitted / "one.dperm", tmp_path / "edited.dperm", edit)
    assert word in found(f"ledger verify {fitted / 'census.ledger'} --model {tmp_path / 'edited.dperm'}")


def test_changes_of_shapes_after_the_release_are_named_in_the_note(dperm, answered, tmp_path):
    X, y, _ = records()
    ledger = Ledger.open(tmp_path / "a.ledger", ApproxDP(3.0, 1e-5, "replace_one"), dataset="people", blocks=2)
    model = classifier(ledger=ledger, monotone={"gain": 1}).fit(X, y)
    model.save(tmp_path / "released.dperm")
    model.edit({"age": 5.0}).edit({"sex": 0.0, "age": 0.0}).save(tmp_path / "changed.dperm")
    line = f"ledger verify {tmp_path / 'a.ledger'} --model"
    (released,) = answered(f"{line} {tmp_path / 'released.dperm'}")["notes"]
    (changed,) = answered(f"{line} {tmp_path / 'changed.dperm'}")["notes"]
    sentence = "The shapes of age, sex were changed after the release; the ledger does not cover changes."
    assert sentence in changed and "changed" not in released
    assert sentence in " ".join(dperm(f"{line} {tmp_path / 'changed.dperm'}").stdout.split())


def test_an_edited_statement_is_found(answered, found, fitted, tmp_path):
    place, line = fitted / "one.json", f"ledger verify {fitted / 'census.ledger'} --model"
    assert "holds no coefficients" in answered(f"{line} {place}")["notes"][0]
    statement = json.loads(place.read_text())
    statement["fields"]["goal"]["epsilon"] = statement["fields"]["parameters"]["epsilon"] = 0.1
    (tmp_path / "edited.json").write_text(json.dumps(statement))
    assert "'guarantee' differs" in found(f"{line} {tmp_path / 'edited.json'}")
    statement["fields"]["goal"]["epsilon"] = 0.5
    (tmp_path / "edited.json").write_text(json.dumps(statement))
    assert "was edited or is damaged" in found(f"{line} {tmp_path / 'edited.json'}")


def statement_with(place, value, *path):
    """The statement in a file with another value at this path below its fields; None takes the value out."""
    statement = json.loads(place.read_text())
    *above, last = path
    part = statement["fields"]
    for name in above:
        part = part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return json.dumps(statement)


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("mechanism", "event", "epsilon"), 0.01, "has an event that differs"),
        (("mechanism", "event"), None, "has an event that differs"),
        (("noise_source", "law"), "none", "'noise' differs"),
        (("noise_source", "grade"), "fast", "'grade' differs"),
        (("accountant", "theorems"), ["T1"], "'theorems' differs"),
        (("code_version", "dperm"), "0.0.1", "'versions' differs"),
        (("profile", "posterior"), 0.5025, "'profile' does not follow"),
        (("profile", "epsilons", 0, "epsilon"), 0.01, "'profile' does not follow"),
        (
            ("meaning", 1),
            "Guessing from even odds they are right at most 50.3 % of the time.",
            "'meaning' does not follow",
        ),
        (("sampling", "run"), "Poisson sampling at rate 0.001", "'sampling' does not follow"),
        (("public_quantities", "bounds"), None, "has public quantities, a mechanism"),
        (("mechanism", "output_noise"), None, "has public quantities, a mechanism"),
        (("preprocessing", "known"), "nothing", "'preprocessing' does not follow"),
        (("limits", 0), None, "'limits' does not follow"),
        (("public_quantities", "columns"), ["zip"], "has public quantities, a mechanism"),
        (("status",), None, "was edited or is damaged"),
        (("goal",), None, "was edited or is damaged"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_statement_is_compared_with_the_booked_event_and_what_follows_from_it(
    found, fitted, tmp_path, path, value, word
):
    forged = tmp_path / "forged.json"
    forged.write_text(statement_with(fitted / "one.json", value, *path))
    assert word in found(f"ledger verify {fitted / 'census.ledger'} --model {forged}")


def test_a_statement_cannot_lose_the_preparation_that_is_not_covered(answered, found, tmp_path, monkeypatch):
    """Versions 0.9.0 and 0.10.0 charged such fits; they are refused now."""
    monkeypatch.setattr("dperm.sklearn.base.checked_steps", lambda choice, **_: checked_steps(choice))
    limit = ApproxDP(3.0, 1e-6, "replace_one")
    ledger = Ledger.open(tmp_path / "census.ledger", limit, dataset="census", blocks=2)
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    model = PrivateLogisticRegression(
        epsilon=0.5, bounds=(-3, 3), classes=[0, 1], fitted_transformers="not_covered", ledger=ledger
    )
    with pytest.warns(DpermWarning, match="learnt from the private data"):
        fitted = make_pipeline(StandardScaler(), model).fit(X, (X[:, 0] > 0).astype(int))[-1]
    fitted.write_statement(tmp_path / "right.json")
    line = f"ledger verify {tmp_path / 'census.ledger'} --model"
    assert "preprocessing" in answered(f"{line} {tmp_path / 'right.json'}")["notes"][0]
    forged = json.loads((tmp_path / "right.json").read_text())
    fields = forged["fields"]
    fields["limits"] = [limit for limit in fields["limits"] if "NOT COVERED" not in limit]
    del fields["mechanism"]["fitted_transformers"]
    (tmp_path / "forged.json").write_text(Statement(fields).to_json())
    assert "has public quantities, a mechanism" in found(f"{line} {tmp_path / 'forged.json'}")


@pytest.mark.parametrize("deleted", ["guarantee", "event"])
def test_a_record_without_its_guarantee_or_event_is_found(found, fitted, tmp_path, deleted):
    record = json.loads(read_model(fitted / "one.dperm").data["record"])
    del record[deleted]
    (tmp_path / "record.json").write_text(json.dumps(record))
    said = found(f"ledger verify {fitted / 'census.ledger'} --model {tmp_path / 'record.json'}")
    assert f"a record must have the entries {deleted}" in said


def test_the_note_on_a_statement_names_only_the_parts_that_were_compared(answered, fitted, tmp_path):
    (note,) = answered(f"ledger verify {fitted / 'census.ledger'} --model {fitted / 'one.json'}")["notes"]
    for name in ("guarantee", "event", "noise", "profile", "meaning"):
        assert name in note
    assert "Other sentences and numbers in the file are not compared" in note
    shutil.copy(OLD / "ledgers" / "sqlite.ledger", tmp_path / "old.ledger")
    for name in ("model", "mean"):
        (note,) = answered(f"ledger verify {tmp_path / 'old.ledger'} --model {OLD / 'statements' / name}.json")["notes"]
        assert "event" in note
    (tmp_path / "bare.json").write_text(
        json.dumps({"ledger": json.loads((fitted / "one.json").read_text())["fields"]["ledger_entry"]})
    )
    (note,) = answered(f"ledger verify {fitted / 'census.ledger'} --model {tmp_path / 'bare.json'}")["notes"]
    assert "event" not in note and "guarantee" not in note


def test_a_model_of_another_release_of_the_same_ledger_is_found(found, fitted, tmp_path):
    """The coefficients of one model under the receipt of the other."""
    other = read_model(fitted / "two.dperm").arrays
    edited(fitted / "one.dperm", tmp_path / "mixed.dperm", lambda data, arrays: arrays.update(other))
    assert "was edited or is damaged" in found(
        f"ledger verify {fitted / 'census.ledger'} --model {tmp_path / 'mixed.dperm'}"
    )


OLD = Path(__file__).parents[1] / "compatibility" / "0.8.0"


def test_a_model_of_an_earlier_version_is_compared_as_far_as_its_entry_goes(dperm, answered, found, tmp_path):
    shutil.copy(OLD / "ledgers" / "sqlite.ledger", tmp_path / "old.ledger")
    for source in (OLD / "statements" / "model.dperm", OLD / "commands" / "income.dperm"):
        line = f"ledger verify {tmp_path / 'old.ledger'} --model"
        (note,) = answered(f"{line} {source}")["notes"]
        assert "does not bind the parameters, classes and bounds" in note and "Compared:" in note
        assert f"Note: {note}" in dperm(f"{line} {source}").stdout
        for edit, word in EDITS:
            edited(source, tmp_path / "edited.dperm", edit)
            assert word in found(f"{line} {tmp_path / 'edited.dperm'}"), edit.__name__


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda record: {**record, "ledger": {**record["ledger"], "digest": "sha256:00"}}, "a digest that differs"),
        (lambda record: {**record, "event": {**record["event"], "epsilon": 0.01}}, "has an event that differs"),
        (lambda record: {**record, "ledger": {}}, "has no receipt"),
        (lambda record: {**record, "ledger": {"seq": 1, "digest": DIGEST}}, "has no receipt"),
        (lambda record: {**record, "ledger": {**record["ledger"], "hash": "0" * 64}}, "not signed"),
    ],
    ids=["digest", "event", "uncharged", "in memory", "hash"],
)
def test_a_model_that_says_something_else_than_the_books_is_found(found, census, tmp_path, spoil, word):
    record = json.loads(release(census).to_json())
    store(tmp_path / "model.dperm", Record.from_json(json.dumps(spoil(record))))
    assert word in found("ledger verify census.ledger --model model.dperm")


def test_the_receipt_of_a_line_that_is_no_release_is_found(found, census, tmp_path):
    reservation = census.reserve(Pure(0.25, "replace_one"))
    record = Record(PureDP(0.25, "replace_one"), {}, ledger=reservation.receipt)
    store(tmp_path / "model.dperm", record)
    assert "a digest that differs" in found("ledger verify census.ledger --model model.dperm")


def test_a_model_without_noise_was_charged_to_nothing(dperm, found, census, tmp_path):
    store(tmp_path / "model.dperm", None)
    assert "has no receipt" in found("ledger verify census.ledger --model model.dperm")
    told = dperm("ledger verify census.ledger --model model.dperm")
    assert told.exit_code == 5 and "all valid" in told.stdout
    assert told.stderr.strip() == "Error: the ledger is in order. model.dperm was not charged to it."


def test_an_edited_model_is_no_problem_of_the_books(dperm, census, tmp_path):
    record = json.loads(release(census).to_json())
    record["event"]["epsilon"] = 0.01
    store(tmp_path / "model.dperm", Record.from_json(json.dumps(record)))
    told = dperm("ledger verify census.ledger --model model.dperm")
    assert told.exit_code == 5 and "all valid" in told.stdout
    assert "the ledger is in order. The files listed above disagree with it" in told.stderr


@pytest.mark.parametrize("name", ["ledger_entry", "ledger"])
def test_a_statement_and_a_record_in_json_are_read_too(answered, found, census, tmp_path, name):
    receipt = dict(release(census).ledger)
    data = {"fields": {"ledger_entry": receipt}} if name == "ledger_entry" else {"ledger": receipt}
    (tmp_path / "said.json").write_text(json.dumps(data))
    assert answered("ledger verify census.ledger --model said.json")["models"] == 1
    receipt["digest"] = "sha256:00"
    (tmp_path / "said.json").write_text(json.dumps({"fields": {"ledger_entry": {"known": receipt}}}))
    assert "a digest that differs" in found("ledger verify census.ledger --model said.json")


@pytest.mark.parametrize(
    ("line", "content", "words"),
    [
        ("--anchor no-such.json", None, ["--anchor", "no-such.json"]),
        ("--model no-such.dperm", None, ["--model", "no-such.dperm"]),
        ("--anchor file", "not JSON", ["file is not JSON"]),
        ("--anchor file", "{}", ["there is no anchor in file"]),
        ("--anchor file", "[]", ["there is no anchor in file"]),
        ("--anchor file", "3", ["there is no anchor in file"]),
        ("--anchor file", '{"anchor": 3}', ["there is no anchor in file"]),
        ("--anchor file", '{"accounts": [{"anchor": {"seq": 1}}]}', ["there is no anchor in file"]),
        ("--anchor file", "[" * 100_000, ["file is not JSON"]),
        ("--model file", "not JSON", ["file is not JSON"]),
        ("--model file", "{}", ["neither a model nor a statement"]),
        ("--model file", "[3]", ["neither a model nor a statement"]),
        ("--model file", "PK, but no archive", ["cannot read a model"]),
    ],
)
def test_a_file_that_cannot_be_compared_is_refused(refused, census, tmp_path, line, content, words):
    if content is not None:
        (tmp_path / "file").write_text(content)
    said = refused(f"ledger verify census.ledger {line}")
    for word in words:
        assert word in said


def test_a_ledger_that_is_not_there_was_not_verified(dperm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = dperm("ledger verify no-such.ledger")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "there is no ledger" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_cannot_be_read_was_not_verified(dperm, census, tmp_path, monkeypatch):
    """A read-only medium with an unmerged log: exit code 3, and no problem is reported."""
    for file in tmp_path.glob("census.ledger*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, tmp_path / file.name.replace("census", "frozen"))

    def refuse(path):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(handles, "_connect", refuse)
    monkeypatch.setattr(handles, "_is_read_only", lambda path: True)
    result = dperm("ledger verify frozen.ledger")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "read-only medium" in result.stderr and "frozen.ledger-wal" in result.stderr
