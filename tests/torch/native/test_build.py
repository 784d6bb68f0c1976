# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of the kernels: once, atomically, and only into directories that no other user can write to."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys

import pytest
import torch
from torch_training import attached, loss_of, model_of, plan_of

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError
from dperm.torch.native import build, kernels

needs_a_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler")


really_compiled = build._compiled


@functools.cache
def compiled_once(compiler):
    """The compiler runs for the first test; the others get the same library from it."""
    return really_compiled(compiler)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv(kernels.SWITCH, raising=False)
    monkeypatch.setattr(build, "_compiled", compiled_once)
    kernels._load.cache_clear()
    yield tmp_path / "dperm"
    kernels._load.cache_clear()


def refuse(compiler: str) -> bytes:
    raise AssertionError("compiled again")


@needs_a_compiler
def test_what_is_in_the_cache_is_not_compiled_again(own_cache, monkeypatch):
    build.library()
    (kept,) = own_cache.iterdir()
    assert kept.suffix == ".so"
    monkeypatch.setattr(build, "_compiled", refuse)
    assert build.library().dperm_normals


@needs_a_compiler
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[: len(data) // 2], lambda data: b""])
def test_a_file_that_is_not_whole_is_compiled_anew(own_cache, damage):
    build.library()
    (kept,) = own_cache.iterdir()
    whole = kept.read_bytes()
    kept.unlink()  # it is loaded here: another file takes its place
    kept.write_bytes(damage(whole))
    assert build.library().dperm_normals
    assert build._is_whole(kept)


@needs_a_compiler
def test_a_whole_file_that_is_no_library_is_not_used(own_cache):
    own_cache.mkdir(mode=0o700)
    content = b"something else"
    name = f"{build._key(build._compiler())}.so"
    (own_cache / name).write_bytes(content + hashlib.sha256(content).digest())
    assert build.library().dperm_normals


@needs_a_compiler
def test_a_directory_that_others_can_write_to_is_not_used(own_cache):
    own_cache.mkdir()
    own_cache.chmod(0o777)
    assert build.library().dperm_normals
    assert not list(own_cache.iterdir())


@needs_a_compiler
def test_without_a_place_to_keep_it_there_is_a_library_for_this_process(own_cache):
    own_cache.write_text("a file in the place of the directory")
    assert build.library().dperm_normals


@needs_a_compiler
def test_other_sources_flags_or_processors_are_another_library(monkeypatch, tmp_path):
    compiler, names = build._compiler(), []
    names.append(build._key(compiler))
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-g"))
    names.append(build._key(compiler))
    (tmp_path / "cpuinfo").write_text("flags : none\n")
    monkeypatch.setattr(build, "PROCESSOR", tmp_path / "cpuinfo")
    names.append(build._key(compiler))
    shutil.copytree(build.SOURCES, tmp_path / "source")
    (tmp_path / "source" / "lanes.h").write_text("// other")
    monkeypatch.setattr(build, "SOURCES", tmp_path / "source")
    names.append(build._key(compiler))
    assert len(set(names)) == 4


@needs_a_compiler
def test_processes_that_compile_at_the_same_time_do_not_meet(own_cache):
    command = [
        sys.executable,
        "-c",
        "from dperm.torch.native.kernels import describe_kernels; print(describe_kernels())",
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) for _ in range(2)]
    assert [process.communicate(timeout=300)[0].strip() for process in running] == ["native kernels"] * 2
    (kept,) = own_cache.iterdir()
    assert build._is_whole(kept)


NONE = {
    "no compiler": ({"CXX": "no-such-compiler"}, "there is no C"),
    "a compiler that fails": ({"CXX": "false"}, "could not be compiled"),
    "switched off": ({kernels.SWITCH: "0"}, "is 0"),
}


@pytest.mark.parametrize(("variables", "why"), NONE.values(), ids=NONE)
def test_where_there_are_no_kernels_torch_trains(variables, why, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    model, plan = model_of(), plan_of(rate=1.0, steps=2)
    start = [value.detach().clone() for value in model.parameters()]
    with attached(plan, model) as private:
        for x, y in private:
            private.step(loss_of(model, x, y))
        shown = str(private.describe())
    assert kernels.kernels() is None
    assert shown.splitlines()[-1].startswith("no native kernels: ")
    assert why in shown
    assert not any(torch.equal(one, other) for one, other in zip(start, model.parameters(), strict=True))


def test_an_unknown_processor_has_no_kernels(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "PROCESSOR", tmp_path / "missing")
    with pytest.raises(AssumptionError, match="processor"):
        build._key((sys.executable,))


@needs_a_compiler
def test_a_directory_that_is_a_link_is_not_used(own_cache, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    own_cache.symlink_to(elsewhere)
    assert build.library().dperm_normals
    assert not list(elsewhere.iterdir())


@needs_a_compiler
def test_a_directory_below_one_that_others_can_write_to_is_not_used(own_cache):
    own_cache.parent.chmod(0o777)
    assert build.library().dperm_normals
    assert not list(own_cache.iterdir())
    own_cache.parent.chmod(0o1777)  # where nobody can exchange what another one made
    build.library()
    assert len(list(own_cache.iterdir())) == 1


@needs_a_compiler
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_not_loaded(own_cache, monkeypatch):
    build.library()
    (kept,) = own_cache.iterdir()
    os.chown(kept, 12345, 12345)
    monkeypatch.setattr(build, "CDLL", lambda path: path)
    assert build.library() != str(kept)


@needs_a_compiler
def test_options_of_the_compiler_are_taken_and_an_empty_name_means_the_usual_one(monkeypatch):
    usual = build._compiler()
    monkeypatch.setenv("CXX", "")
    assert build._compiler() == usual
    monkeypatch.setenv("CXX", "g++ -O2")
    assert build._compiler() == (*usual, "-O2")
    assert build._key(build._compiler()) != build._key(usual)
    assert build.library().dperm_normals


def out_of_room(compiler: tuple[str, ...]) -> bytes:
    raise OSError(28, "No space left on device")


BROKEN = {
    "no room for the compiler": ("_compiled", out_of_room),
    "a library of something else": ("library", lambda: object()),
}


@needs_a_compiler
@pytest.mark.parametrize(("name", "instead"), BROKEN.values(), ids=BROKEN)
def test_whatever_goes_wrong_with_the_kernels_torch_trains(name, instead, monkeypatch):
    monkeypatch.setattr(kernels if name == "library" else build, name, instead)
    assert kernels.kernels() is None
    assert kernels.describe_kernels().startswith("no native kernels: they could not be")
    model, plan = model_of(), plan_of(rate=1.0, steps=1)
    with attached(plan, model) as private:
        for x, y in private:
            assert private.step(loss_of(model, x, y))


def test_kernels_are_compiled_before_anything_is_charged(monkeypatch):
    """Interrupting the compiler costs no budget."""

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "library", interrupted)
    budget = MemoryBudget(ApproxDP(9.0, 1e-2, "add_remove"), blocks=5)
    model = model_of()
    with pytest.raises(KeyboardInterrupt), attached(plan_of(), model, ledger=budget):
        raise AssertionError("it was entered")
    assert budget.spent["epsilon"] == 0
