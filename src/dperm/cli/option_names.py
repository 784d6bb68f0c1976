# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Option names of the library's arguments, for messages on the command line."""

import ast
import importlib
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dperm.errors import Message
    from dperm.presentation.facts import Fact

OPTIONS = {
    "random_state": "--seed",
    "excess": "--target-excess",
    "loss": "--target-loss",
    "parents": "--parent",
    "client": "--scheduler",
    "source": "DATA",
}
"""Options and arguments of commands that differ from their argument's name in Python; all others have hyphens."""


def option_name(argument: str) -> str:
    """Return the option of a Python argument, such as ``--request-id`` for ``request_id``."""
    return OPTIONS.get(argument, f"--{argument.replace('_', '-')}")


def spell_option(argument: str, value: str | None) -> str:
    """Format a reference to an argument as an option, if the running command has it; otherwise as in Python.

    A `dperm.presentation.spelling.Spelling`. Strings and lists lose their Python quotes: ``method="sgd"`` is
    ``--method sgd``, and ``parents=['main']`` is ``--parent main``.
    """
    option = option_name(argument)
    if option not in _options_of_the_command():
        return argument if value is None else f"{argument}={value}"
    return option if value is None else f"{option} {_without_quotes(value)}"


def describe_reason(reason: "str | Fact | Message") -> str:
    """Return a plan reason, an outlook or an error as text with option names; plain strings are returned unchanged."""
    return reason if isinstance(reason, str) else reason.describe(spell_option)


def _without_quotes(value: str) -> str:
    try:
        text = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    if isinstance(text, list | tuple):
        return " ".join(shlex.quote(str(one)) for one in text)
    return shlex.quote(text) if isinstance(text, str) else value


def _options_of_the_command() -> set[str]:
    context = _current_context()
    parameters = () if context is None else context.command.params
    return {name for parameter in parameters for name in (*parameter.opts, (parameter.metavar or "").rstrip("."))}


def _current_context() -> Any:
    """Return the context of the running command; None outside of one."""
    try:
        module = importlib.import_module("typer._click.globals")  # newer versions of typer have a copy of click
    except ImportError:
        module = importlib.import_module("click.globals")
    return module.get_current_context(silent=True)
