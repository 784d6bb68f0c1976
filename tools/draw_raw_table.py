# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/from-raw-table.md.

``python tools/draw_raw_table.py`` writes docs/pictures/raw-table-*.svg: the stages of a release, its metrics, and the
length of intervals against the number of records. The table is synthetic, and all noise is drawn from seeds.
"""

import sys
import warnings
from pathlib import Path
from random import Random  # noqa: TID251  # a synthetic table, and no noise
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
BLUE, GREEN, ORANGE, GRAY = "#0b5cad", "#3d8b5f", "#b4540a", "#666666"
RECORDS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
EPSILONS = (0.5, 1.0, 3.0)
ACCURACY = 0.85
REPEATS = 15


def people(count: int) -> dict[str, list[str]]:
    """Return the synthetic table of the page, the same in every run."""
    random = Random(0)
    table: dict[str, list[str]] = {name: [] for name in ("id", "age", "work", "hours", "income")}
    for place in range(count):
        age, hours = random.randint(17, 90), random.randint(0, 80)
        work = random.choice(["private", "public", "self", "n/a"])
        rich = age + hours + 10 * (work == "self") + random.gauss(0, 15) > 100
        shown = random.choice(["", "unknown", "forty"]) if random.random() < 0.05 else str(age)
        row = (f"P{place:05d}", shown, work, str(hours), ">50K" if rich else "<=50K")
        for name, cell in zip(table, row, strict=True):
            table[name].append(cell)
    return table


def measured() -> Any:
    """Return metrics of a model of the table, with a seed."""
    from dperm.sklearn import PrivateTableClassifier

    model = PrivateTableClassifier(epsilon=2.0, delta=1e-6, holdout=0.1, random_state=1)
    with warnings.catch_warnings(action="ignore"):
        return model.fit({name: cells for name, cells in people(20_000).items() if name != "id"}, target="income")


def half_widths(epsilon: float) -> list[float]:
    """Return half the mean length of 95 % intervals of the accuracy, for each number of evaluation records."""
    from dperm import ApproxDP
    from dperm.evaluation import EvaluationPlan
    from dperm.noise import NotPrivateBits

    goal = ApproxDP(epsilon, 1e-6, "replace_one")
    plan = EvaluationPlan(goal=goal, task="classification", classes=("no", "yes"))
    random = np.random.default_rng(0)  # noqa: TID251  # synthetic records
    found = []
    for records in RECORDS:
        lengths = []
        for repeat in range(REPEATS):
            labels = random.random(records) < 0.5
            right = random.random(records) < ACCURACY
            scores = np.where(labels == right, 0.5, 0.0) + 0.5 * random.random(records)
            private = plan.read(np.where(labels, "yes", "no"), scores)
            with warnings.catch_warnings(action="ignore"):
                one = plan.draw(private, NotPrivateBits(repeat).stream()).accuracy
            lengths.append((one.high - one.low) / 2)
        found.append(float(np.mean(lengths)))
    return found


def draw_stages(path: Path) -> None:
    """Draw the stages: who reads which records, and what one guarantee covers."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
    ax.set(xlim=(0, 100), ylim=(0, 40))
    ax.axis("off")

    def box(x: float, y: float, width: float, text: str, color: str, filled: bool = True) -> None:
        face = color if filled else "white"
        patch = plt.matplotlib.patches.FancyBboxPatch(
            (x, y), width, 8, boxstyle="round,pad=0.4", facecolor=face, edgecolor=color, linewidth=1.5
        )
        ax.add_patch(patch)
        ax.text(x + width / 2, y + 4, text, ha="center", va="center", color="white" if filled else color)

    def arrow(start: tuple[float, float], end: tuple[float, float]) -> None:
        style = {"arrowstyle": "-|>", "color": GRAY, "linewidth": 1.5}
        ax.annotate("", xy=end, xytext=start, arrowprops=style)

    frame = plt.matplotlib.patches.FancyBboxPatch(
        (44.5, 2), 54, 34, boxstyle="round,pad=0.6", facecolor="#f3f7fb", edgecolor=BLUE, linestyle="--"
    )
    ax.add_patch(frame)
    ax.text(71.5, 33, "one release, one guarantee, one charge", ha="center", color=BLUE, weight="bold")
    box(1, 15, 12, "raw table", GRAY, filled=False)
    box(24, 22, 16, "90 % of records\nfor training", GRAY, filled=False)
    box(24, 6, 16, "10 % of records\nheld out", GRAY, filled=False)
    ax.text(18.6, 19, "secret\ncoins", ha="center", va="center", color=GRAY, style="italic")
    box(47, 22, 14, "private schema", GREEN)
    box(67, 22, 12, "model", BLUE)
    box(84, 6, 12, "metrics with\nintervals", ORANGE)
    arrow((13.8, 20.5), (23.2, 25.5))
    arrow((13.8, 17.5), (23.2, 10.5))
    arrow((40.8, 26), (46.2, 26))
    arrow((61.8, 26), (66.2, 26))
    arrow((40.8, 10), (83.2, 10))
    arrow((79.8, 23), (89, 14.8))
    save(figure, path)


def draw_metrics(path: Path) -> None:
    """Draw the metrics of the example: intervals, ROC curve and calibration."""
    from dperm.report import evaluation_plots
    from dperm.report.metric_facts import utility_facts
    from dperm.report.metric_figures import StatedMetrics, draw_intervals

    plt = pyplot()
    metrics = measured().metrics_
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=(1.1, 1, 1))
    stated = StatedMetrics.of(utility_facts(metrics.to_dict(), 0.1))
    assert stated is not None
    draw_intervals(stated, panels[0])
    panels[0].set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    evaluation_plots.plot_roc_curve(metrics, panels[1])
    evaluation_plots.plot_calibration(metrics, panels[2]).legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    save(figure, path)


def draw_records(path: Path) -> None:
    """Draw the half length of intervals of the accuracy against the number of evaluation records."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
    sampling = [1.96 * (ACCURACY * (1 - ACCURACY) / records) ** 0.5 for records in RECORDS]
    for epsilon, color in zip(EPSILONS, (ORANGE, BLUE, GREEN), strict=True):
        ax.loglog(RECORDS, half_widths(epsilon), color=color, marker="o", markersize=4, label=f"ε = {epsilon:g}")
    ax.loglog(RECORDS, sampling, color=GRAY, linestyle="--", label="without privacy: sampling alone")
    ax.set(xlabel="evaluation records", ylabel="half length of the 95 % interval")
    ax.set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
    ax.set_yticks([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"])
    ax.minorticks_off()
    ax.grid(True, color="#dddddd", linewidth=0.8)
    ax.legend(frameon=False)
    save(figure, path)


def pyplot() -> Any:
    """Return pyplot with the style of the pictures."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.hashsalt": "dperm", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot as plt

    return plt


def save(figure: Any, path: Path) -> None:
    """Write a figure without its date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    pyplot().close(figure)


PICTURES = {"stages": draw_stages, "metrics": draw_metrics, "records": draw_records}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    for name, draw in PICTURES.items():
        draw(folder / f"raw-table-{name}.svg")
