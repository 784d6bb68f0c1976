# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files of pictures: checked before anything is computed."""

from collections.abc import Iterable
from pathlib import Path

from dperm.errors import ParameterError

SUFFIXES = (".png", ".svg", ".pdf")


def require_picture(option: str, path: Path | None, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a file that matplotlib cannot write, or that must not be written."""
    from dperm.cli.paths import require_free

    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"{option}: {path} must end in {', '.join(SUFFIXES)}: that says what is drawn.")
    require_matplotlib(option)
    require_free(option, path, force=force, inputs=inputs)


def require_matplotlib(option: str) -> None:
    """Refuse to draw without it."""
    from importlib.util import find_spec

    from dperm.report.plot_style import INSTALL

    if find_spec("matplotlib") is None:
        raise ParameterError(f"{option} needs matplotlib, which is not installed: {INSTALL}.")
