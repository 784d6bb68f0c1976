# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Dask engine on two processes: sums, lost workers, errors without cells, and inputs of Dask (T203, T206)."""

import copy
import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from engine_stand_ins import (
    COLUMNS,
    SECRET,
    ArrayGroup,
    Failing,
    InProcess,
    Killing,
    Moments,
    Noisy,
    Partition,
    Refusing,
    encode,
    groups,
    passes_over,
)
from scipy import sparse

from dperm.engines import DaskEngine, is_dask, row_groups_of
from dperm.errors import DataError, ParameterError


def cluster_of(workers: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import dask
    from distributed import Client

    # A cluster closes the nanny of a worker that is not there this time after a kill, also if it is killed once more.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}):
        with cluster_of(2) as cluster, Client(cluster) as client:
            yield client


def sums_of(engine: Any, table: Any, kernel: Any = None) -> dict[str, list[int]]:
    held = engine.hold(encode, table)
    found = passes_over(held, table).run(kernel or Moments())
    held.close()
    return {name: values.tolist() for name, values in found.items()}


@pytest.mark.parametrize("sizes", [[500], [0, 499, 1], [3, 0, 120, 7, 0, 31, 64, 100, 5, 1, 0, 99, 33, 20, 17, 0]])
def test_sums_are_those_of_one_process(client, sizes):
    table = groups(sizes)
    assert sums_of(DaskEngine(client), table) == sums_of(InProcess(), table)


def test_few_tasks_read_many_row_groups(client):
    held = DaskEngine(client).hold(encode, groups([5] * 40))
    shares = held._shares()
    assert len(shares) <= 2  # one for each thread, not one for each row group
    assert sorted(name for names in shares for name in names) == sorted(f"group {place}" for place in range(40))
    held.close()


def wait_for_workers(client: Any) -> None:
    """Wait until killed workers are replaced, and their nannies would replace them again."""
    client.wait_for_workers(2, timeout=30)
    deadline = time.monotonic() + 30
    while any(nanny.status.name != "running" for nanny in client.cluster.workers.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kill_holder(client: Any, held: Any, group: str) -> None:
    """Kill the worker that holds a row group."""
    os.kill(client.run(os.getpid)[held._places[group]], signal.SIGKILL)


def test_a_killed_worker_changes_nothing(client, tmp_path):
    table = groups([40, 0, 300, 41, 7])
    expected = sums_of(InProcess(), table)
    held = DaskEngine(client).hold(encode, table)
    passes = passes_over(held, table)
    found = passes.run(Killing(times=tmp_path))
    assert len(list(tmp_path.iterdir())) == 1
    again = passes.run(Moments())
    held.close()
    wait_for_workers(client)
    assert {name: values.tolist() for name, values in found.items()} == expected
    assert {name: values.tolist() for name, values in again.items()} == expected


def test_a_worker_killed_between_passes_changes_nothing(client):
    table = groups([40, 300, 41, 7])
    held = DaskEngine(client).hold(encode, table)
    passes = passes_over(held, table)
    kill_holder(client, held, "group 2")
    found = passes.run(Moments())
    held.close()
    wait_for_workers(client)
    assert {name: values.tolist() for name, values in found.items()} == sums_of(InProcess(), table)


def test_a_row_group_that_changes_when_it_is_read_again_is_refused(client):
    table = groups([4, 5, 6, 7])
    held = DaskEngine(client).hold(Noisy(), table)
    passes = passes_over(held, table)
    passes.run(Moments())
    kill_holder(client, held, "group 2")
    with pytest.raises(DataError, match=r"row group 'group \d' has changed since it was first read"):
        passes.run(Moments())
    held.close()
    wait_for_workers(client)


@pytest.mark.slow
@pytest.mark.parametrize("milliseconds", range(0, 120, 5))
def test_a_worker_killed_at_any_moment_changes_nothing(client, milliseconds):
    table = groups([40, 0, 300, 41, 7, 1000, 2])
    expected = sums_of(InProcess(), table)
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(milliseconds / 1000, os.kill, (victim, signal.SIGKILL))
    killer.start()
    held = DaskEngine(client).hold(encode, table)
    passes = passes_over(held, table)
    found = [passes.run(Moments()) for _ in range(5)]
    killer.join()
    held.close()
    wait_for_workers(client)
    assert [{name: values.tolist() for name, values in sums.items()} for sums in found] == [expected] * 5


def test_without_workers_a_pass_fails(tmp_path):
    from distributed import Client

    with cluster_of(0) as cluster, Client(cluster, set_as_default=False) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--no-nanny"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([*command, "--no-dashboard"], env=environment, stderr=subprocess.DEVNULL) as worker:
            client.wait_for_workers(1, timeout=20)
            held = DaskEngine(client, patience=1).hold(encode, groups([4, 5]))
            passes = passes_over(held, groups([4, 5]))
            started = time.monotonic()
            with pytest.raises(
                DataError, match=r"row group 'group 0' .* no running Dask worker for 1 seconds"
            ) as caught:
                passes.run(Killing(times=tmp_path))
            assert time.monotonic() - started < 20
            assert worker.wait(5) == -signal.SIGKILL
        assert caught.value.remedy
        held.close()


def allow_failures(most: int, dask_scheduler: Any = None) -> None:
    dask_scheduler.allowed_failures = most


def test_a_row_group_that_kills_every_worker_is_named(client, tmp_path):
    held = DaskEngine(client).hold(encode, groups([4]))
    client.run_on_scheduler(allow_failures, 0)
    with pytest.raises(DataError, match=r"row group 'group 0' was not processed: several Dask workers died"):
        passes_over(held, groups([4])).run(Killing(times=tmp_path, most=99))
    client.run_on_scheduler(allow_failures, 3)
    held.close()
    wait_for_workers(client)


def everything_said(error: BaseException, client: Any) -> str:
    """The exceptions behind an error with their attributes, and all logs and events of the cluster."""
    said = ["".join(traceback.TracebackException.from_exception(error, capture_locals=False).format())]
    while error is not None:
        said.append(repr(vars(error)))
        assert error.__cause__ is None
        error = error.__context__
    said += [repr(client.get_worker_logs()), repr(client.get_scheduler_logs()), repr(client.get_events())]
    said.append(repr(client.run_on_scheduler(states_of_tasks)))
    return "\n".join(said)


def states_of_tasks(dask_scheduler: Any = None) -> list[str]:
    tasks = dask_scheduler.tasks.values()
    return [f"{task!r} {task.exception_text} {task.traceback_text} {task.prefix.name}" for task in tasks]


def test_errors_on_workers_contain_no_cell(client):
    table = groups([4, 5, 6])
    held = DaskEngine(client, retries=0).hold(encode, table)
    kernel = Failing(weights=np.array([1, 2, SECRET]))
    with pytest.raises(DataError) as caught:
        passes_over(held, table).run(kernel)
    assert str(caught.value).startswith("row group 'group 1' cannot be processed: a library raised ValueError.")
    said = everything_said(caught.value, client)
    held.close()
    assert "Compute Failed" in said  # the logs that are searched are those of this failure
    assert "a library raised ValueError" in repr(client.get_worker_logs())
    assert str(SECRET) not in said


def encode_of_text(group: Any) -> Any:
    raise ValueError(f"could not convert string to float: '{SECRET}'")


def encode_of_data_error(group: Any) -> Any:
    try:
        raise ValueError(f"could not convert string to float: '{SECRET}'")
    except ValueError:
        raise DataError(f"column 'age' in row group {group.id!r} must hold numbers.")  # noqa: B904


@pytest.mark.parametrize("wrong", [encode_of_text, encode_of_data_error])
def test_errors_while_row_groups_are_encoded_contain_no_cell(client, wrong):
    with pytest.raises(DataError, match="row group 'group 0'") as caught:
        DaskEngine(client, retries=1).hold(wrong, groups([4, 5, 6]))
    said = everything_said(caught.value, client)
    assert str(SECRET) not in said


def test_a_task_with_an_error_of_another_library_is_run_again(client, tmp_path):
    table = groups([4, 5, 6])
    (tmp_path / "once").mkdir()
    (tmp_path / "twice").mkdir()
    engine = DaskEngine(client, retries=1)
    assert sums_of(engine, table, Failing(times=tmp_path / "once", most=1)) == sums_of(InProcess(), table)
    with pytest.raises(DataError, match="row group 'group 1'"):
        sums_of(engine, table, Failing(times=tmp_path / "twice", most=2))
    assert len(list((tmp_path / "twice").iterdir())) == 2


def test_errors_of_dperm_are_final(client, tmp_path):
    with pytest.raises(DataError, match="column 'age' must hold numbers"):
        sums_of(DaskEngine(client, retries=3), groups([4, 5]), Refusing(times=tmp_path, most=9))
    assert len(list(tmp_path.iterdir())) == 1


def test_a_closed_client_ends_a_pass():
    from distributed import Client

    with cluster_of(1) as cluster:
        client = Client(cluster, set_as_default=False)
        held = DaskEngine(client, patience=1).hold(encode, groups([4, 5]))
        passes = passes_over(held, groups([4, 5]))
        client.close()
        with pytest.raises(DataError, match="row group 'group 0' was not processed"):
            passes.run(Moments())
        held.close()


# --- inputs ---


def dask_frame(cuts: tuple[int, ...] = (0, 30, 30, 100), *, index: str = "0") -> Any:
    """Return a Dask frame with an empty partition and lengths that nobody knows in advance."""
    import dask.dataframe as dd

    return dd.from_map(Partition(index), list(itertools.pairwise(cuts)), meta=Partition(index)((0, 0)))


def as_groups(cuts: tuple[int, ...] = (0, 30, 30, 100)) -> list[ArrayGroup]:
    found = [Partition()(cut).to_numpy() for cut in itertools.pairwise(cuts)]
    return [ArrayGroup(f"partition {place}", cells) for place, cells in enumerate(found)]


def sums_of_dask(client: Any, X: Any, y: Any) -> dict[str, list[int]]:
    table = row_groups_of(X, y)
    assert table.columns == (*COLUMNS, "y")
    return sums_of(DaskEngine(client), table.groups)


def test_partitions_are_read_on_workers(client, monkeypatch):
    frame = dask_frame()
    features, expected = list(COLUMNS), sums_of(InProcess(), as_groups())
    lengths = frame.map_partitions(len).compute().tolist()
    assert lengths == [30, 0, 70]
    monkeypatch.setattr("dperm.engines.dask_tables.DaskBlock._computed", pytest.fail)
    array = frame[features].to_dask_array(lengths=True).rechunk((None, 2))
    assert array.chunks == ((30, 0, 70), (2, 1))
    for X, y in [
        (frame[features], frame["y"]),
        (frame[features].persist(), frame[["y"]]),
        (frame[features].values, frame["y"].values),
        (frame[features], frame["y"].values),
        (array, frame["y"].to_dask_array(lengths=True)),
    ]:
        assert sums_of_dask(client, X, y) == expected


def test_other_engines_read_partitions_as_well(client):
    frame = dask_frame()
    groups = row_groups_of(frame[list(COLUMNS)], frame["y"]).groups
    assert sums_of(InProcess(), groups) == sums_of(InProcess(), as_groups())
    assert len(next(groups[2].pieces(COLUMNS)).numbers) == 70


def test_frames_of_one_source_read_it_once(client, tmp_path):
    import dask.dataframe as dd

    cuts = list(itertools.pairwise((0, 30, 30, 100)))
    frame = dd.from_map(Partition(times=tmp_path), cuts, meta=Partition()((0, 0)))
    sums_of(DaskEngine(client), row_groups_of(frame[list(COLUMNS)], frame["y"]).groups)
    assert len(list(tmp_path.iterdir())) == len(cuts)


def test_text_and_sparse_blocks_keep_their_form(client):
    import dask.array as da
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"y": ["u", None, "v"], "n": [1, 2, 3]}), npartitions=1)
    table = row_groups_of(frame, frame["n"])
    assert table.columns == ("y", "n", "yy")
    assert table.groups[0].read(["y", "yy"])["y"].tolist() == ["u", None, "v"]
    dense = np.arange(12.0).reshape(4, 3) % 3
    blocks = da.from_array(dense, chunks=(2, 3)).map_blocks(sparse.csr_array)
    second = row_groups_of(blocks, da.ones(4, chunks=2)).groups[1]
    assert second.matrix(("x0", "x1", "x2")).toarray().tolist() == dense[2:].tolist()
    assert second.matrix(("x2",)).toarray().tolist() == dense[2:, 2:].tolist()
    assert second.read(["x1", "y"])["x1"].tolist() == dense[2:, 1].tolist()


