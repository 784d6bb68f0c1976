# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Frame of every verb: exit codes, errors without a traceback, warnings, spinner and progress bar."""

import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer

from dperm.cli.option_names import spell_option
from dperm.errors import BudgetError, DpermError, DpermWarning, LeakError, LedgerError

BUG = 1
"""Exit code of a bug in dperm."""
USAGE = 2
"""Exit code of an invalid option, file or table."""
REFUSED = 3
"""Exit code of a release beyond the budget, or a ledger that cannot be trusted."""
LEAK = 4
"""Exit code of a request to release private data without a guarantee."""
VIOLATION = 5
"""Exit code of an audit, a ledger verification or a lesson with a negative result."""
INTERRUPTED = 130
"""Exit code after Ctrl-C; after SIGTERM it is 143."""

_PATIENCE = 2.0  # seconds before a spinner starts


class Interruption(KeyboardInterrupt):
    """A signal that ends the command, with exit code 128 + its number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


@contextmanager
def reported_errors() -> Iterator[None]:
    """Print errors on stderr without a traceback, and exit with the code of their kind."""
    try:
        with _printed_warnings():
            yield
    except (typer.Exit, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt as error:
        _print_error("Interrupted.", error)
        raise typer.Exit(error.exit_code if isinstance(error, Interruption) else INTERRUPTED) from None
    except DpermError as error:
        _print_error(f"Error: {error.describe(spell_option)}", error)
        raise typer.Exit(exit_code(error)) from None
    except OSError as error:
        _print_error(f"Error: {_file_error(error)}", error)
        raise typer.Exit(USAGE) from None
    except MemoryError as error:
        _print_error("Error: the data do not fit into memory.", error)
        raise typer.Exit(USAGE) from None
    except Exception as error:
        _print_error(_bug(error), error)
        raise typer.Exit(BUG) from None


def exit_code(error: DpermError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, BudgetError | LedgerError):
        return REFUSED
    return LEAK if isinstance(error, LeakError) else USAGE


@contextmanager
def open_output(otherwise: str) -> Iterator[None]:
    """Run a block that prints; if stdout is closed, print ``otherwise`` on stderr."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # avoids an error when Python exits
        note(otherwise)


def note(text: str) -> None:
    """Print a note on stderr."""
    typer.echo(text, err=True)


def _print_error(message: str, error: BaseException) -> None:
    """Print the message and the notes of the error."""
    for line in (message, *getattr(error, "__notes__", ())):
        typer.echo(line, err=True)


def _file_error(error: OSError) -> str:
    """Return path and message of the operating system; without them only the type of the error."""
    if error.filename is None or error.strerror is None:
        return f"{error.strerror or type(error).__name__}."
    return f"{error.filename}: {error.strerror}."


def _bug(error: Exception) -> str:
    """Return type and place of an unexpected error, without its message, which might repeat private data."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "dperm" in Path(frame.filename).parts]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(own))
    return (
        f"Error: internal error of dperm: {type(error).__name__} at {places}. Its message is not shown, since it might "
        "repeat private data. Please report this line."
    )


@contextmanager
def _printed_warnings() -> Iterator[None]:
    """Print warnings of dperm on stderr, each once; those of other libraries might repeat private data."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            text = message.describe(spell_option) if isinstance(message, DpermWarning) else str(message)
            note(f"Warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DpermWarning)
        warnings.showwarning = show
        yield


@contextmanager
def spinner(doing: str) -> Iterator[None]:
    """Show a spinner on stderr after two seconds, if stderr is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    status = console.status(doing)
    timer = threading.Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on stderr, under the same conditions as the spinner; yields a function of the share done.

    The bar shows no counts: the number of records is private under add_remove.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda share: None
        return
    bar = Progress(
        TextColumn(doing), BarColumn(), TextColumn("{task.percentage:.0f} %"), console=console, transient=True
    )
    task, began = bar.add_task(doing, total=1.0), time.monotonic()

    def update(share: float) -> None:
        if time.monotonic() - began > _PATIENCE and not bar.live.is_started:
            bar.start()
        bar.update(task, completed=share)

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def first_read(reading: str, then: str) -> Iterator[Callable[[int, int], None]]:
    """Show a spinner and a bar while all row groups are read for the first time, and a spinner afterwards.

    Yields a function of the numbers of row groups done and of all, which are known without the rows. It ignores later
    passes: their number and their times depend on the data.

    Parameters
    ----------
    reading
        Text of the first read.
    then
        Text of the spinner afterwards.
    """
    with ExitStack() as shown:
        shown.enter_context(spinner(reading))
        bar: Callable[[float], None] | None = None
        is_over = False

        def progress(done: int, groups: int) -> None:
            nonlocal bar, is_over
            if is_over:
                return
            if done == groups:
                is_over = True
                shown.close()
                shown.enter_context(spinner(then))
            elif bar is None:
                shown.close()
                bar = shown.enter_context(progress_bar(reading))
                bar(done / groups)
            else:
                bar(done / groups)

        yield progress
