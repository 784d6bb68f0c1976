# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What surrounds every verb: errors without a traceback, and a spinner for those who wait."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dperm.errors import DpermError

USAGE = 2
"""Exit code of a request that cannot be answered as it stands."""

_PATIENCE = 2.0  # seconds without a spinner: most answers take a few milliseconds


@contextmanager
def reported_errors() -> Iterator[None]:
    """Print an error of dperm or of the file system on stderr, and exit with code 2."""
    try:
        yield
    except DpermError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(USAGE) from None
    except OSError as error:
        typer.echo(f"Error: {error.filename}: {error.strerror}.", err=True)
        raise typer.Exit(USAGE) from None


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