def test_partitions_that_do_not_match_are_refused(client):
    import dask.array as da
    import dask.dataframe as dd

    frame, features = dask_frame(), list(COLUMNS)
    known = dd.from_pandas(Partition()((0, 100)), npartitions=2)
    array = da.ones((6, 3), chunks=(3, 3))
    for X, y in [
        (frame[features], dask_frame((0, 50, 100))["y"]),
        (array, da.ones(6, chunks=2)),
        (array, da.ones(6, chunks=((2, 4),))),
        (known[features], known.repartition(divisions=(0, 20, 99))["y"]),
        (array, da.ones((6, 2), chunks=(3, 2))),
        (array, np.ones(6)),
    ]:
        with pytest.raises(ParameterError, match=r"^y must "):
            row_groups_of(X, y)
    for y in [dask_frame((0, 31, 31, 100))["y"], dask_frame(index="1")["y"]]:
        with pytest.raises(DataError, match=r"row group 'partition \d' must have the same rows in X and y"):
            sums_of_dask(client, frame[features], y)


@pytest.mark.parametrize("kind", ["one column", "three axes", "unknown columns", "bag", "equal names"])
def test_other_objects_of_dask_are_refused(kind):
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd

    made = {
        "one column": lambda: da.ones(3),
        "three axes": lambda: da.ones((2, 2, 2)),
        "unknown columns": lambda: da.ones((4, 6), chunks=2)[:, da.ones(6, chunks=2) > 0],
        "bag": lambda: db.from_sequence([1]),
        "equal names": lambda: dd.from_pandas(pd.DataFrame([[1, 2]], columns=[1, "1"]), npartitions=1),
    }[kind]()
    assert is_dask(made)
    with pytest.raises(ParameterError, match=r"^X must"):
        row_groups_of(made)


