# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of the kernels to a library for this machine, stored in the user's cache.

Each file in the cache ends with the digest of its content and is written atomically. Concurrent compilations do not
interfere, and a truncated file is compiled again.
"""

import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from ctypes import CDLL
from pathlib import Path

from dperm.errors import AssumptionError

SOURCES = Path(__file__).parent / "source"
"""Directory of the C++ sources."""
FLAGS = ("-O3", "-march=native", "-std=c++17", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
"""Compiler flags. No -ffast-math: NaN must stay NaN."""
PROCESSOR = Path("/proc/cpuinfo")
"""File with the features of the processor."""
PATIENCE = 120.0
"""Time limit for the compiler in seconds."""
DIGEST = hashlib.sha256().digest_size
"""Length of a digest in bytes."""


def library() -> CDLL:
    """Return the kernels, from the cache or from the compiler.

    Raises
    ------
    AssumptionError
        If no kernels are available on this machine; the message states the reason.
    """
    compiler = _compiler()
    name = f"{_key(compiler)}.so"
    try:
        kept = _own_directory() / name
        if not _is_whole(kept):
            _put(_compiled(compiler), kept)
        return CDLL(str(kept))
    except (OSError, RuntimeError):  # no writable cache, or no home directory
        with tempfile.TemporaryDirectory() as directory:
            _put(_compiled(compiler), path := Path(directory) / name)
            return _loaded(path)


def _compiler() -> tuple[str, ...]:
    """Return the path of the compiler and the options in CXX."""
    wanted, *options = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    found = shutil.which(wanted)
    if found is None:
        raise AssumptionError(f"there is no C++ compiler {wanted!r}")
    return found, *options


def _key(compiler: tuple[str, ...]) -> str:
    """Return a digest of all inputs of the compilation: sources, flags, compiler and processor."""
    if not PROCESSOR.exists():
        raise AssumptionError("the kind of processor is not known")
    lines = PROCESSOR.read_text(errors="replace").splitlines()
    kinds = sorted({line for line in lines if line.lower().startswith(("flags", "features", "model name", "cpu part"))})
    about = os.stat(compiler[0])
    parts = [*FLAGS, os.path.realpath(compiler[0]), *compiler[1:], str(about.st_size), str(about.st_mtime_ns), *kinds]
    parts += [path.read_text() for path in sorted(SOURCES.iterdir()) if path.suffix in (".cpp", ".h")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _own_directory() -> Path:
    """Return the cache directory. Its files are executed, so no other user may write to it or replace it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    parent = Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = parent / "dperm"
    path.mkdir(mode=0o700, exist_ok=True)
    _require_own(path)
    for above in path.resolve().parents:
        about = above.stat()
        others_write = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not about.st_mode & stat.S_ISVTX
        if others_write or about.st_uid not in (0, os.getuid()):
            raise PermissionError(f"{above}, above {path}, can be written to by others")
    return path


def _require_own(path: Path) -> None:
    """Refuse symbolic links, and files that other users own or can write to."""
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path} can be written to by others")


def _is_whole(path: Path) -> bool:
    """Return whether the file exists, belongs to this user and ends with its digest."""
    try:
        _require_own(path)
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    return len(content) > DIGEST and hashlib.sha256(content[:-DIGEST]).digest() == content[-DIGEST:]


def _put(content: bytes, path: Path) -> None:
    """Write a file and its digest atomically."""
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content + hashlib.sha256(content).digest())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _loaded(path: Path) -> CDLL:
    try:
        return CDLL(str(path))
    except OSError as error:
        raise AssumptionError(f"the compiled kernels cannot be loaded: {error}") from None


def _compiled(compiler: tuple[str, ...]) -> bytes:
    """Compile the library and return its bytes."""
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / "kernels.so"
        sources = [str(path) for path in sorted(SOURCES.glob("*.cpp"))]
        try:
            subprocess.run(
                [*compiler, *FLAGS, *sources, "-o", str(made)],
                check=True,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE,
            )
            return made.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or b"").decode(errors="replace").splitlines()
            why = f"{type(error).__name__}{': ' + said[0][:200] if said else ''}"
            raise AssumptionError(f"the kernels could not be compiled: {why}") from None
