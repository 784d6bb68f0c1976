# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The colours of plots; a page puts its own in their places, light or dark."""

INK = "#1d232b"
LINE = "#8c96a3"
FAINT = "#d9dee4"
FIRST = "#1f5fa8"
SECOND = "#b5541c"
LEFT = "#c9d6e6"

COLORS = {INK: "ink", LINE: "axis", FAINT: "grid", FIRST: "first", SECOND: "second", LEFT: "left"}
"""Colours of plots, and the names that the style sheet of the page has for them."""