def test_partitions_with_other_columns_are_refused(client):
    import dask.dataframe as dd

    frame = dd.from_map(Partition(), [(0, 4)], meta=Partition()((0, 0)).rename(columns={"x1": "age"}))
    with pytest.raises(DataError, match="row group 'partition 0' must have the columns of the table"):
        DaskEngine(client).hold(encode, row_groups_of(frame).groups)


# --- the engine as an argument ---


def test_the_client_is_the_current_one_or_that_of_an_address(client):
    table = groups([4, 5])
    for engine in [DaskEngine(), DaskEngine(client.scheduler.address), pickle.loads(pickle.dumps(DaskEngine(client)))]:
        assert sums_of(engine, table) == sums_of(InProcess(), table)
    assert client.status == "running"
    assert copy.deepcopy(DaskEngine(client, retries=1, patience=7)).client is client


def test_a_scheduler_that_is_not_there_is_refused(client, monkeypatch):
    monkeypatch.setattr("dperm.engines.dask.CALL", 0.2)
    with pytest.raises(ParameterError, match="client must be the address of a running scheduler, got 'tcp://"):
        DaskEngine("tcp://127.0.0.1:1").hold(encode, groups([4]))
    with pytest.raises(ParameterError, match=r"client must be a synchronous client .* got an object of type int"):
        DaskEngine(3).hold(encode, groups([4]))


