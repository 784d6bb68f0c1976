# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Line of the user that a warning names."""

import sys
from pathlib import Path

_HOME = f"{Path(__file__).resolve().parents[1]}/"


def level_of_user() -> int:
    """Return the ``stacklevel`` with which the calling function warns at the first line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    return level
