# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A private additive model of real data: its accuracy beside a linear model, its effects, and an edit of one of them.

The data are the RAND Health Insurance Experiment, included in statsmodels: does a person see a doctor more than once in
a year? A person has up to five records, one for each year; the guarantee is about one record. Each fit has its own
guarantee, and together they cost more. Files are written to build/additive.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files, no window
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.pipeline import make_pipeline
from statsmodels.datasets import randhie

from dperm.data import Categorical, Numeric
from dperm.errors import DpermWarning
from dperm.sklearn import PrivateAdditiveClassifier, PrivateLogisticRegression, PublicTableEncoder

FOLDER = Path("build/additive")
EPSILONS = (0.1, 0.3, 1.0)
FITS = 5
YES_NO = Categorical([0, 1])
# From the description of the experiment, as in doctor_visits.toml; nothing comes from the records.
TERMS = {
    "lncoins": Numeric(0, 4.6151),  # log(coinsurance + 1), coinsurance in per cent
    "idp": YES_NO,  # plan with individual deductible
    "lpi": Numeric(0, 8.0064),  # log of the yearly participation incentive in dollars
    "fmde": Numeric(0, 8.2941),  # log(limit on own spending / coinsurance)
    "physlm": Numeric(0, 1),  # physical limitation
    "disea": Numeric(0, 30),  # number of chronic diseases
    "hlthg": YES_NO,
    "hlthf": YES_NO,
    "hlthp": YES_NO,
}
PUBLIC = {"delta": 1e-6, "classes": (False, True)}


def main() -> None:
    """Compare models at several epsilons, and write shapes, page, model and statement of the last one."""
    warnings.simplefilter("ignore", DpermWarning)
    FOLDER.mkdir(parents=True, exist_ok=True)
    records = randhie.load_pandas().data
    often, test = (records["mdvis"] > 1).to_numpy(), np.arange(len(records)) % 4 == 3
    table = Table(title="Test accuracy (standard deviation between fits)")
    for name in ("epsilon", "additive", "linear"):
        table.add_column(name, justify="right")
    for epsilon in EPSILONS:
        additive = PrivateAdditiveClassifier(terms=TERMS, epsilon=epsilon, **PUBLIC)
        bounded = {name: Numeric(0, 1) if term is YES_NO else term for name, term in TERMS.items()}
        linear = make_pipeline(
            PublicTableEncoder(bounded), PrivateLogisticRegression(epsilon=epsilon, feature_norm="auto", **PUBLIC)
        )
        cells = []
        for model in (additive, linear):
            scores = [model.fit(records[~test], often[~test]).score(records[test], often[test]) for _ in range(FITS)]
            cells.append(f"{np.mean(scores):.4f} ({np.std(scores):.4f})")
        table.add_row(f"{epsilon:g}", *cells)
    Console().print(table)

    print(additive.plan(int((~test).sum())).why[-1])
    for name, contribution in zip(*[additive.explain_global().data()[key] for key in ("names", "scores")], strict=True):
        print(f"{name:8} mean absolute contribution on its grid: {contribution:.3f}")
    additive.plot_shapes(path=FOLDER / "shapes.png")
    edited = additive.with_monotone({"disea": 1})
    edited.write_shapes(FOLDER / "shapes.html", overwrite=True)
    edited.save(FOLDER / "model.dperm", overwrite=True)
    edited.write_statement(FOLDER / "statement.html", overwrite=True)
    print(f"Written to {FOLDER}: shapes.png, shapes.html, model.dperm and statement.html")


if __name__ == "__main__":
    main()
