# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Command line: ``dperm fit``, ``predict``, ``plan``, ``account`` and others; one module or package per verb.

``dperm --help`` is fast: verbs import NumPy and the library only when they run.
"""

import sys


def main() -> None:
    """Run the ``dperm`` command. This function is the entry point of the program.

    Arguments with control characters are refused with exit code 2. Messages contain file names. A control character in
    a message could alter the state of the terminal, or be mistaken for a placeholder for an option
    (`dperm.presentation.spelling`).
    """
    for place, text in enumerate(sys.argv[1:], start=1):
        if _has_control_character(text):
            print(
                f"Error: argument {place} of the command line must not contain control characters, except tabs and "
                "line feeds. Correct the argument; if it is a file name, rename the file.",
                file=sys.stderr,
            )
            raise SystemExit(2)
    try:
        from dperm.cli.app import app

        app()
    except KeyboardInterrupt:  # before a verb has begun
        raise SystemExit(130) from None


def _has_control_character(text: str) -> bool:
    """Whether a text has a control character of ASCII or Latin-1; events may have tabs and line feeds."""
    return any((sign < " " and sign not in "\t\n") or "\x7f" <= sign <= "\x9f" for sign in text)
