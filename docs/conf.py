# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration; `make docs` builds with warnings as errors."""

import re
from importlib.metadata import version as installed

project = "dperm"
author = "The dperm developers"
copyright = "2026, The dperm developers"
version = release = installed("dperm")

extensions = [
    "myst_nb",  # myst_parser, and notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"dperm {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css", "site.css"]

smartquotes = False  # D' and --json stay as they are
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks hold the outputs of a real run (`make notebooks`)

toc_object_entries_show_parents = "hide"
autosummary_generate = False  # the pages of docs/api are written by hand; the tables of classes are summaries
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # orders=DEFAULT_ORDERS, not its hundred numbers
autodoc_typehints = "description"
suppress_warnings = ["ref.python"]  # names of attributes, such as profile, are those of several classes
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


def name_rows(app, docname, source):
    """Give the rows of the errata and the lectures names, so that [E3](#e3) leads to its row from any page."""
    if docname == "errata" or docname.startswith("lectures/"):
        source[0] = re.sub(
            r"^\| ([A-Z]\d+) \|", lambda row: f"| [{row[1]}]{{#{row[1].lower()}}} |", source[0], flags=re.MULTILINE
        )


def link_statements(app, docname, source):
    """On the pages that `dperm reproduce` wrote, lead from lectures, tags and errata to where they stand."""
    if docname.startswith("gallery/"):
        source[0] = re.sub(r"^Lecture of .*$", linked, source[0], count=1, flags=re.MULTILINE)


def linked(line):
    words = re.sub(r"\b(T\d+[a-z]?|E\d+)\b", lambda tag: f"[{tag[1]}](#{tag[1].lower()})", line[0])
    lectures = r"\b(Bellet|Razaviyayn|Monteleoni|Wang|Musco)\b"
    return re.sub(lectures, lambda name: f"[{name[1]}](../lectures/{name[1].lower()}.md)", words)


def break_names(app, pagename, templatename, context, doctree):
    """Let long names in code break after dots and opening brackets only, and keep full stops with their formulas."""
    if "body" in context:
        body = re.sub(r'<span class="pre">[^<]+</span>', broken, context["body"])
        formula = r'(<span class="math notranslate nohighlight">[^<]*</span>(?:[.,;:?!)]+|-\w+))'
        context["body"] = reachable(re.sub(formula, r'<span class="whole">\1</span>', body))


def reachable(body):
    """Let wide blocks and tables be reached, and scrolled, from the keyboard."""
    body = body.replace("<pre>", '<pre tabindex="0">')
    return body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def name_levels(app, pagename, templatename, context, doctree):
    """Give the captions of the menu, which Sphinx declares as headings, the level that a heading needs."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = context[part].replace('role="heading"', 'role="heading" aria-level="2"')


def broken(span):
    return re.sub(r"(?<=\w)([.(])(?=[^\W\d])", r'\1</span><wbr><span class="pre">', span[0])


def setup(app):
    app.connect("source-read", name_rows)
    app.connect("source-read", link_statements)
    app.connect("html-page-context", break_names)
    app.connect("html-page-context", name_levels, priority=900)  # after the theme, which makes the menu
    # After napoleon (priority 500), which turns the numpy sections into fields.
    app.connect("autodoc-process-docstring", prepare_docstring, priority=600)
