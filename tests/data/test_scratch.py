# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scratch files: what is read is what was written, nobody else can open them, and nothing of them is left."""

import errno
import gc
import os
import resource
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dperm.data import scratch
from dperm.data.grid_rows import GridRows, RowGrid
from dperm.data.scratch import ScratchFile, ScratchWriter
from dperm.data.space import FeatureSpace
from dperm.errors import DataError, ParameterError

GRID = RowGrid(FeatureSpace(5, norm=1.0))
RNG = np.random.default_rng(3)
LINKS = Path("/proc/self/fd")


def rows_of(count, *, codes="i1", is_sparse=False):
    cells = RNG.integers(-9, 9, (count, 5)).astype(np.float32)
    lengths = RNG.random(count, dtype=np.float32)
    whole = sparse.csr_array(cells) if is_sparse else cells
    return GridRows(GRID, whole, lengths, RNG.integers(-1, 2, count).astype(codes))


def same(found, rows):
    dense = [part.cells.toarray() if part.is_sparse else part.cells for part in (found, rows)]
    np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(found.lengths, rows.lengths)
    np.testing.assert_array_equal(found.codes, rows.codes)
    assert found.grid is rows.grid and found.codes.dtype == rows.codes.dtype and found.is_sparse == rows.is_sparse


@pytest.fixture
def file(tmp_path):
    found = ScratchFile(tmp_path)
    yield found
    found.close()


@pytest.fixture(params=["no name", "name for an instant"])
def kernel(request, monkeypatch):
    """A system with files without a name, and one where the file system has none."""
    if request.param == "no name":
        return
    unchanged = os.open

    def opened(path, flags, *mode, **options):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not supported")
        return unchanged(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", opened)


@pytest.mark.parametrize("codes", ["i1", "i2", "f8"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_are_read_as_they_were_written(file, codes, is_sparse, monkeypatch):
    monkeypatch.setattr(scratch, "STORED_ROWS", 4)
    groups = []
    for name, sizes in (("a", [9, 0, 3]), ("b", []), ("c", [1, 4])):
        writer, parts = ScratchWriter(file), [rows_of(size, codes=codes, is_sparse=is_sparse) for size in sizes]
        for part in parts:
            writer.add(part)
        groups.append((writer.group(name, sum(sizes), 7, frozenset("x")), parts))
    for group, parts in groups:
        starts, chunks = zip(*group.chunks(), strict=True) if parts else ((), ())
        assert [0, *np.cumsum([chunk.count for chunk in chunks])] == [*starts, group.rows]
        assert max([chunk.count for chunk in chunks], default=0) <= 4
        left = list(chunks)
        for part in parts:
            for start in range(0, part.count, 4):
                same(left.pop(0), part.part(start, start + 4))
        assert not left and (group.checksum, group.problems) == (7, {"x"})


def test_an_earlier_chunk_is_not_overwritten_by_a_later_one(file, monkeypatch):
    monkeypatch.setattr(scratch, "STORED_ROWS", 2)
    writer, rows = ScratchWriter(file), rows_of(8)
    writer.add(rows)
    for start, chunk in list(writer.group("a", 8, 0, frozenset()).chunks()):
        same(chunk, rows.part(start, start + 2))


@pytest.mark.usefixtures("kernel")
def test_the_file_has_no_name_and_one_owner(tmp_path):
    before = os.umask(0)
    try:
        file = ScratchFile(tmp_path)
    finally:
        os.umask(before)
    file.append([np.arange(10)])
    assert list(tmp_path.iterdir()) == []
    found = os.fstat(file.fileno())
    assert stat.S_IMODE(found.st_mode) == 0o600 and found.st_nlink == 0
    assert not os.get_inheritable(file.fileno())
    if LINKS.exists():
        assert os.readlink(LINKS / str(file.fileno())).endswith(" (deleted)")
    file.close()


def test_nothing_is_left_by_a_process_that_is_killed(tmp_path):
    code = (
        "import os, sys, numpy as np\n"
        "from dperm.data.scratch import ScratchFile\n"
        "file = ScratchFile(sys.argv[1])\n"
        "file.append([np.full(2**20, 31415.0)])\n"
        "print(file.fileno(), os.fstat(file.fileno()).st_size, flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], **pipes) as child:
        descriptor, size = child.stdout.readline().split()
        assert int(size) == 2**23
        link = Path(f"/proc/{child.pid}/fd/{descriptor}")
        if LINKS.exists():
            assert os.readlink(link).startswith(str(tmp_path)) and os.readlink(link).endswith(" (deleted)")
        assert list(tmp_path.iterdir()) == []
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_a_forgotten_file_is_closed(tmp_path):
    file = ScratchFile(tmp_path)
    descriptor = file.fileno()
    del file
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_threads_write_beside_each_other(file):
    arrays = [np.full(1 + place % 7 * 1000, place, dtype=np.int16) for place in range(200)]
    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(lambda array: file.append([array, array[:1]]), arrays))
        found = list(pool.map(file.read, stored))
    for array, (first, second) in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(first, array)
        np.testing.assert_array_equal(second, array[:1])


def test_short_writes_and_reads_are_continued(file, monkeypatch):
    arrays = [np.arange(100), np.arange(50, dtype=np.int8), np.empty((0, 3)), np.arange(7.0)]
    write, read = os.pwritev, os.preadv
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, at: write(fd, [buffers[0][:13]], at))
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, at: read(fd, [part[:801] for part in buffers[:2]], at))
    for array, found in zip(arrays, file.read(file.append(arrays)), strict=True):
        np.testing.assert_array_equal(found, array)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)


@pytest.mark.parametrize(("code", "words"), [(errno.ENOSPC, "free space"), (errno.EIO, "writable"), (0, "free space")])
def test_a_full_disk_is_an_error_about_the_folder(file, code, words, monkeypatch):
    def refused(*arguments):
        if code:
            raise OSError(code, "31415")
        return 0

    monkeypatch.setattr(os, "pwritev", refused)
    with pytest.raises(ParameterError) as error:
        file.append([np.full(3, 31415.0)])
    assert str(error.value).startswith("scratch must be ") and words in str(error.value)
    assert "31415" not in str(error.value) and error.value.__context__ is None


def test_the_limit_of_the_system_on_file_sizes_is_a_full_disk(tmp_path):
    code = (
        "import signal, sys, numpy as np\n"
        "from dperm.data.scratch import ScratchFile\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "file = ScratchFile(sys.argv[1])\n"
        "file.append([np.zeros(1000)])\n"
        "file.append([np.zeros(100_000)])\n"
    )
    limit = 100_000
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ParameterError: scratch must be on a disk with enough free space" in done.stderr


def test_lost_content_is_an_error(file):
    stored = file.append([np.arange(100)])
    os.ftruncate(file.fileno(), 300)
    with pytest.raises(DataError, match=r"the scratch file in .* cannot be read"):
        file.read(stored)


@pytest.mark.usefixtures("kernel")
def test_a_folder_without_files_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for folder in ("no folder", "file"):
        with pytest.raises(ParameterError, match="scratch must be a folder for files; the system says"):
            ScratchFile(tmp_path / folder)
