# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Notebooks of the documentation as plain data, executed in this process without Jupyter."""

import ast
import contextlib
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doc_pages import DOCS

FOLDER = DOCS / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NUMBER = re.compile(r"\d[\d.,]*(?:e-?\d+)?")
HEADER = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """Structure of the outputs of a cell, without the numbers that noise changes.

    Attributes
    ----------
    printed
        Printed text, with every number replaced by 0.
    kinds
        MIME types of each displayed object, in order.
    headers
        Texts of all header cells in displayed HTML tables.
    """

    printed: str = ""
    kinds: tuple[tuple[str, ...], ...] = ()
    headers: tuple[str, ...] = ()


def cells(notebook: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def stored(cell: dict[str, Any]) -> Shown:
    """Structure of the outputs that the file holds."""
    outputs = cell["outputs"]
    texts = ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]
    return shown("".join(texts), [output["data"] for output in outputs if "data" in output])


def shown(printed: str, displayed: list[dict[str, Any]]) -> Shown:
    kinds = tuple(tuple(sorted(data)) for data in displayed)
    headers = [header for data in displayed for header in HEADER.findall("".join(data.get("text/html", "")))]
    return Shown(NUMBER.sub("0", printed), kinds, tuple(headers))


def execute(notebook: dict[str, Any]) -> list[Shown]:
    """Run all code cells in one namespace, and return the structure of the outputs of each."""
    names: dict[str, Any] = {"__name__": "__notebook__"}
    return [run(source(cell), names) for cell in cells(notebook, "code")]


def run(code: str, names: dict[str, Any]) -> Shown:
    tree, last = ast.parse(code), None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), collected_figures() as figures:
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if last is None else eval(compile(last, "<cell>", "eval"), names)
    return shown(printed.getvalue(), [*figures, *([] if value is None else [bundle(value)])])


def bundle(value: Any) -> dict[str, Any]:
    """MIME types and contents, as a Jupyter kernel finds them."""
    if hasattr(value, "_repr_mimebundle_"):
        return dict(value._repr_mimebundle_(include=None, exclude=None))
    html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {"text/plain": repr(value), **html}


@contextlib.contextmanager
def collected_figures() -> Iterator[list[dict[str, Any]]]:
    """Block in which ``matplotlib.pyplot.show`` draws and collects the open figures instead of opening windows."""
    import matplotlib
    from matplotlib import pyplot

    found: list[dict[str, Any]] = []

    def collect() -> None:
        for number in pyplot.get_fignums():
            pyplot.figure(number).canvas.draw()
            found.append({"image/png": "", "text/plain": ""})
        pyplot.close("all")

    matplotlib.use("Agg")
    pyplot.switch_backend("Agg")
    show, pyplot.show = pyplot.show, collect
    try:
        yield found
    finally:
        pyplot.show = show
