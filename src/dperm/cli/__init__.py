# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``dperm account``, ``dperm calibrate``, ``dperm explain``; one file per verb.

Nothing heavy is imported before a verb runs, so that ``dperm --help`` answers at once.
"""


def main() -> None:
    """Entry point of the ``dperm`` command."""
    from dperm.cli.app import app

    app()
