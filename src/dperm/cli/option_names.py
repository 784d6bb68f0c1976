# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Names of the library's arguments on the command line."""

import importlib
from typing import Any

OPTIONS = {"random_state": "--seed", "excess": "--target-excess", "loss": "--target-loss"}
"""Options with another name than their argument; all others have the argument's name, with hyphens."""


def option_name(argument: str) -> str:
    """Return the option of a Python argument, such as ``--request-id`` for ``request_id``."""
    return OPTIONS.get(argument, f"--{argument.replace('_', '-')}")


def spell_option(argument: str, value: str | None) -> str:
    """Spell a reference to an argument as an option, if the running command has it; otherwise as in Python.

    A `dperm.presentation.spelling.Spelling`.
    """
    option = option_name(argument)
    if option not in _options_of_the_command():
        return argument if value is None else f"{argument}={value}"
    return option if value is None else f"{option} {value}"


def _options_of_the_command() -> set[str]:
    context = _current_context()
    return set() if context is None else {name for parameter in context.command.params for name in parameter.opts}


def _current_context() -> Any:
    """Return the context of the running command; None outside of one."""
    try:
        module = importlib.import_module("typer._click.globals")  # newer versions of typer have a copy of click
    except ImportError:
        module = importlib.import_module("click.globals")
    return module.get_current_context(silent=True)
