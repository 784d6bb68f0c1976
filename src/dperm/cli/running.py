# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What surrounds every verb: exit codes, errors without a traceback, warnings, something to look at while waiting."""

import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from dperm.cli.option_names import spell_option
from dperm.errors import BudgetError, DpermError, DpermWarning, LeakError, LedgerError

BUG = 1
"""Exit code of what should not happen: please report it."""
USAGE = 2
"""Exit code of a request that cannot be answered as it stands: an option, a file or the data break a rule."""
REFUSED = 3
"""Exit code of a release that the budget does not cover, or a ledger that cannot be trusted."""
LEAK = 4
"""Exit code of a request that would let private data out without cover."""
VIOLATION = 5
"""Exit code of an audit, a check of a ledger, or a lesson that found something."""
INTERRUPTED = 130
"""Exit code after Ctrl-C; after SIGTERM it is 143."""

_PATIENCE = 2.0  # seconds without a spinner: most answers take a few milliseconds


class Interruption(KeyboardInterrupt):
    """A signal that ends the command."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


@contextmanager
def reported_errors() -> Iterator[None]:
    """Print what goes wrong on stderr, without a traceback, and exit with the code that says what it was."""
    try:
        with _said_warnings():
            yield
    except (typer.Exit, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt as error:
        _say("Interrupted.", error)
        raise typer.Exit(error.exit_code if isinstance(error, Interruption) else INTERRUPTED) from None
    except DpermError as error:
        _say(f"Error: {error.describe(spell_option)}", error)
        raise typer.Exit(exit_code(error)) from None
    except OSError as error:
        _say(f"Error: {_in_words(error)}", error)
        raise typer.Exit(USAGE) from None
    except MemoryError as error:
        _say("Error: the data do not fit into memory.", error)
        raise typer.Exit(USAGE) from None
    except Exception as error:
        _say(_bug(error), error)
        raise typer.Exit(BUG) from None


def exit_code(error: DpermError) -> int:
    """The code that stands for an error."""
    if isinstance(error, BudgetError | LedgerError):
        return REFUSED
    return LEAK if isinstance(error, LeakError) else USAGE


@contextmanager
def open_output(otherwise: str) -> Iterator[None]:
    """Print what the block prints; if nobody reads stdout any more, say on stderr what it was about."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # or Python complains when it ends
        note(otherwise)


def note(text: str) -> None:
    """Say something on stderr that is no error."""
    typer.echo(text, err=True)


def _say(message: str, error: BaseException) -> None:
    """The message, and what was noted about it on the way."""
    for line in (message, *getattr(error, "__notes__", ())):
        typer.echo(line, err=True)


def _in_words(error: OSError) -> str:
    """What the file system said; of anything else only the type."""
    if error.filename is None or error.strerror is None:
        return f"{error.strerror or type(error).__name__}."
    return f"{error.filename}: {error.strerror}."


def _bug(error: Exception) -> str:
    """Where something unforeseen happened. Its own words are left out: they might repeat private data."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "dperm" in Path(frame.filename).parts]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(own))
    return (
        f"Error: something went wrong inside dperm: {type(error).__name__} at {places}. Its message is not shown: it "
        "might repeat private data. Please report this line."
    )


@contextmanager
def _said_warnings() -> Iterator[None]:
    """Show dperm's warnings as lines on stderr, each once; those of other libraries might repeat private data."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            text = message.describe(spell_option) if isinstance(message, DpermWarning) else str(message)
            note(f"Warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DpermWarning)
        warnings.showwarning = show
        yield


@contextmanager
def spinner(doing: str) -> Iterator[None]:
    """Say on stderr what is being done, if it takes more than two seconds and stderr is a terminal."""
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
    """A bar on stderr that is told the share that is done, under the same conditions as the spinner.

    It shows a share and nothing else: how many records there are is private under add_remove.
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

    def tell(share: float) -> None:
        if time.monotonic() - began > _PATIENCE and not bar.live.is_started:
            bar.start()
        bar.update(task, completed=share)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
