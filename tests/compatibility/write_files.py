# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Write the files of this version for the compatibility tests: ``.venv/bin/python tests/compatibility/write_files.py``.

Run once for each release, before its version number is raised again; the folder is then never changed. It is called
``tests/compatibility/<version>`` and holds one file of every kind that dperm reads back, together with
``expected.json``: the numbers that this version computed from them. ``test_compatibility.py`` reads all folders.
"""

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "support"))

import numpy as np
import postgres
import torch
from families import FAMILIES
from torch_training import attached, model_of, plan_of, walk

import dperm
from dperm import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Approximate,
    Gaussian,
    Laplace,
    Ledger,
    Poisson,
    Pure,
    PureDP,
    RandomizedResponse,
    WithoutReplacement,
    account,
)
from dperm.accounting import PerturbedObjective, PerturbedSoftmax, ReplaceOneOnly
from dperm.accounting.serialize import event_to_json
from dperm.data import Categorical, Numeric, PublicEncoder
from dperm.data.schema import Schema
from dperm.ledger import verify
from dperm.mechanisms.releases import Mean
from dperm.report import write_statement
from dperm.sklearn import PrivateLogisticRegression, load_model

DELTAS = (1e-3, 1e-6)
EVENTS = {
    "gaussian": Gaussian(1.5),
    "laplace": Laplace(2.0),
    "pure": Pure(0.5, "add_remove"),
    "approximate": Approximate(0.5, 1e-7, "replace_one"),
    "randomized_response": RandomizedResponse(0.7, 4),
    "poisson": Poisson(Gaussian(0.9), rate=0.01) * 500,
    "without_replacement": WithoutReplacement(Laplace(1.0), rate=0.02) * 20,
    "perturbed_objective": PerturbedObjective(4.0, 0.05),
    "perturbed_softmax": PerturbedSoftmax(4.0, 0.05, 5),
    "replace_one_only": ReplaceOneOnly(Gaussian(2.0)),
    "composed": Gaussian(3.0) * 7 + Laplace(9.0) * 3 + Poisson(Gaussian(1.0), rate=0.1) * 4,
}
METHODS = ("objective", "output", "gradient", "sgd", "bolt_on", "posterior", "sufficient")
SCHEMA = """\
[columns.age]
low = 17
high = 90
impute = 40

[columns.work]
categories = ["office", "field", "Café"]
other = true

[columns.married]
categories = [true, false]

