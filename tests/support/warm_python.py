# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Programs in processes of their own, without the cost of importing the same libraries in each of them.

A `WarmPython` is a process that imports some modules once and forks for every program. A program has its own memory,
working directory, environment, streams and exit code. Only the imports are shared: tests of imports start Python.
"""

import atexit
import contextlib
import functools
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class WarmPython:
    """A process with some modules imported; it ends with the process that started it.

    Parameters
    ----------
    modules
        Names of the modules; a module that is not installed is left out.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        command = [sys.executable, __file__, *modules]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.close)

    def run(
        self, code: str, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str], timeout: int = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run a program; as `subprocess.run` with ``python -c``. A program that takes longer is killed (-14)."""
        assert self._server.stdin is not None and self._server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            streams = [Path(folder) / name for name in ("stdout", "stderr")]
            request = {
                "code": code,
                "arguments": [*arguments],
                "cwd": str(cwd),
                "environment": {**environment},
                "streams": [str(path) for path in streams],
                "timeout": timeout,
            }
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            answer = self._server.stdout.readline()
            if not answer:
                raise RuntimeError("the process that forks has ended")
            written = [path.read_text(encoding="utf-8") for path in streams]
        return subprocess.CompletedProcess([code, *arguments], int(answer), *written)

    def close(self) -> None:
        """End the process."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


@functools.cache
def package() -> WarmPython:
    """A process that has imported the package, its command line and the libraries behind it, and has run nothing."""
    verbs = ("fit", "predict", "plan", "account", "ledger", "report", "audit", "reproduce")
    commands = [f"dperm.cli.{verb}" for verb in ("app", "output", *verbs)]
    others = [
        "dperm.sklearn",
        "dperm.report",
        "dperm.ledger.sqlite.store",
        "dperm.audit.black_box",
        "dperm.audit.exact",
    ]
    return WarmPython([*commands, *others, "scipy.stats", "typer._adapters", "rich.table", "rich.progress"])


@functools.cache
def libraries() -> WarmPython:
    """A process that has imported libraries, and nothing of the package."""
    return WarmPython(["pytest", "hypothesis", "mpmath", "scipy.stats", "sklearn.linear_model", "typer", "rich"])


def serve(modules: Sequence[str]) -> int:
    """Fork for every line of stdin, and answer with the exit code; in a fork, return it."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in modules:
        with contextlib.suppress(ImportError):
            __import__(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            answers.close()
            return exit_code_of(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    return 0


def exit_code_of(request: Mapping[str, Any]) -> int:
    """Run a program in this process as the interpreter does."""
    signal.alarm(request["timeout"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:0] = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.argv[:] = ["-c", *request["arguments"]]
    take_streams(request["streams"])
    try:
        exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        return ended_with(end)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def take_streams(paths: Sequence[str]) -> None:
    """Let stdin be empty, and write stdout and stderr to these files."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False))
    for number, path in enumerate(paths, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        os.fdopen(2, "wb", closefd=False), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def ended_with(end: SystemExit) -> int:
    """Exit code of a program that raised this."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
