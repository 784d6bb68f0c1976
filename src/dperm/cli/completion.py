# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm completion``: scripts for the Tab key in bash, zsh and fish, and the answers to these scripts."""

import os
from enum import StrEnum
from typing import Annotated

import typer

HELP = """Print the completion script for a shell. With this script, the Tab key completes commands, options and file
names.

The script calls dperm for each completion, so it stays correct after an upgrade.

\b
Installation:
  bash  add this line to ~/.bashrc: source <(dperm completion bash)
  zsh   add this line to ~/.zshrc, after compinit: source <(dperm completion zsh)
  fish  write the script to ~/.config/fish/completions/dperm.fish

\b
Examples:
  dperm completion bash
  dperm completion zsh
  dperm completion fish
"""

_VARIABLE = "_DPERM_COMPLETE"
"""Environment variable by which a script asks for completions."""


class Shell(StrEnum):
    """Shells with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", show_default=False, help="Name of the shell.")],
) -> None:
    """Print the completion script of a shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="dperm", complete_var=_VARIABLE, shell=shell.value))


def register_shells() -> None:
    """Register typer's answers for all shells, if a completion script asks."""
    if _VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
