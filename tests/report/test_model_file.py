# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files of models are written whole, and read only if they are ours, undamaged and of a known format."""

import json
import os
import pickle
import zipfile
from importlib.metadata import version

import numpy as np
import pytest

from dperm.errors import ModelFormatError
from dperm.report import model_file
from dperm.report.model_file import ModelFile, read_model, write_model

MODEL = ModelFile("Kind", {"words": ["ä", None, True], "number": 0.1}, {"a": np.array([1.5, -2.0]), "b": np.empty(0)})


def rewritten(path, **changes) -> None:
    """The file with parts of its header changed."""
    with np.load(path) as file:
        members = dict(file)
    header = json.loads(members["header"].tobytes()) | changes
    header = {name: value for name, value in header.items() if value is not None}
    members["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **members)


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "model", MODEL)
    return tmp_path / "model"


def test_a_model_comes_back(path):
    again = read_model(path)
    assert (again.kind, again.data) == (MODEL.kind, MODEL.data)
    assert again.arrays.keys() == MODEL.arrays.keys()
    assert all((again.arrays[name] == MODEL.arrays[name]).all() for name in MODEL.arrays)
    assert read_model(str(path)).data == MODEL.data


def test_a_newer_format_is_refused(path):
    rewritten(path, format=model_file.FORMAT + 1)
    with pytest.raises(ModelFormatError, match=r"format 4.*up to 3.*Upgrade dperm"):
        read_model(path)


@pytest.mark.parametrize("form", [1, 2])
def test_an_older_format_is_read(path, form):
    rewritten(path, format=form, dperm=None)
    assert read_model(path).data == MODEL.data and read_model(path).form == form


def test_a_file_says_which_version_wrote_it(path):
    with np.load(path) as file:
        assert json.loads(file["header"].tobytes())["dperm"] == version("dperm")
    assert read_model(path).form == model_file.FORMAT


@pytest.mark.parametrize(
    "changes",
    [
        {"magic": "other"},
        {"format": 0},
        {"format": True},
        {"format": "1"},
        {"kind": 3},
        {"arrays": []},
        {"data": None},
        {"dperm": None},
        {"dperm": 3},
        {"format": 2},
        {"more": 1},
    ],
    ids=str,
)
def test_a_header_that_is_not_ours_is_refused(path, changes):
    rewritten(path, **changes)
    with pytest.raises(ModelFormatError, match=r"cannot read a model from .*header"):
        read_model(path)


@pytest.mark.parametrize(
    "arrays", [{"a": [2]}, {"a": [3], "b": [0]}, {"a": [2], "b": [0], "c": [1]}, {"a": 1}], ids=str
)
def test_arrays_have_the_shapes_that_the_header_names(path, arrays):
    rewritten(path, arrays=arrays)
    with pytest.raises(ModelFormatError, match="shapes"):
        read_model(path)


@pytest.mark.parametrize(
    "array", [np.array([np.nan]), np.array([-np.inf]), np.array([1], dtype=np.float32), np.array(["text"])], ids=str
)
def test_arrays_hold_finite_doubles(tmp_path, array):
    write_model(tmp_path / "m", ModelFile("Kind", {}, {"a": array}))
    with pytest.raises(ModelFormatError, match="a is not an array of finite doubles"):
        read_model(tmp_path / "m")


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 broken"])
def test_foreign_files_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"cannot read a model from .*damaged"):
        read_model(tmp_path / "m")


def test_an_archive_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "m.npz", a=np.zeros(3))
    with pytest.raises(ModelFormatError, match="lacks the header"):
        read_model(tmp_path / "m.npz")


def test_nothing_is_ever_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    np.savez(tmp_path / "m.npz", header=np.array([Bomb()], dtype=object))
    (tmp_path / "p").write_bytes(pickle.dumps(Bomb()))
    for name in ("m.npz", "p"):
        with pytest.raises(ModelFormatError):
            read_model(tmp_path / name)
    assert not (tmp_path / "exploded").exists()


def test_every_damaged_byte_is_noticed_or_harmless(path):
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            again = read_model(path)
        except ModelFormatError:
            continue
        assert again.data == MODEL.data and (again.arrays["a"] == MODEL.arrays["a"]).all()


def test_a_truncated_file_is_refused(path):
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ModelFormatError):
        read_model(path)


def test_a_part_that_would_fill_the_memory_is_refused(path, monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST", 100)
    with pytest.raises(ModelFormatError, match="damaged"):
        read_model(path)
    with zipfile.ZipFile(path) as archive:
        assert max(info.file_size for info in archive.infolist()) > 100


def repacked(path, packing, **added) -> None:
    """The same members in another zip file, with others beside them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | added
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_packed_part_is_refused_before_it_is_unpacked(path):
    repacked(path, zipfile.ZIP_STORED)
    assert read_model(path).data == MODEL.data
    repacked(path, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFormatError, match="damaged") as caught:
        read_model(path)
    assert "compressed" in str(caught.value.__cause__)


@pytest.mark.parametrize("name", ["other", "header", "a"])
def test_a_part_that_is_no_array_or_twice_is_refused(path, name):
    repacked(path, zipfile.ZIP_STORED, **{name: b"hello"})
    with pytest.raises(ModelFormatError, match="damaged"):
        read_model(path)


def test_a_header_is_not_parsed_if_it_is_large_for_its_arrays(path, monkeypatch):
    rewritten(path, data={"x": [{}] * 3_000_000})
    monkeypatch.setattr(model_file.json, "loads", lambda *given, **named: pytest.fail("it was parsed"))
    with pytest.raises(ModelFormatError, match="damaged"):
        read_model(path)


def test_many_features_may_have_a_large_header(tmp_path):
    large = ModelFile("Kind", {"names": ["x" * 1000] * 10_000}, {"a": np.zeros(10_000)})
    write_model(tmp_path / "m", large)
    assert read_model(tmp_path / "m").data == large.data


def test_no_more_of_a_file_is_read_than_a_model_may_have(path, monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST", path.stat().st_size)
    assert read_model(path).data == MODEL.data
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelFormatError, match="damaged"):
        read_model(path)


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "nowhere")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    before = path.read_bytes()

    def fail(file, **members):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(model_file.np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        write_model(path, MODEL)
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == ["model"]


def test_an_existing_file_is_replaced(path):
    write_model(path, ModelFile("Other", {}, {}))
    assert read_model(path).kind == "Other"


def test_what_is_not_json_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_model(tmp_path / "m", ModelFile("Kind", {"a": float("nan")}, {}))
    assert list(tmp_path.iterdir()) == []
