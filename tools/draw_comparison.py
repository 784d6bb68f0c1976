# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Draw accuracy against epsilon on Adult, from the measured tables of docs/comparison.md.

``python tools/draw_comparison.py`` writes docs/pictures/accuracy.svg, the picture of the README and the home page. The
tables themselves come from benchmarks/compare_accuracy.py.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs" / "comparison.md", ROOT / "docs" / "pictures" / "accuracy.svg"
EPSILONS = (0.1, 0.5, 1.0, 4.0)
LARGER_CLASS = 0.754
COLORS = {"dperm": "#0b5cad", "dperm, public bins": "#3d8b5f", "diffprivlib": "#b4540a", "DP-EBM": "#8b3a8f"}
LABELS = {"dperm, logistic regression": "dperm", "dperm, numbers in public bins": "dperm, public bins"}
Curves = dict[str, list[tuple[float, float]]]
"""Mean accuracy and standard error at each epsilon, by model."""


def curves(page: str, *, data: str = "Adult") -> list[Curves]:
    """Return the curves of each table of accuracies on ``data``."""
    found: list[Curves] = []
    current = ""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| data | model | ε = 0.1 "):
            found.append({})
        elif found and line.startswith("|") and len(cells) == 7:
            current = cells[0] or current
            values = [re.fullmatch(r"(\d\.\d+) ± (\d\.\d+)", cell) for cell in cells[2:6]]
            if current.startswith(data) and all(values):
                found[-1][LABELS.get(cells[1], cells[1])] = [(float(v[1]), float(v[2])) for v in values if v]
    return [one for one in found if one]


def draw(tables: list[Curves], path: Path) -> None:
    """Draw one panel for each table, with lines labelled at their ends."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.hashsalt": "dperm", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot as plt

    titles = ("pure ε, one record replaced", "δ = 10⁻⁵, one record added or removed")
    figure, panels = plt.subplots(1, len(tables), figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, table, title in zip(panels, tables, titles, strict=True):
        for name, values in table.items():
            means, errors = zip(*values, strict=True)
            panel.errorbar(EPSILONS, means, yerr=errors, color=COLORS[name], marker="o", markersize=4, capsize=2)
            where = {
                "dperm, public bins": (2, 0, 7),
                "dperm": (2, 0, -14 if len(table) > 2 else 7),
                "DP-EBM": (2, 0, -15),
            }
            number, right, up = where.get(name, (0, 45, -9))
            style = {"color": COLORS[name], "weight": "bold", "ha": "center", "textcoords": "offset points"}
            panel.annotate(name, (EPSILONS[number], means[number]), xytext=(right, up), **style)
        panel.axhline(LARGER_CLASS, color="#666666", linewidth=1, linestyle=":")
        panel.annotate(
            "larger class", (4.6, LARGER_CLASS), xytext=(0, 3), textcoords="offset points", color="#555555", ha="right"
        )
        panel.set(
            xscale="log", xlabel="ε (smaller is more private)", title=title, xlim=(0.085, 4.8), ylim=(0.69, 0.875)
        )
        panel.set_xticks(EPSILONS, [f"{value:g}" for value in EPSILONS])
        panel.minorticks_off()
    panels[0].set_ylabel("test accuracy on Adult")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else PICTURE
    draw(curves(PAGE.read_text(encoding="utf-8")), target)
    print(f"Written: {target}")
