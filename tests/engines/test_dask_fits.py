# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fits on workers that are killed: the same model, one draw of noise, one charge; or nothing, and a burned charge."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dperm import ApproxDP, Ledger
from dperm.data import bounded, table
from dperm.data.large_tables import Table
from dperm.data.passes import TablePasses
from dperm.engines import DaskEngine
from dperm.errors import DataError
from dperm.noise.simulation import NotPrivateBits
from dperm.sklearn import PrivateLogisticRegression

SECRET = 987654.25
LIMIT = ApproxDP(3.0, 1e-5, "replace_one")
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as found,
    ):
        yield found


def rows(count: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(14)
    X = rng.uniform(-1, 1, size=(count, 4))
    return X, (X.sum(axis=1) + rng.logistic(size=count) > 0).astype(int)


def model(**options: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        epsilon=1.0, delta=1e-6, bounds=[(-1, 1)] * 4, classes=[0, 1], random_state=7, **options
    )


def people(folder: Any, engine: Any) -> Table:
    X, y = rows()
    for place, part in enumerate(np.array_split(np.column_stack([X, y]), [100, 3000, 3000, 5000])):
        np.save(folder / f"part-{place}.npy", part)
    return table(folder / "*.npy", engine=engine)


def opened(folder: Any) -> Ledger:
    return Ledger.open(folder / "people.ledger", LIMIT, blocks=4, dataset="people", unit="person")


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of a seventh of the rows, so that the solver needs several passes."""
    monkeypatch.setattr(bounded, "SAMPLE_CELLS", (2**10, 4000))


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All streams of noise that a fit opens."""
    found, plain = [], NotPrivateBits.stream

    def stream(bits: NotPrivateBits, *arguments: Any, **options: Any) -> Any:
        found.append(plain(bits, *arguments, **options))
        return found[-1]

    monkeypatch.setattr(NotPrivateBits, "stream", stream)
    return found


def events(ledger: Ledger) -> list[str]:
    return [str(entry.kind.value) for entry in ledger.entries()]


def on_pass(monkeypatch: pytest.MonkeyPatch, number: int, act: Any) -> list[int]:
    """Call ``act`` before the pass of this number; return the numbers of all passes."""
    passes, plain = [], TablePasses._answers

    def answers(found: TablePasses, kernel: Any) -> Any:
        passes.append(len(passes))
        if passes[-1] == number:
            act()
        return plain(found, kernel)

    monkeypatch.setattr(TablePasses, "_answers", answers)
    return passes


def kill_one(client: Any) -> None:
    """Kill a worker, and wait until the cluster has two again."""
    workers = client.run(os.getpid)
    os.kill(next(iter(workers.values())), signal.SIGKILL)


@pytest.mark.parametrize("number", range(5))
def test_a_worker_killed_at_a_pass_changes_neither_bits_nor_charge(number, client, tmp_path, monkeypatch, streams):
    """T206: the manifest, the sample, and all passes of the solver in turn."""
    X, y = rows()
    expected = model().fit(X, y).coef_
    drawn = len(streams)
    ledger = opened(tmp_path)
    passes = on_pass(monkeypatch, number, lambda: kill_one(client))
    fitted = model(ledger=ledger).fit(people(tmp_path, DaskEngine(client)), "x4")
    assert passes[-1] >= number
    assert np.array_equal(fitted.coef_, expected)
    assert len(streams) - drawn == drawn
    assert events(ledger) == ["open", "reserve", "commit"]
    deadline = time.monotonic() + 20
    while len(client.scheduler_info()["workers"]) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)


class Held:
    """Row groups of the serial engine, whose answers of one pass are changed."""

    def __init__(self, held: Any, change: Any, number: int) -> None:
        self.held, self.change, self.number, self.passes = held, change, number, 0

    def run(self, task: Any) -> Any:
        self.passes += 1
        answers = list(self.held.run(task))
        return self.change(answers) if self.passes == self.number else answers

    def close(self) -> None:
        self.held.close()


class Lying:
    name = "lying"

    def __init__(self, change: Any, number: int) -> None:
        self.change, self.number = change, number

    def hold(self, encode: Any, groups: Any) -> Held:
        from dperm.data.local_engines import SerialEngine

        return Held(SerialEngine().hold(encode, groups), self.change, self.number)


def without_one(answers: list[Any]) -> list[Any]:
    return answers[:1] + answers[2:]


def with_fewer_rows(answers: list[Any]) -> list[Any]:
    from dataclasses import replace

    return [replace(answers[0], rows=answers[0].rows - 1), *answers[1:]]


def with_another_content(answers: list[Any]) -> list[Any]:
    from dataclasses import replace

    return [*answers[:2], replace(answers[2], checksum=answers[2].checksum ^ 1), *answers[3:]]


@pytest.mark.parametrize("number", [2, 3, 4], ids=["sample", "first gradient", "second gradient"])
@pytest.mark.parametrize("change", [without_one, with_fewer_rows, with_another_content])
def test_a_row_group_that_is_missing_or_changed_burns_the_charge(change, number, tmp_path):
    ledger = opened(tmp_path)
    found = model(ledger=ledger)
    with pytest.raises(DataError, match=r"row group 'part-\d.npy.*'") as caught:
        found.fit(people(tmp_path, Lying(change, number)), "x4")
    assert not hasattr(found, "coef_")
    assert events(ledger) == ["open", "reserve", "burn"]
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_repeated_answers_change_nothing(tmp_path):
    X, y = rows()
    expected = model().fit(X, y).coef_
    fitted = model().fit(people(tmp_path, Lying(lambda answers: [*answers, *answers[::-1]], 3)), "x4")
    assert np.array_equal(fitted.coef_, expected)


def test_without_workers_a_fit_burns_its_charge(tmp_path, monkeypatch):
    from distributed import Client, LocalCluster

    ledger = opened(tmp_path)
    found = model(ledger=ledger)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        passes = on_pass(monkeypatch, 2, lambda: cluster.scale(0))
        with pytest.raises(DataError, match="row group 'part-"):
            found.fit(people(tmp_path, DaskEngine(client, patience=2)), "x4")
    assert len(passes) == 3
    assert events(ledger) == ["open", "reserve", "burn"]


def test_no_cell_is_in_an_error_of_a_table(client, tmp_path):
    X, y = rows(1000)
    X[700, 2] = np.nan
    X[701, 3] = SECRET
    np.save(tmp_path / "part-0.npy", np.column_stack([X, y]))
    with pytest.raises(DataError, match=r"column 'x2' of row group 'part-0.npy") as caught:
        model().fit(table(tmp_path / "*.npy", engine=DaskEngine(client)), "x4")
    logs = str(client.get_worker_logs()) + str(client.get_scheduler_logs()) + str(caught.value)
    assert str(SECRET)[:6] not in logs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_a_worker_killed_at_a_random_moment_changes_neither_bits_nor_charge(seed, client, tmp_path, streams):
    import threading

    X, y = rows()
    expected = model().fit(X, y).coef_
    ledger = opened(tmp_path)
    killer = threading.Timer(np.random.default_rng(seed).uniform(0, 1.5), kill_one, (client,))
    killer.start()
    fitted = model(ledger=ledger).fit(people(tmp_path, DaskEngine(client)), "x4")
    killer.join()
    assert np.array_equal(fitted.coef_, expected)
    assert events(ledger) == ["open", "reserve", "commit"]
    while len(client.scheduler_info()["workers"]) < 2:
        time.sleep(0.05)
