# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Progress bars: they show only the number of steps, nothing computed from the data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Display of a training run's progress; ``advance`` counts one step."""

    advance: Callable[[], None]


@contextmanager
def step_progress(steps: int, shown: bool | None, *, done: int = 0) -> Iterator[Progress]:
    """Show a bar of ``steps`` steps of which ``done`` are finished; with ``shown`` None, only on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not (console.is_terminal if shown is None else shown):
        yield Progress(lambda: None)
        return
    columns = (TextColumn("private training"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"))
    with Bar(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("", total=steps, completed=done)
        yield Progress(lambda: bar.advance(task))


@contextmanager
def check_progress(shown: bool | None) -> Iterator[None]:
    """Show a line during the check of data and model; with ``shown`` None, only on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal if shown is None else shown):
        yield
        return
    with console.status("checking model and data; nothing is charged yet"):
        yield
