# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of text cells, rendered for the terminal, HTML and Markdown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_LIST_START = re.compile(r"^(\d+[.)]|[-+])(?=\s|$)")
"""Text at the start of a line that would begin a list."""


@dataclass(frozen=True)
class TextTable:
    """Table whose cells are text.

    Attributes
    ----------
    header
        Column names.
    rows
        Cells by row, one for each column.
    caption
        Title; shown by `html` only.

    Examples
    --------
    >>> table = TextTable(("method", "noise"), [("output", "0.5"), ("objective", "0.25")])
    >>> print(table.terminal())
    method     noise
    ---------  -----
    output     0.5
    objective  0.25
    >>> print(table.markdown())
    | method | noise |
    | --- | --- |
    | output | 0.5 |
    | objective | 0.25 |
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def terminal(self) -> str:
        """Return aligned columns. No cell is cut off; a narrow terminal wraps the lines."""
        rows = [list(self.header), *map(list, self.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.header))]
        rows.insert(1, ["-" * width for width in widths])
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    def markdown(self) -> str:
        """Return a Markdown table with escaped cells."""
        rows = [self.header, ["---"] * len(self.header), *self.rows]
        lines = [[str(cell) if row is rows[1] else escape_markdown(cell) for cell in row] for row in rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self) -> str:
        """Return an HTML table with escaped cells. The first cell of a row is its header."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
        body = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
            for row in self.rows
        )
        title = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        return f'<div class="wide"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def escape_markdown(text: object) -> str:
    r"""Return text on one line whose special characters Markdown shows as they are.

    Examples
    --------
    >>> print(escape_markdown("1. a|b"))
    1\. a\|b
    """
    one_line = _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
    return _LIST_START.sub(lambda start: start[0][:-1] + "\\" + start[0][-1], one_line)
