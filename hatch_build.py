# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Build hook of hatchling: the wheel contains a manual page for each verb of the command line."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface):
    """Write the manual pages to build/man and install them under share/man/man1."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages and add them to the wheel; an editable installation has none."""
        if version == "editable":
            return
        root = Path(self.root)
        folder = root / "build" / "man"
        # A process of its own: the build keeps its modules, and -B leaves no compiled files in src.
        # The environment stays: pip passes the packages of an isolated build by PYTHONPATH.
        subprocess.run([sys.executable, "-B", "tools/man_pages.py", str(folder)], cwd=root, check=True)
        build_data["shared_data"].update({str(page): f"share/man/man1/{page.name}" for page in folder.glob("*.1")})
