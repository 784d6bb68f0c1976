# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of exact passes and of fits on tables in row groups, as ratios measured side by side in one run.

Run: ``python benchmarks/large_tables.py [SECTION ...] [--folder FOLDER] [--rounds 5]``. Sections: pass, inexact,
scratch, memory, parquet, dask, reads, adjacency, all (the default), and ``huge`` with ``--rows 1e8``, the documented
run.

``pass`` compares with the code of version 0.13.0, whose pass is that of 0.8.0; it is taken from the history into
build/.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

BEFORE = "0ab57332"
"""Last commit before exact sums."""
COLUMNS = 50
BOUNDS = ((-4.0, 4.5),) * COLUMNS
CHUNK = 2**17


def rows(start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal features in single precision and logistic labels, from the number of the first row."""
    draw = np.random.default_rng([7, start])
    X = draw.standard_normal((count, COLUMNS), dtype=np.float32)
    scores = X @ (np.random.default_rng(5).normal(size=COLUMNS) * 0.3)
    return X, (scores + draw.logistic(size=count) > 0).astype(np.int8)


def in_memory(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` rows as arrays."""
    parts = [rows(start, min(CHUNK, count - start)) for start in range(0, count, CHUNK)]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def parquet_file(folder: Path, count: int) -> Path:
    """Return a Parquet file of ``count`` rows, written if it is not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"rows-{count}.parquet"
    if path.exists():
        return path
    schema = pa.schema([(f"x{place}", pa.float32()) for place in range(COLUMNS)] + [("y", pa.int8())])
    with pq.ParquetWriter(path, schema, compression="NONE", use_dictionary=False) as writer:
        for start in range(0, count, CHUNK):
            X, y = rows(start, min(CHUNK, count - start))
            columns = [np.ascontiguousarray(X[:, place]) for place in range(COLUMNS)]
            writer.write_table(pa.table([*map(pa.array, columns), pa.array(y)], schema=schema))
    return path


def problem(data, n: int):
    """Return a logistic problem of the data and some coefficients."""
    from dperm.erm.losses import Logistic
    from dperm.erm.spec import ProblemSpec

    space = data.space
    spec = ProblemSpec(Logistic(), space.radius, space.size, n=n, regularization=45.0, clip=space.radius / 2)
    return spec, np.random.default_rng(3).normal(size=space.size) * 0.3


def bounded(X: np.ndarray, y: np.ndarray):
    """Return bounded data in memory."""
    from dperm.data.bounded import enforce
    from dperm.data.space import FeatureSpace
    from dperm.data.targets import Classes

    return enforce(X, y, FeatureSpace(COLUMNS, bounds=BOUNDS), Classes((0, 1)))


def timed(work, repeats: int = 5) -> float:
    """Return the median time of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_memory() -> int:
    """Peak memory of this process in bytes. On Linux, ru_maxrss also counts the parent at the time of the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(1024 * int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def inner_pass(count: int) -> None:
    """Print the time of a gradient pass in memory, for the version of dperm on the path."""
    from dperm.erm.gradient import loss_gradient

    data = bounded(*in_memory(count))
    spec, theta = problem(data, count)
    print(json.dumps(timed(lambda: loss_gradient(data, spec, theta), 9)))


def inner_fit(path: str, scratch: str, memory: str, strength: str = "") -> None:
    """Print the peak memory of a fit from a file; without noise if the regularization strength is given."""
    from dperm.data import table
    from dperm.sklearn import PrivateLogisticRegression

    warnings.simplefilter("ignore")
    start = time.perf_counter()
    if strength:
        model = PrivateLogisticRegression(epsilon=float("inf"), bounds=BOUNDS, classes=[0, 1], C=1 / float(strength))
    else:
        model = PrivateLogisticRegression(epsilon=1.0, bounds=BOUNDS, classes=[0, 1])
    model.fit(table(path, scratch=scratch, memory=memory), "y")
    strength = strength or model.plan_.spec.strength
    peak = peak_memory()
    print(
        json.dumps(
            {
                "peak": peak,
                "seconds": time.perf_counter() - start,
                "coef": model.coef_.ravel().tolist(),
                "strength": strength,
            }
        )
    )


def inner_memory_fit(count: int) -> None:
    """Print the seconds of a fit to arrays, for each row."""
    from dperm.sklearn import PrivateLogisticRegression

    warnings.simplefilter("ignore")
    X, y = in_memory(count)
    model = PrivateLogisticRegression(epsilon=1.0, bounds=BOUNDS, classes=[0, 1])
    start = time.perf_counter()
    model.fit(X, y)
    print(json.dumps((time.perf_counter() - start) / count))


def outcome(*arguments: object, source: str = "") -> object:
    """Return the JSON output of this script run with ``arguments`` in a process of its own."""
    environment = {**os.environ, **({"PYTHONPATH": source} if source else {})}
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def report(name: str, ratios: list[float], bar: float) -> None:
    """Print the median of the ratios beside its bar."""
    found = statistics.median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"{name:<58} {found:6.2f}  ({spread})  bar {bar:g}  {'ok' if found <= bar else 'ABOVE'}", flush=True)


def section_pass(folder: Path, rounds: int) -> None:
    """Exact pass over the inexact pass of version 0.13.0, both in memory."""
    before = Path("build") / "before"
    if not before.exists():
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(before), BEFORE], check=True)
    ratios = [
        outcome("inner-pass", 10**6) / outcome("inner-pass", 10**6, source=str(before / "src")) for _ in range(rounds)
    ]
    report("exact pass / pass of 0.13.0 (10^6 x 50, memory)", ratios, 1.0)


def section_inexact(folder: Path, rounds: int) -> None:
    """Exact pass over an ordinary pass in doubles on the same grid."""
    from dperm.erm.gradient import loss_gradient

    data = bounded(*in_memory(10**6))
    spec, theta = problem(data, 10**6)
    grid_rows, grid = data.in_memory(), data.grid

    def ordinary() -> np.ndarray:
        total = np.zeros(len(theta))
        table = np.full((2048, len(theta)), float(grid.constant))
        for block in grid_rows.blocks():
            cells = table[: block.count]
            cells[:, :COLUMNS] = block.cells
            targets, weights = data.target.targets(block.codes)
            limits = spec.clip / grid.step / block.lengths.astype(np.float64)
            total += (weights * spec.loss.slopes(cells @ (theta * grid.unit), targets, limits)) @ cells
        return total * grid.unit

    exact = loss_gradient(data, spec, theta)
    assert np.linalg.norm(ordinary() - exact) <= 1e-9 * np.linalg.norm(exact)
    ratios = [timed(lambda: loss_gradient(data, spec, theta)) / timed(ordinary) for _ in range(rounds)]
    report("exact / inexact pass on the same grid", ratios, 1.8)


def opened(path: Path, **settings: object):
    """Return the bounded data of a Parquet file, and the seconds of the first read."""
    from dperm.data import table
    from dperm.data.row_encoder import ColumnReader, RowEncoder, encoded_table
    from dperm.data.space import FeatureSpace
    from dperm.data.targets import Classes

    found = table(path, **settings)
    names = tuple(name for name in found.columns if name != "y")
    space = FeatureSpace(COLUMNS, bounds=BOUNDS)
    encoder = RowEncoder(space, Classes((0, 1)), ColumnReader(names, "y"), names)
    start = time.perf_counter()
    data = encoded_table(found, encoder, names=names)
    return data, time.perf_counter() - start


def section_scratch(folder: Path, rounds: int) -> None:
    """Pass from a scratch file over a pass in memory, with and without the page cache."""
    from dperm.erm.gradient import loss_gradient

    path, count = parquet_file(folder, 2 * 10**6), 2 * 10**6
    memory, _ = opened(path, engine="serial", memory="2GB")
    scratch, _ = opened(path, engine="serial", memory="1MB", scratch=folder)
    spec, theta = problem(memory, count)
    warm, cold = [], []
    for _ in range(rounds):
        base = timed(lambda: loss_gradient(memory, spec, theta), 3)
        warm.append(timed(lambda: loss_gradient(scratch, spec, theta), 3) / base)
        drop_cache(folder)
        cold.append(timed(lambda: loss_gradient(scratch, spec, theta), 1) / base)
    report("pass from scratch / memory, page cache", warm, 1.5)
    report("pass from scratch / memory, after DONTNEED", cold, 2.0)
    memory.store.close()
    scratch.store.close()


def drop_cache(folder: Path) -> None:
    """Ask the system to forget the pages of this process's scratch files in a folder."""
    for link in Path("/proc/self/fd").iterdir():
        try:
            name = os.readlink(link)
        except OSError:
            continue
        if name.startswith(str(folder)) and "(deleted)" in name:
            descriptor = int(link.name)
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def section_memory(folder: Path, rounds: int) -> None:
    """Peak memory of a fit from Parquet."""
    small, large = 10**7, 2 * 10**7
    found = [outcome("inner-fit", parquet_file(folder, count), folder, "50MB") for count in (small, large)]
    peaks = [each["peak"] for each in found]
    report("peak memory at 10^7 x 50 (MB)", [peaks[0] / 1e6], 500)
    report("bytes for each further row", [(peaks[1] - peaks[0]) / (large - small)], 12)
    print(f"seconds of the fits: {found[0]['seconds']:.1f}, {found[1]['seconds']:.1f}")


def section_parquet(folder: Path, rounds: int) -> None:
    """First read of a Parquet file over a later pass."""
    from dperm.erm.gradient import loss_gradient

    count, ratios = 2 * 10**6, []
    path = parquet_file(folder, count)
    for _ in range(rounds):
        data, first = opened(path, memory="2GB")
        spec, theta = problem(data, count)
        ratios.append(first / timed(lambda: loss_gradient(data, spec, theta), 3))  # noqa: B023
        data.store.close()
    report("first Parquet read / later pass", ratios, 8)


def section_reads(folder: Path, rounds: int) -> None:
    """Reads of all rows until the minimiser is certified at 1e-6 L."""
    from dperm.data.bounded import BoundedData
    from dperm.erm.minimize import minimize

    for count in (10**6, 10**7):
        data, _ = opened(parquet_file(folder, count), memory="1MB", scratch=folder)
        spec, _ = problem(data, count)
        passes, plain = [], BoundedData.sums

        def counted(self, kernel, passes=passes, plain=plain):
            passes.append(type(kernel).__name__)
            return plain(self, kernel)

        BoundedData.sums = counted
        draws = np.random.default_rng(11)
        found = []
        for _ in range(3):
            passes.clear()
            minimize(data, spec, 1e-6 * spec.lipschitz, draws.normal(size=spec.dim) * 56)
            found.append(1 + sum(name == "GradientKernel" for name in passes if name != "RowRuns"))
        BoundedData.sums = plain
        data.store.close()
        report(f"reads until certified, first and last included, n = {count:.0e}", found, 4)


def section_dask(folder: Path, rounds: int) -> None:
    """Pass on two Dask workers over a pass of the serial engine."""
    from dask.distributed import Client, LocalCluster

    from dperm.engines import DaskEngine
    from dperm.erm.gradient import loss_gradient

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        for count, bar in ((10**6, 1.2), (10**7, 0.75)):
            path = parquet_file(folder, count)
            serial, _ = opened(path, engine="serial", memory="8GB")
            dask, _ = opened(path, engine=DaskEngine(client))
            spec, theta = problem(serial, count)
            assert (loss_gradient(serial, spec, theta) == loss_gradient(dask, spec, theta)).all()
            ratios = [
                timed(lambda: loss_gradient(dask, spec, theta)) / timed(lambda: loss_gradient(serial, spec, theta))  # noqa: B023
                for _ in range(rounds)
            ]
            report(f"pass on 2 Dask workers / serial, n = {count:.0e}", ratios, bar)
            serial.store.close()
            dask.store.close()


def section_adjacency(folder: Path, rounds: int) -> None:
    """Fit under add/remove over a fit under replace-one, 2 million rows of 30 columns."""
    from dperm.sklearn import PrivateLogisticRegression

    warnings.simplefilter("ignore")
    X, y = in_memory(2 * 10**6)
    X = np.ascontiguousarray(X[:, :30])

    def fit(adjacency: str) -> float:
        model = PrivateLogisticRegression(
            epsilon=1.0, bounds=BOUNDS[:30], classes=[0, 1], adjacency=adjacency, n=len(X), random_state=1
        )
        return timed(lambda: model.fit(X, y), 1)

    report(
        "fit under add_remove / replace_one, 2M x 30",
        [fit("add_remove") / fit("replace_one") for _ in range(rounds)],
        1.2,
    )


def section_huge(folder: Path, count: int) -> None:
    """One documented run: a fit from Parquet, its memory, its time for each row, and its distance to scikit-learn."""
    path = parquet_file(folder, count)
    found = outcome("inner-fit", path, folder, "500MB")
    memory = outcome("inner-memory-fit", min(count, 10**7))
    size = path.stat().st_size / 1e9
    print(f"n = {count:.0e}: {found['seconds']:.0f} s, peak {found['peak'] / 1e6:.0f} MB, file {size:.1f} GB")
    report("time for each row / that of 10^7 rows in memory", [found["seconds"] / count / memory], 1.5)
    plain = outcome("inner-fit", path, folder, "500MB", found["strength"])
    away = np.linalg.norm(np.array(found["coef"]) - np.array(plain["coef"]))
    truth = np.random.default_rng(5).normal(size=COLUMNS) * 0.3
    sampling = np.linalg.norm(np.array(plain["coef"]) - truth)
    print(f"distance to the fit without noise {away:.2e}; of that fit to the simulated coefficients {sampling:.2e}")


SECTIONS = {
    "pass": section_pass,
    "inexact": section_inexact,
    "scratch": section_scratch,
    "memory": section_memory,
    "parquet": section_parquet,
    "reads": section_reads,
    "dask": section_dask,
    "adjacency": section_adjacency,
}


def main() -> None:
    """Run the sections that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=["all"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dperm-large-tables")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=float, default=1e8)
    chosen = parser.parse_args()
    if chosen.sections[0] == "inner-pass":
        return inner_pass(int(chosen.sections[1]))
    if chosen.sections[0] == "inner-fit":
        return inner_fit(*chosen.sections[1:])
    if chosen.sections[0] == "inner-memory-fit":
        return inner_memory_fit(int(chosen.sections[1]))
    chosen.folder.mkdir(parents=True, exist_ok=True)
    if chosen.sections == ["huge"]:
        return section_huge(chosen.folder, int(chosen.rows))
    for name in SECTIONS if chosen.sections == ["all"] else chosen.sections:
        SECTIONS[name](chosen.folder, chosen.rounds)
    return None


if __name__ == "__main__":
    main()
