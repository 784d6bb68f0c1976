# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Options shared by the verbs of ``dperm ledger``."""

from pathlib import Path
from typing import Annotated

import typer

Location = Annotated[
    str,
    typer.Argument(metavar="LEDGER", show_default=False, help="Ledger file, or a URL postgresql://USER@HOST/DATABASE."),
]
AccountName = Annotated[
    str | None,
    typer.Option(
        "--account",
        metavar="NAME",
        show_default=False,
        help="Account in the ledger, if it has several.",
    ),
]
AnchorOut = Annotated[
    Path | None,
    typer.Option(
        "--write-anchor",
        metavar="FILE",
        show_default=False,
        help="File for the anchor, for dperm ledger verify --anchor; store it separately from the ledger.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Let --write-anchor overwrite an existing file.")]
