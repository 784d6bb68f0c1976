# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Shared parts of benchmarks/compare_*.py: the process of diffprivlib, versions, and Markdown tables."""

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PEER = Path(__file__).with_name("compare_peer.py")


class Diffprivlib:
    """A process with diffprivlib; answers one request at a time."""

    def __init__(self, python: Path) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        command = [str(python), str(PEER)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, task: str, **arguments: Any) -> dict[str, Any]:
        """Send one request and wait for its answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"task": task, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("diffprivlib failed; its environment needs diffprivlib==0.6.6 and scikit-learn==1.5.2.")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def add_diffprivlib(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the Python of diffprivlib."""
    parser.add_argument(
        "--diffprivlib-python", type=Path, help="Python with diffprivlib (see benchmarks/peers.txt); left out without"
    )


def print_header(packages: Sequence[str], peer: Diffprivlib | None = None) -> None:
    """Print the date and all versions, so that a table can be cited."""
    found = {"python": platform.python_version()}
    for name in ("dperm", "numpy", *packages):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed" if name != "dperm" else "source tree"
    print(f"{datetime.date.today().isoformat()}; " + ", ".join(f"{name} {value}" for name, value in found.items()))
    if peer is not None:
        own = ", ".join(f"{name} {value}" for name, value in peer.ask("versions").items())
        print(f"environment of diffprivlib: {own}")
    print()


def print_table(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"{title}\n")
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print(flush=True)


def mean_and_error(scores: Sequence[float]) -> str:
    """Mean and its standard error."""
    error = statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0
    return f"{statistics.fmean(scores):.3f} ± {error:.3f}"


def median_score(scores: Sequence[float]) -> str:
    """Median, for scores without a lower limit such as R^2."""
    middle = statistics.median(scores)
    return f"{middle:.3f}" if middle > -10 else f"{middle:.1e}"
