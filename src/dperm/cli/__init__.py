# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Command line: ``dperm fit``, ``predict``, ``plan``, ``account`` and others; one module or package per verb.

``dperm --help`` is fast: verbs import NumPy and the library only when they run.
"""


def main() -> None:
    """Run the ``dperm`` command; its entry point."""
    try:
        from dperm.cli.app import app

        app()
    except KeyboardInterrupt:  # before a verb has begun
        raise SystemExit(130) from None
