# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Text for readers: sentences, numbers, tables and terms, for Python, the terminal, HTML and Markdown.

The core computes facts and this package spells them. It is the lowest layer and imports nothing else from dperm.

=================  =====================================================================
`facts`            statements as data, with a code, a sentence template and values
`glossary`         readable names of keys, methods and guarantees
`nested_data`      JSON-like values as lines of text, HTML and Markdown
`notebook`         tables, cards and charts for notebooks
`numbers`          the number formatter, with the direction of rounding
`phrases`          plurals, capital letters and joined sentences
`spelling`         references to arguments, spelled by the front end
`tables`           tables for the terminal, HTML and Markdown
=================  =====================================================================
"""
