# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The journal of a run: durable before a draw, held by one process, and read safely whatever a crash left of it."""

import errno
import os

import pytest
from torch_spies import watch_noise
from torch_training import attached, loss_of, model_of, plan_of

from dperm.errors import ModelFormatError, ParameterError
from dperm.torch.journal import Journal


@pytest.fixture
def path(tmp_path):
    Journal(tmp_path, "run", create=True).close()
    return tmp_path / "dperm-run.journal"


def read(path) -> int:
    journal = Journal(path.parent, "run", create=False)
    journal.close()
    return journal.covered


def test_the_last_line_counts(path):
    assert read(path) == 0
    journal = Journal(path.parent, "run", create=False)
    for draws in (3, 12, 7):
        journal.cover(draws)
        assert journal.covered == draws
    journal.close()
    assert read(path) == 7


@pytest.mark.parametrize("torn", [b"1", b"12", b"9999"])
def test_a_line_that_was_torn_counts_for_nothing_and_spoils_no_other(torn, path):
    path.write_bytes(b"3\n12\n" + torn)
    journal = Journal(path.parent, "run", create=False)
    assert journal.covered == 12
    journal.cover(13)
    journal.close()
    assert path.read_bytes() == b"3\n12\n13\n"


@pytest.mark.parametrize("damage", [b"3\nx\n", b"-4\n", b"1.5\n", b"\xff\n"])
def test_damaged_journals_are_refused_and_let_go(damage, path):
    path.write_bytes(damage)
    for _ in range(2):
        with pytest.raises(ModelFormatError, match="damaged"):
            read(path)


def test_one_process_holds_it(path):
    journal = Journal(path.parent, "run", create=False)
    with pytest.raises(ParameterError, match="under way"):
        read(path)
    journal.close()
    assert read(path) == 0


def test_only_its_owner_reads_it(path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_is_not_written_whole_is_an_error(path, monkeypatch):
    journal = Journal(path.parent, "run", create=False)
    journal.cover(3)
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:1]))
    with pytest.raises(OSError, match="not written completely") as caught:
        journal.cover(120)
    assert caught.value.errno == errno.ENOSPC
    assert journal.covered == 3
    monkeypatch.undo()
    journal.close()
    assert read(path) == 3


def test_every_draw_is_durable_before_it_happens(tmp_path, monkeypatch):
    """At each draw the journal on disk, synced since its last change, covers it."""
    plan, model, synced, seen = plan_of(steps=6), model_of(), [0], []
    sync = os.fsync

    def synchronised(file):
        sync(file)
        (journal,) = tmp_path.glob("*.journal")
        synced[0] = journal.stat().st_size

    def before(noise, sums, stream):
        for journal in tmp_path.glob("*.journal"):
            lines = journal.read_bytes()[: synced[0]].split()
            seen.append((private.update.draws, int(lines[-1])))

    monkeypatch.setattr(os, "fsync", synchronised)
    watch_noise(monkeypatch, before)
    with attached(plan, model) as private:
        for x, y in private:
            if private.step(loss_of(model, x, y)) and private.steps_taken == 2:
                private.save(tmp_path / "run.pt")
    assert [draws for draws, _ in seen] == [3, 4, 5, 6]
    assert all(covered >= draws for draws, covered in seen)


def test_a_full_disk_stops_the_run_before_the_draw(tmp_path, monkeypatch):
    plan, model = plan_of(), model_of()
    with pytest.raises(OSError, match="full"), attached(plan, model) as private:
        for x, y in private:
            losses = loss_of(model, x, y)
            if private.steps_taken == 2:
                monkeypatch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError("full")))
            private.step(losses)
            if private.steps_taken == 2:
                private.save(tmp_path / "run.pt")
    assert private.update.draws == 2
