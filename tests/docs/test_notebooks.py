# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The notebooks of the documentation run, and their stored outputs have the structure of a new run.

The fast test runs the cells in this process; `make test-slow` runs them in a Jupyter kernel.
"""

import ast
import re
import shutil
import subprocess
import sys
import tempfile
import time

import notebooks
import pytest
from doc_pages import DOCS, ROOT
from markdown_it import MarkdownIt
from notebooks import FOLDER, NOTEBOOKS, Shown, cells, execute, read, run, source, stored

EXECUTE = ROOT / "tools" / "execute_notebooks.py"
SECONDS = 20
"""Limit of processor time for one notebook."""
MACHINE = re.compile(r"/(?:tmp|home|root|work|usr|var|Users|private)/|[A-Z]:\\\\")
SEEDS = ("random_state", "NotPrivateBits", "manual_seed")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks_for_classifiers_torch_and_budgets():
    assert {path.stem for path in NOTEBOOKS} == {"private-classifier", "pytorch-training", "budget-and-statement"}


@each
def test_the_file_is_tidy_and_was_executed_from_top_to_bottom(path):
    notebook = read(path)
    code = cells(notebook, "code")
    assert notebook["nbformat"] == 4 and notebook["metadata"].keys() <= {"kernelspec", "language_info"}
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert notebook["cells"][0]["cell_type"] == "markdown" and source(notebook["cells"][0]).startswith("# ")
    assert path.stat().st_size < 300_000


@each
def test_stored_outputs_have_no_errors_warnings_or_paths_of_a_machine(path):
    outputs = [output for cell in cells(read(path), "code") for output in cell["outputs"]]
    assert outputs and {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert {output["name"] for output in outputs if output["output_type"] == "stream"} <= {"stdout"}
    texts = [
        str({kind: text for kind, text in output.get("data", output).items() if kind != "image/png"})
        for output in outputs
    ]
    assert [found[0] for text in texts if (found := MACHINE.search(text))] == []


@each
def test_every_cell_that_shows_something_has_an_output(path):
    for cell in cells(read(path), "code"):
        shows = isinstance(ast.parse(source(cell)).body[-1], ast.Expr) or "print(" in source(cell)
        assert bool(cell["outputs"]) == shows, source(cell)


@each
def test_no_seed_makes_the_noise(path):
    code = "\n".join(source(cell) for cell in cells(read(path), "code"))
    assert [name for name in SEEDS if name in code] == []
    assert "vary from run to run" in "\n".join(source(cell) for cell in cells(read(path), "markdown"))


@each
def test_the_stored_outputs_show_private_releases(path):
    text = path.read_text(encoding="utf-8")
    assert "PRIVATE" in text and "NOT PRIVATE" not in text


@each
def test_links_lead_somewhere(path):
    for cell in cells(read(path), "markdown"):
        tokens = [part for token in MarkdownIt().parse(source(cell)) for part in token.children or ()]
        links = [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]
        assert [link for link in links if not (path.parent / link).is_file()] == []


def test_every_notebook_is_on_the_page_of_notebooks():
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    contents = page[page.index("{toctree}") :]
    assert [path.stem for path in NOTEBOOKS if f"\n{path.stem}\n" not in contents] == []
    assert [path.stem for path in NOTEBOOKS if f"({path.name})" not in page] == []
    assert "notebooks/index\n" in (DOCS / "index.md").read_text(encoding="utf-8")


@each
def test_the_notebook_runs_and_shows_what_the_file_holds(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    notebook, start = read(path), time.process_time()
    assert execute(notebook) == [stored(cell) for cell in cells(notebook, "code")]
    assert time.process_time() - start < SECONDS


@pytest.mark.slow
@each
def test_the_notebook_runs_in_a_kernel_and_shows_what_the_file_holds(path, tmp_path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    subprocess.run([sys.executable, str(EXECUTE), str(copy)], check=True, capture_output=True)
    assert [stored(cell) for cell in cells(read(copy), "code")] == [stored(cell) for cell in cells(read(path), "code")]


# the executor


def test_a_cell_shows_prints_figures_and_its_last_value():
    code = "import matplotlib.pyplot as plt\nprint('accuracy', 0.75)\nplt.plot([1])\nplt.show()\n'value'"
    kinds = (("image/png", "text/plain"), ("text/plain",))
    assert run(code, {}) == Shown("accuracy 0\n", kinds)
    assert run("x = 1", {}) == run("None", {}) == Shown()


def test_another_structure_is_found():
    names = {}
    run("class A:\n    def _repr_html_(self):\n        return '<th scope=\"row\">guarantee</th> <td>1</td>'", names)
    assert run("A()", names) == Shown("", (("text/html", "text/plain"),), ("guarantee",))
    assert run("print('left 1')", names) != run("print('spent 1')", names)
    with pytest.raises(ZeroDivisionError):
        run("1 / 0", names)
    assert notebooks.shown("9.5e-7 of 12,000", []).printed == "0 of 0"
