# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks/additive.py: splits, public declarations of columns, and bars.

Two groups:

- Adult, credit, California, bike and diamond, on which the rules of additive models were shaped. Lists of categories
  are read from the files. They stand for a code book;
- held-out tables: fair, randhie and nlswork. Targets, columns, declarations and splits were fixed in this file, from
  the documentation of the tables, before any model was fitted to them.

Splits are public rules: the split of the source for Adult, persons for nlswork, otherwise a quarter of the rows by
``default_rng(0).permutation``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pipeline_tables

from dperm.data import Categorical, Numeric

Terms = dict[str, Numeric | Categorical]
TEST_SHARE = 4
"""One row in four is a test record."""
FLAG = Categorical([0, 1])


@dataclass(frozen=True)
class AdditiveTable:
    """Training and test part of a table, with public declarations.

    Attributes
    ----------
    name
        Name of the table.
    frame
        Raw columns of all records.
    y
        Labels: 0 and 1, or numbers.
    test
        Which records are test records.
    terms
        Public declarations of the columns.
    label_range
        Public range of the labels; None for classes.
    """

    name: str
    frame: pd.DataFrame
    y: np.ndarray
    test: np.ndarray
    terms: Terms
    label_range: tuple[float, float] | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers."""
        return self.label_range is not None

    def part(self, *, test: bool) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the declared columns and the labels of one part."""
        rows = self.test if test else ~self.test
        return self.frame.loc[rows, list(self.terms)].reset_index(drop=True), self.y[rows]


@dataclass(frozen=True)
class Row:
    """One additive model of a table: changes to its declarations, pairs, and bars.

    Attributes
    ----------
    title
        Title of the model.
    changed
        Declarations that replace those of the table.
    pairs
        Declared pairs of columns.
    bars
        Smallest scores at each epsilon: accuracy and AUC, or R^2. Empty for tables without bars.
    """

    title: str = "default"
    changed: Mapping[str, Numeric | Categorical] | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    bars: tuple[tuple[float, ...], ...] = ()

    def terms(self, table: AdditiveTable) -> Terms:
        """Return the declarations of the model."""
        return {**table.terms, **(self.changed or {})}


def categories(table: pd.DataFrame, names: tuple[str, ...]) -> Terms:
    """Declare the categories found in a file, which stand for a code book."""
    return {name: Categorical(sorted(table[name].dropna().unique().tolist())) for name in names}


