# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Text for readers: sentences, numbers, tables and terms, for Python, the terminal, HTML and Markdown.

The core computes facts. This package spells them. It is the lowest layer and imports nothing from dperm.
"""
