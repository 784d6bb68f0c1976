# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Execute the notebooks of the documentation in a Jupyter kernel and store their outputs.

Run: ``make notebooks``. The documentation shows the stored outputs, so its build executes nothing. Noise has no seed:
each execution stores other numbers. Needs nbclient and ipykernel.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
SECONDS = 120
"""Time limit of one cell."""


def execute(path: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs of a new execution, in a temporary folder and one thread.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell raises an error.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources)
        return client.execute()


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook without metadata of the machine: times, and the version of Python."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def main() -> None:
    """Execute the notebooks named on the command line, or all of them."""
    paths = [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        start = time.monotonic()
        nbformat.write(tidy(execute(path)), path)
        print(f"{path.name}: {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
