# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``dperm fit``, ``predict``, ``plan``, ``account`` and others; one file per verb.

Nothing heavy is imported before a verb runs, so that ``dperm --help`` answers at once.
"""


def main() -> None:
    """Entry point of the ``dperm`` command."""
    try:
        from dperm.cli.app import app

        app()
    except KeyboardInterrupt:  # before a verb has begun
        raise SystemExit(130) from None
