# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compressed CSV files: the content is that of the plain file, and what is watched is the file as stored."""

import bz2
import gzip
import io
import lzma
import os
import zipfile

import pytest

from dperm.data import Numeric, byte_streams
from dperm.data.files import read_raw_table, read_table, require_writable, table_file
from dperm.errors import DataError, ParameterError

DECLARED = {"a": Numeric(0, 10), "b": Numeric(0, 10)}
TEXT = b"a,b\n" + b"".join(b"%d,%d\n" % (place % 7, place) for place in range(3000))


def zipped(content, names=("t.csv",), kind=zipfile.ZIP_DEFLATED):
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", kind) as archive:
        for name in names:
            archive.writestr(name, content)
    return stored.getvalue()


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


@pytest.fixture(params=COMPRESS)
def suffix(request, monkeypatch):
    monkeypatch.setattr(byte_streams, "BLOCK", 512)
    return request.param


def stored(tmp_path, suffix, content=TEXT):
    path = tmp_path / f"t.CSV{suffix}"
    path.write_bytes(COMPRESS[suffix](content))
    return path


def test_a_compressed_file_is_read_as_the_plain_one(tmp_path, suffix):
    (tmp_path / "t.csv").write_bytes(TEXT)
    plain, path = read_table(tmp_path / "t.csv", DECLARED), stored(tmp_path, suffix)
    seen, shares = bytearray(), []
    found = read_table(path, DECLARED, shares.append, seen.extend)
    assert all(found[name].tolist() == plain[name].tolist() for name in DECLARED)
    assert seen == path.read_bytes()
    assert shares == sorted(shares) and 0 < shares[0] <= shares[-1] <= 1
    assert table_file(path).types() == {"a": "", "b": ""}
    assert read_raw_table(path, ["b"])["b"].numbers.tolist() == plain["b"].tolist()


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"], indirect=True)
def test_all_streams_of_a_file_are_read(tmp_path, suffix):
    path, compress = tmp_path / f"t.csv{suffix}", COMPRESS[suffix]
    path.write_bytes(compress(b"a,b\n1,2\n") + compress(b"3,4\n") + b"\0" * (0 if suffix == ".bz2" else 8))
    seen = bytearray()
    assert read_table(path, DECLARED, watch=seen.extend)["b"].tolist() == [2.0, 4.0]
    assert seen == path.read_bytes()


def test_a_damaged_file_is_refused_without_content(tmp_path, suffix):
    whole = stored(tmp_path, suffix).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for content in (b"", b"a,b\n1,2\n", whole[:-9], bytes(flipped), whole[: len(whole) // 2], whole + b"more"):
        if suffix == ".zip" and content.endswith(b"more"):
            continue  # a comment
        path = tmp_path / f"t.csv{suffix}"
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"must be a (complete|zip)|it is empty") as caught:
            read_table(path, DECLARED)
        assert caught.value.__context__ is None


def test_zip_archives_have_one_csv_file(tmp_path):
    path = tmp_path / "t.csv.zip"
    for names in ((), ("a.csv", "b.csv"), ("a.txt",), ("a/", "a/t.csv")):
        path.write_bytes(zipped(b"a,b\n1,2\n", names))
        with pytest.raises(DataError, match="exactly one member") as caught:
            table_file(path).types()
        assert "a.txt" not in str(caught.value)
    path.write_bytes(zipped(b"a,b\n1,2\n", kind=zipfile.ZIP_LZMA))
    with pytest.raises(DataError, match="deflate or bzip2"):
        table_file(path).types()
    encrypted = bytearray(zipped(b"a,b\n1,2\n"))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(encrypted)
    with pytest.raises(DataError, match="without a password"):
        table_file(path).types()


def test_content_that_expands_beyond_all_tables_is_refused(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(byte_streams, "FREE_SIZE", 2**16)
    path = stored(tmp_path, suffix, b"a,b\n" + b"1,2\n" * 2**19)
    with pytest.raises(DataError, match="times as large"):
        read_raw_table(path, ["a"])


def test_xz_files_that_need_much_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_streams, "_XZ_MEMORY", 2**20)
    with pytest.raises(DataError, match="must be a complete"):
        read_table(stored(tmp_path, ".xz"), DECLARED)


def test_another_archive_in_its_place_is_not_read(tmp_path, suffix):
    path, other = stored(tmp_path, suffix), tmp_path / "other"
    other.write_bytes(COMPRESS[suffix](b"a,b\n8,9\n"))
    before, seen = path.read_bytes(), bytearray()

    def replaced(block):
        seen.extend(block)
        if other.exists():
            os.replace(other, path)

    assert len(read_table(path, DECLARED, watch=replaced)["a"]) == 3000
    assert seen == before != path.read_bytes()


def test_a_zip_archive_written_meanwhile_is_noticed(tmp_path):
    path = stored(tmp_path, ".zip")
    with pytest.raises(DataError, match="changed while it was read"):
        read_table(path, DECLARED, lambda share: os.utime(path, ns=(1, 1)))


def test_no_compressed_output_is_written(tmp_path):
    with pytest.raises(ParameterError, match="no compressed CSV"):
        require_writable("-o", tmp_path / "t.csv.gz")
