# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/additive.md: shape functions of private additive models of Adult and California housing.

    python tools/draw_additive.py DATA [FOLDER]

DATA is a folder with adult.csv.gz and california.csv.gz, which are public. The noise has no seed, so the pictures
differ a little from run to run, as the guarantee in their titles requires.
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def main(data: Path, folder: Path) -> None:
    """Fit both models and write their pictures."""
    import matplotlib as mpl
    import pandas as pd

    from dperm.data import Categorical, Numeric
    from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor

    mpl.use("agg")
    adult = pd.read_csv(data / "adult.csv.gz")
    names = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
    terms = {
        "age": Numeric(17, 90),
        "education-num": Numeric(1, 16),
        "hours-per-week": Numeric(1, 99),
        "capital-gain": Numeric(0, 1e5, unit=1000, special=(0, 99999), detail=0.6, weight=3),
        "capital-loss": Numeric(0, 5000, unit=1000, special=(0,), detail=0.6, weight=3),
        **{name: Categorical(sorted(adult[name].dropna().unique().tolist())) for name in names},
    }
    rich = PrivateAdditiveClassifier(
        terms=terms, epsilon=1.0, delta=1e-5, adjacency="add_remove", classes=(False, True)
    ).fit(adult, adult["income"].str.contains(">50K").to_numpy())
    rich.plot_shapes(["age", "hours-per-week", "capital-gain"], path=folder / "additive-adult.png")

    california = pd.read_csv(data / "california.csv.gz")
    value = PrivateAdditiveRegressor(
        terms={
            "MedInc": Numeric(0, 15),
            "HouseAge": Numeric(0, 52),
            "AveRooms": Numeric(0, 150, unit=5),
            "AveBedrms": Numeric(0, 40, unit=1),
            "Population": Numeric(0, 40_000, unit=1000),
            "AveOccup": Numeric(0, 1500, unit=3),
            "Latitude": Numeric(32, 42),
            "Longitude": Numeric(-125, -114),
        },
        interactions=[("Latitude", "Longitude")],
        monotone={"MedInc": 1},
        epsilon=1.0,
        delta=1e-5,
        adjacency="add_remove",
        label_range=(0, 5.00001),
    ).fit(california, california["MedHouseVal"])
    value.plot_shapes(["MedInc", "AveOccup", "Latitude x Longitude"], path=folder / "additive-california.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else FOLDER)
