# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm demo``: the path from a table to a model with its privacy statement, on synthetic data."""

import csv
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dperm.cli.running import reported_errors

HELP = """Show the commands on synthetic data: open a budget account, plan, fit, predict, evaluate, audit, report and
verify.

The demo prints each command and runs it in a new folder. Data, schema, ledger, model and statement are kept
there. The demo takes less than a minute.

\b
Examples:
  dperm demo
  dperm demo --folder first-steps
  dperm demo --folder other-people --seed 1
"""

ROWS = 16_000
"""Number of synthetic people; every fourth is a test record."""
SCHEMA = """\
# Public declarations, written without looking at the data.
[columns.age]
low = 18
high = 90

[columns.hours]
low = 0
high = 80

[columns.work]
categories = ["private", "public", "self"]

[target]
name = "income"
classes = ["<=50K", ">50K"]
"""
COMMANDS = (
    "ledger open people.ledger --dataset 'synthetic people' --unit 'one person' --adjacency replace_one "
    "--epsilon 2 --delta 1e-5 --blocks 10 --data train.csv --data test.csv",
    "plan fit --schema schema.toml --epsilon 1 --n 12000 --ledger people.ledger",
    "fit train.csv --epsilon 1 --schema schema.toml --ledger people.ledger --out model.dperm",
    "predict model.dperm test.csv -o predicted.csv",
    "evaluate model.dperm test.csv --epsilon 0.5 --ledger people.ledger -o evaluation.html",
    "audit model model.dperm --runs 2000 --out audit.json",
    "report model.dperm --audit audit.json -o statement.html",
    "ledger show people.ledger",
    "ledger verify people.ledger --model model.dperm",
)
"""Commands of the demo, run in its folder."""


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="New folder for the files of the demo.")
    ] = Path("dperm-demo"),
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", min=0, help="Seed of the synthetic data, never of the noise.")
    ] = 0,
) -> None:
    """Write synthetic data to a new folder and run the commands there."""
    with reported_errors():
        _create(folder)
        _write_data(folder, seed)
        typer.echo(f"$ cd {shlex.quote(str(folder))}")
        for command in COMMANDS:
            _run(command, folder)
        right, majority = _accuracy(folder)
        typer.echo(
            f"\nAccuracy on test records: {right:.3f}; without a model, by always predicting the more frequent class: "
            f"{majority:.3f}."
        )
        typer.echo(f"Statement: {folder / 'statement.html'} (open it in a browser)")


def _create(folder: Path) -> None:
    """Create the folder; one that exists is refused, because it may hold a ledger."""
    from dperm.errors import ParameterError

    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ParameterError(f"--folder: {folder} exists and was not changed. Give another name.") from None


def _write_data(folder: Path, seed: int) -> None:
    from dperm.noise.simulation import generator

    coins = generator(seed, "people of the demo")
    ages, hours = coins.integers(18, 91, ROWS), coins.integers(0, 81, ROWS)
    works = coins.choice(["private", "public", "self"], ROWS)
    rich = ages + 2 * hours + 20 * (works == "self") + coins.normal(0, 20, ROWS) > 150
    rows = list(zip(ages, hours, works, [">50K" if high else "<=50K" for high in rich], strict=True))
    _write(folder / "train.csv", [row for place, row in enumerate(rows) if place % 4])
    _write(folder / "test.csv", rows[::4])
    (folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")


def _write(path: Path, rows: Sequence[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("age", "hours", "work", "income"), *rows])


def _run(command: str, folder: Path) -> None:
    """Print a command as a user types it, run it in the folder, and end the demo if it fails."""
    typer.echo(f"\n$ dperm {command}")
    sys.stdout.flush()
    done = subprocess.run([sys.executable, "-m", "dperm", *shlex.split(command)], cwd=folder, check=False)
    if done.returncode:
        raise typer.Exit(done.returncode)


def _accuracy(folder: Path) -> tuple[float, float]:
    """Return the shares of test records that the model and the more frequent class predict correctly."""
    predicted, truth = _incomes(folder / "predicted.csv"), _incomes(folder / "test.csv")
    right = sum(one == other for one, other in zip(predicted, truth, strict=True))
    return right / len(truth), max(map(truth.count, set(truth))) / len(truth)


def _incomes(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row["income"] for row in csv.DictReader(file)]