@pytest.mark.parametrize("address", ["localhost", "localhost:8786", "tcp://localhost", "nonsense:", "", "tcp://:"])
def test_an_address_has_a_scheme_and_a_port(address):
    with pytest.raises(ParameterError, match="client must be an address like tcp://host:8786"):
        DaskEngine(address)


def test_a_client_that_cannot_connect_is_closed_and_says_nothing_later(monkeypatch):
    from distributed import Client

    closings, unraised = list[Any](), list[Any]()

    def start(client: Any, **options: Any) -> None:
        client.status = "connecting"
        raise OSError

    def close(client: Any, timeout: Any = None) -> None:
        if client.status != "closed":
            closings.append(timeout)
            raise TimeoutError

    monkeypatch.setattr("sys.unraisablehook", unraised.append)
    monkeypatch.setattr(Client, "start", start)
    monkeypatch.setattr(Client, "close", close)
    with pytest.raises(ParameterError, match="address of a running scheduler"):
        DaskEngine("tcp://127.0.0.1:1").hold(encode, groups([4]))
    gc.collect()
    assert len(closings) == 1 and closings[0] <= 1 and not unraised


@pytest.mark.parametrize("options", [{"retries": -1}, {"retries": 1.5}, {"patience": 0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ParameterError, match=f"^{next(iter(options))} must"):
        DaskEngine(**options)


def test_dask_is_imported_when_it_is_used():
    code = (
        "import sys, numpy, dperm.engines as e; e.DaskEngine(); assert not e.is_dask(numpy.ones(3));"
        "assert not {'dask', 'distributed', 'pandas'} & set(sys.modules)\n"
        "try: e.DaskEngine().hold(len, [])\n"
        "except e.dask.ParameterError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("client must be given, because this process has no Dask client.")