def quarter(rows: int) -> np.ndarray:
    """Return which rows are test records."""
    test = np.zeros(rows, dtype=bool)
    test[np.random.default_rng(0).permutation(rows)[: rows // TEST_SHARE]] = True
    return test


def adult(data: Path, tables: Path) -> AdditiveTable:
    """UCI Adult with its own test part: whether the income is above 50,000 dollars."""
    table = pd.read_csv(data / "adult.csv.gz")
    terms: Terms = {
        "age": Numeric(17, 90),
        "fnlwgt": Numeric(1e4, 1.5e6, unit=1e4),
        "education-num": Numeric(1, 16),
        "capital-gain": Numeric(0, 1e5, unit=1000, special=(0, 99999)),
        "capital-loss": Numeric(0, 5000, unit=1000, special=(0,)),
        "hours-per-week": Numeric(1, 99),
    }
    named = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
    y = table["income"].str.contains(">50K").to_numpy().astype(int)
    return AdditiveTable("adult", table, y, (table["split"] == "test").to_numpy(), terms | categories(table, named))


def credit(data: Path, tables: Path) -> AdditiveTable:
    """UCI credit default: whether a customer pays next month."""
    table = pd.read_csv(data / "credit.csv.gz")
    bill, payment = Numeric(-1e5, 1e6, unit=1e4, special=(0,)), Numeric(0, 1e6, unit=1000, special=(0,))
    months = range(1, 7)
    terms: Terms = {"LIMIT_BAL": Numeric(1e4, 1e6, unit=1e5), "AGE": Numeric(18, 80)}
    terms |= categories(table, ("SEX", "EDUCATION", "MARRIAGE"))
    terms |= {f"PAY_{month}": Numeric(-2, 8) for month in months}
    terms |= {f"BILL_AMT{month}": bill for month in months} | {f"PAY_AMT{month}": payment for month in months}
    return AdditiveTable("credit", table, table["default"].to_numpy().astype(int), quarter(len(table)), terms)


def california(data: Path, tables: Path) -> AdditiveTable:
    """Median house values of Californian districts, in units of 100,000 dollars."""
    table = pd.read_csv(data / "california.csv.gz")
    terms: Terms = {
        "MedInc": Numeric(0, 15),
        "HouseAge": Numeric(0, 52),
        "AveRooms": Numeric(0, 150, unit=5),
        "AveBedrms": Numeric(0, 40, unit=1),
        "Population": Numeric(0, 40_000, unit=1000),
        "AveOccup": Numeric(0, 1500, unit=3),
        "Latitude": Numeric(32, 42),
        "Longitude": Numeric(-125, -114),
    }
    y = table["MedHouseVal"].to_numpy(dtype=float)
    return AdditiveTable("california", table, y, quarter(len(table)), terms, (0.0, 5.00001))


def bike(data: Path, tables: Path) -> AdditiveTable:
    """Rented bicycles in an hour."""
    table = pd.read_csv(data / "bike.csv.gz")
    terms = categories(table, ("season", "yr", "mnth", "holiday", "weekday", "workingday", "weathersit"))
    terms |= {"hr": Numeric(0, 23)} | dict.fromkeys(("temp", "atemp", "hum", "windspeed"), Numeric(0, 1))
    return AdditiveTable("bike", table, table["cnt"].to_numpy(dtype=float), quarter(len(table)), terms, (0.0, 1000.0))


def diamond(data: Path, tables: Path) -> AdditiveTable:
    """Logarithm of the price of diamonds in dollars."""
    table = pd.read_csv(data / "diamond.csv.gz")
    terms: Terms = {"Carat Weight": Numeric(0.5, 3)}
    terms |= categories(table, ("Cut", "Color", "Clarity", "Polish", "Symmetry", "Report"))
    y, ends = np.log(table["Price"].to_numpy(dtype=float)), (float(np.log(1000)), float(np.log(100_000)))
    return AdditiveTable("diamond", table, y, quarter(len(table)), terms, ends)


def fair(data: Path, tables: Path) -> AdditiveTable:
    """Fair (1978), ``statsmodels.datasets.fair``: whether a married woman reports an affair."""
    table = pd.read_csv(tables / "fair.csv.gz")
    occupation = Categorical([1, 2, 3, 4, 5, 6])
    terms: Terms = {
        "rate_marriage": Numeric(1, 5),
        "age": Numeric(17, 45),
        "yrs_married": Numeric(0, 25),
        "children": Numeric(0, 6),
        "religious": Numeric(1, 4),
        "educ": Numeric(9, 20),
        "occupation": occupation,
        "occupation_husb": occupation,
    }
    return AdditiveTable("fair", table, (table["affairs"] > 0).to_numpy().astype(int), quarter(len(table)), terms)


def randhie(data: Path, tables: Path) -> AdditiveTable:
    """RAND Health Insurance Experiment, ``statsmodels.datasets.randhie``: whether a person sees a doctor in a year."""
    table = pd.read_csv(tables / "randhie.csv.gz")
    terms: Terms = {
        "lncoins": Numeric(0, 4.62),  # log(coinsurance + 1), coinsurance <= 100
        "idp": FLAG,
        "lpi": Numeric(0, 8, special=(0,)),
        "fmde": Numeric(0, 9, special=(0,)),
        "physlm": Numeric(0, 1),
        "disea": Numeric(0, 60),
        "hlthg": FLAG,
        "hlthf": FLAG,
        "hlthp": FLAG,
    }
    return AdditiveTable("randhie", table, (table["mdvis"] > 0).to_numpy().astype(int), quarter(len(table)), terms)


def nlswork(data: Path, tables: Path) -> AdditiveTable:
    """National Longitudinal Survey of young women: logarithm of the hourly wage; split by persons."""
    split = pipeline_tables.nlswork(tables)
    table = pd.concat([split.train, split.test], ignore_index=True)
    terms: Terms = {
        "year": Numeric(68, 88),
        "birth_yr": Numeric(40, 55),
        "age": Numeric(14, 46),
        "race": Categorical([1, 2, 3]),
        "grade": Numeric(0, 18),
        "ind_code": Categorical(list(range(1, 13))),
        "occ_code": Categorical(list(range(1, 14))),
        "wks_ue": Numeric(0, 52, special=(0,)),
        "ttl_exp": Numeric(0, 30),
        "tenure": Numeric(0, 30),
        "hours": Numeric(0, 100),
        "wks_work": Numeric(0, 104),
    }
    terms |= dict.fromkeys(("msp", "nev_mar", "collgrad", "not_smsa", "c_city", "south", "union"), FLAG)
    test = np.arange(len(table)) >= len(split.train)
    return AdditiveTable("nlswork", table, table["ln_wage"].to_numpy(dtype=float), test, terms, (0.0, 4.0))


SHAPED: dict[str, Callable[[Path, Path], AdditiveTable]] = {
    "adult": adult,
    "credit": credit,
    "california": california,
    "bike": bike,
    "diamond": diamond,
}
"""Tables on which the rules were shaped, by name."""
HELD_OUT: dict[str, Callable[[Path, Path], AdditiveTable]] = {"fair": fair, "randhie": randhie, "nlswork": nlswork}
"""Tables that had no part in the rules, by name."""

_detailed = partial(replace, detail=0.6, weight=3)
DETAILED: Terms = {
    "capital-gain": _detailed(Numeric(0, 1e5, unit=1000, special=(0, 99999))),
    "capital-loss": _detailed(Numeric(0, 5000, unit=1000, special=(0,))),
}
"""Declarations of amounts with point masses in Adult."""
DEFAULT = Row()
ROWS: dict[str, tuple[Row, ...]] = {
    "adult": (
        Row(bars=((0.843, 0.894), (0.855, 0.907), (0.858, 0.910), (0.859, 0.912))),
        Row(
            "capital-gain and capital-loss with detail .6 and weight 3",
            DETAILED,
            bars=((0.844, 0.894), (0.860, 0.911), (0.864, 0.915), (0.869, 0.921)),
        ),
    ),
    "credit": (Row(bars=((0.800, 0.743), (0.814, 0.773), (0.818, 0.777), (0.820, 0.781))),),
    "california": (
        Row(bars=((0.62,), (0.715,), (0.728,), (0.738,))),
        Row(
            "with Latitude x Longitude",
            pairs=(("Latitude", "Longitude"),),
            bars=((0.64,), (0.725,), (0.74,), (0.755,)),
        ),
    ),
    "bike": (
        Row(bars=((0.51,), (0.645,), (0.67,), (0.685,))),
        Row("with hr x workingday", pairs=(("hr", "workingday"),), bars=((0.64,), (0.795,), (0.815,), (0.83,))),
    ),
    "diamond": (Row(bars=((0.80,), (0.95,), (0.967,), (0.977,))),),
}
"""Additive models of the tables with bars. Every other table has the default model."""
EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-5
ADJACENCY = "add_remove"
