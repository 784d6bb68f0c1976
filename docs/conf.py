# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration; `make docs` builds with warnings as errors."""

from importlib.metadata import version as installed

project = "dperm"
author = "The dperm developers"
copyright = "2026, The dperm developers"
version = release = installed("dperm")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"dperm {release}"

smartquotes = False  # D' and --json stay as they are
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False
napoleon_use_rtype = False


def prepare_docstring(app, what, name, obj, options, lines):
    """Leave module docstrings to the source, and put the blank line after an indented statement that docutils wants."""
    if what == "module":
        lines.clear()
    for above in reversed(range(len(lines) - 1)):
        if lines[above + 1].strip() and indent(lines[above]) > indent(lines[above + 1]):
            lines.insert(above + 1, "")


def indent(line):
    return len(line) - len(line.lstrip())


def setup(app):
    # After napoleon (priority 500), which turns the numpy sections into fields.
    app.connect("autodoc-process-docstring", prepare_docstring, priority=600)