[target]
name = "income"
classes = ["low", "high"]
"""
ENCODER = PublicEncoder(
    {
        "size": Numeric(-1.5, 2.5, impute=0.0),
        "kind": Categorical([1, 2.5, 7], impute=7),
        "flag": Categorical([False, True]),
        "word": Categorical(["a", "b", "ä"], other=True),
    }
)
TABLE = {
    "size": [-9.0, 0.5, None],
    "kind": [1, 2.5, None],
    "flag": [True, False, True],
    "word": ["a", "ä", "unknown"],
}
LIMITS = {
    "pure": PureDP(4.0, "replace_one"),
    "approximate": ApproxDP(4.0, 1e-5, "add_remove"),
    "advanced": ApproxDP(4.0, 1e-5, "replace_one"),
    "zcdp": ZCDP(0.5, "add_remove"),
    "gdp": GDP(2.0, "add_remove"),
    "rdp": RDP([(8.0, 3.0)], "add_remove"),
}


def people(rows: int = 400) -> dict[str, list[Any]]:
    """A made-up table of the schema."""
    rng = np.random.default_rng(8)
    return {
        "age": [None if place % 17 == 0 else float(age) for place, age in enumerate(rng.integers(10, 99, rows))],
        "work": [str(rng.choice(["office", "field", "Café", "sea"])) for _ in range(rows)],
        "married": [bool(rng.integers(2)) for _ in range(rows)],
        "income": [str(rng.choice(["low", "high"])) for _ in range(rows)],
    }


def write_events(folder: Path) -> dict[str, Any]:
    """Every kind of event, and its epsilon at two deltas under each adjacency that it has."""
    folder.mkdir()
    expected = {}
    for name, event in EVENTS.items():
        (folder / f"{name}.json").write_text(event_to_json(event) + "\n")
        expected[name] = {adjacency: epsilons(event, adjacency) for adjacency in ("add_remove", "replace_one")}
    return expected


def epsilons(event: Any, adjacency: str) -> list[float] | None:
    """Its epsilon at `DELTAS`; None where the adjacency is refused."""
    try:
        profile = account(event, adjacency)
        return [profile.epsilon(delta) for delta in DELTAS]
    except dperm.AdjacencyError:
        return None


def write_models(folder: Path) -> dict[str, Any]:
    """Every estimator, every method, both adjacencies, pure goals, seeds and no noise."""
    folder.mkdir()
    logistic = FAMILIES["logistic"]
    models = {name: family.make(bounds=[(-1, 3), (-2, 2), (-2, 2)], C=0.05) for name, family in FAMILIES.items()}
    for method in METHODS:
        family = FAMILIES["linear"] if method == "sufficient" else logistic
        models[f"method_{method}"] = family.make(method=method, epsilon=2.0, delta=1e-6)
    models["pure"] = logistic.make(delta=0.0)
    models["add_remove"] = logistic.make(adjacency="add_remove", n=2000, class_weight={1: 2.0})
    models["seeded"] = logistic.make(random_state=3)
    models["without_noise"] = logistic.make(epsilon=np.inf)
    expected = {}
    for name, model in models.items():
        family = FAMILIES.get(name, FAMILIES["linear"] if name == "method_sufficient" else logistic)
        fitted = model.fit(*family.data)
        fitted.save(folder / f"{name}.dperm")
        expected[name] = {
            "class": type(fitted).__name__,
            "predictions": fitted.predict(family.X[:5]).tolist(),
            "guarantee": None if fitted.guarantee_ is None else repr(fitted.guarantee_),
            "private": fitted.statement_.is_private,
            "event": None if fitted.record_ is None else fitted.record_.event,
        }
    return expected


def write_tables(folder: Path) -> dict[str, Any]:
    """A schema, an encoder, and the features that the encoder makes."""
    folder.mkdir()
    (folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    (folder / "schema.json").write_text(Schema.from_toml(SCHEMA).to_json() + "\n")
    (folder / "encoder.json").write_text(ENCODER.to_json() + "\n")
    return {
        "digest": Schema.from_toml(SCHEMA).digest,
        "names": list(ENCODER.feature_names),
        "features": ENCODER.transform(TABLE).tolist(),
    }


def fill_ledger(location: str) -> None:
    """Accounts of every kind: parents, blocks, approvals, a changed limit, releases, a failure, an open charge."""
    for name, limit in LIMITS.items():
        divided = {"blocks": 8} if isinstance(limit, ApproxDP) else {}
        composition = {"composition": "advanced"} if name == "advanced" else {}
        ledger = Ledger.open(
            location, limit, dataset=f"made up {name}", unit="one person", account=name, **divided, **composition
        )
        ledger.reserve(Gaussian(40.0) if name != "pure" else Laplace(40.0), request_id="first").commit("sha256:1")
        ledger.reserve(Gaussian(50.0) if name != "pure" else Laplace(50.0), request_id="second").burn("ValueError")
    parent = Ledger(location, account="pure")
    child = Ledger.open(
        location, PureDP(1.0, "replace_one"), dataset="part", unit="one person", account="child", parents=["pure"]
    )
    child.reserve(Laplace(30.0), request_id="third", facts={"seeded": True}).commit("sha256:3")
    parent.change_limit(PureDP(5.0, "replace_one"), reason="one more year", by="officer")
    strict = Ledger.open(
        location, PureDP(1.0, "replace_one"), dataset="strict", unit="one person", account="strict", approval=True
    )
    strict.approve("asked", reason="reviewed", by="officer", event=Laplace(20.0))
    strict.reserve(Laplace(20.0), request_id="asked")
    strict.approve("later", reason="reviewed", by="officer")


def ledger_state(location: str) -> dict[str, Any]:
    """What each account says of itself, with its anchor."""
    names = Ledger(location).accounts()
    assert verify(location, prices=True).ok
    return {
        name: {
            "spent": ledger.spent,
            "remaining": repr(ledger.remaining),
            "limit": repr(ledger.limit),
            "bookings": [(booking.request_id, booking.state.value) for booking in ledger.bookings()],
            "anchor": ledger.anchor().to_json(),
        }
        for name in names
        for ledger in [Ledger(location, account=name)]
    }


def write_training(folder: Path, ledger: Path) -> dict[str, Any]:
    """Two interrupted runs, one of them charged to a ledger: a checkpoint each, with its journal."""
    expected = {}
    for name, grade in (("alone", "fast"), ("charged", "exact")):
        place = folder / name
        place.mkdir(parents=True)
        model, budget = model_of(), None
        if name == "charged":
            budget = Ledger.open(
                ledger,
                ApproxDP(5.0, 5e-3, "add_remove"),
                blocks=5,
                dataset="made up",
                unit="one record",
                account="training",
            )
        try:
            with attached(plan_of(grade=grade), model, ledger=budget) as private:
                walk(private, model, steps=2)
                private.save(place / "checkpoint.pt", extra={"epoch": 1})
                walk(private, model, steps=1)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        saved = torch.load(place / "checkpoint.pt", weights_only=True)
        expected[name] = {"grade": grade, "request_id": saved["request_id"], "draws": saved["draws"], "lost": 1}
    return expected


def write_statements(folder: Path, ledger: Path) -> dict[str, Any]:
    """Statements of a model, a statistic and a training, the model, and the record of the statistic."""
    folder.mkdir()
    budget = Ledger.open(
        ledger, ApproxDP(9.0, 1e-4, "replace_one"), blocks=9, dataset="made up", unit="one person", account="statements"
    )
    X, y = FAMILIES["logistic"].data
    model = PrivateLogisticRegression(delta=1e-5, feature_norm=1.0, classes=(0, 1), ledger=budget).fit(X, y)
    mean = Mean(PureDP(1.0, "replace_one"), bounds=(0, 10), n=5).release([1, 2, 3, 4, 5], budget=budget)
    network = model_of()
    with attached(plan_of(), network) as private:
        walk(private, network)
    fields = {"curator": "A team", "reasons": "a compatibility test"}
    model.write_statement(folder / "model.json", fields=fields)
    write_statement(folder / "mean.json", mean)
    write_statement(folder / "training.json", private.release)
    model.save(folder / "model.dperm")
    (folder / "record.json").write_text(mean.record.to_json() + "\n")
    return {"curator": "A team", "epsilon": mean.profile.epsilon(0.0), "hash": model.statement_["ledger_entry"]["hash"]}


def write_command_line(folder: Path, ledger: Path) -> dict[str, Any]:
    """A model of ``dperm fit`` with its schema and receipt, an audit of it, anchors, and a pure account."""
    folder.mkdir()
    table = people()
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        rows = zip(*table.values(), strict=True)
        csv.writer(file).writerows([list(table), *(["" if cell is None else cell for cell in row] for row in rows)])
    (folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    account_options = ["--dataset", "people", "--unit", "one person", "--account", "commands"]
    limit = ["--adjacency", "replace_one", "--epsilon", "4"]
    run("ledger", "open", ledger, *account_options, *limit)
    files = [folder / "people.csv", "--target", "income", "--schema", folder / "schema.toml"]
    goal = ["--epsilon", "1", "--delta", "0", "--ledger", ledger, "--account", "commands"]
    run("fit", *files, *goal, "--out", folder / "income.dperm")
    run("predict", folder / "income.dperm", folder / "people.csv", "-o", folder / "predicted.csv")
    audit = ["--runs", "500", "--seed", "1", "--out", folder / "audit.json"]
    run("audit", "model", folder / "income.dperm", *audit, ok=(0, 5))
    run("report", folder / "income.dperm", "--audit", folder / "audit.json", "-o", folder / "statement.json")
    return {"guarantee": repr(load_model(folder / "income.dperm")["model"].guarantee_)}


def run(*words: object, ok: tuple[int, ...] = (0,)) -> None:
    """Run ``dperm`` with these arguments."""
    done = subprocess.run([sys.executable, "-m", "dperm", *map(str, words)], capture_output=True, text=True)
    if done.returncode not in ok:
        raise RuntimeError(f"dperm {words}: {done.stdout}{done.stderr}")


def write_postgres(path: Path) -> dict[str, Any]:
    """A dump of a ledger in PostgreSQL, as statements that any client can run."""
    with postgres.running() as server:
        url = server.database()
        fill_ledger(url)
        state = ledger_state(url)
        words = [str(server.programs / "pg_dump"), "--inserts", "--no-owner", "--no-privileges", "--schema=dperm", url]
        dump = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/").stdout
    # settings of the session and commands of psql are not part of the ledger
    lines = [line for line in dump.splitlines() if not line.startswith(("\\", "SET ", "--")) and line.strip()]
    kept = [line for line in lines if "set_config('search_path'" not in line]
    path.write_text("\n".join(kept) + "\n")
    return state


def main() -> None:
    """Write everything into the folder of this version."""
    folder = Path(__file__).parent / dperm.__version__
    if folder.exists():
        sys.exit(f"{folder} exists already: the files of a released version are never changed.")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    folder.mkdir()
    expected: dict[str, Any] = {"events": write_events(folder / "events")}
    expected["models"] = write_models(folder / "models")
    expected["tables"] = write_tables(folder / "tables")
    ledgers = folder / "ledgers"
    ledgers.mkdir()
    fill_ledger(str(ledgers / "sqlite.ledger"))
    expected["training"] = write_training(folder / "training", ledgers / "sqlite.ledger")
    expected["statements"] = write_statements(folder / "statements", ledgers / "sqlite.ledger")
    expected["commands"] = write_command_line(folder / "commands", ledgers / "sqlite.ledger")
    expected["sqlite"] = ledger_state(str(ledgers / "sqlite.ledger"))
    expected["postgres"] = write_postgres(ledgers / "postgres.sql")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
    _copy_whole(ledgers / "sqlite.ledger")


def _copy_whole(path: Path) -> None:
    """The ledger as one file, as `sqlite3 .backup` writes it: no log, no lock beside it."""
    with sqlite3.connect(path) as source, sqlite3.connect(f"{path}.copy") as copy:
        source.backup(copy)
    source.close(), copy.close()
    for left in path.parent.glob("sqlite.ledger*"):
        if left.suffix != ".copy":
            os.remove(left)
    shutil.move(f"{path}.copy", path)


if __name__ == "__main__":
    main()
