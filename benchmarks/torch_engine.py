# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private training of PyTorch models compared with ordinary training and Opacus: time and memory of a step.

Methods take turns in one process, on one thread, one step each (``--turn``), in a new random order in every round. The
compared quantity is CPU time, as the median over rounds of the ratio to ordinary training in the same round. First
dperm's methods and ordinary training take turns, then Opacus' modes join them, because their code and memory are large
and leave cold caches. A step is forward pass, losses, gradients, noise and ``optimizer.step()`` (SGD); for ordinary
training and Opacus also ``zero_grad()``. For dperm it is the whole of ``private.step`` of `plan.attach` at sampling
rate 1, so that every batch has the same rows as for the other methods. dperm runs plain SGD without ``Optimizer.step``
(``--momentum 0.9`` shows the other case). Every method selects the rows of its batch again, which is not timed. Peak
memory is that of one step after three others, above the memory held before it, in a separate process (Linux with
glibc).

Logistic regression is Linear(100, 2): two classes, the smallest possible step. It consists of overhead, and its ratio
depends on the caches: after Opacus' modes, dperm has cold caches and ordinary training does not, and other load on the
machine has a double effect. Five runs with turns of one step gave 2.2 to 2.6 times the speed of Opacus' best mode,
turns of five steps 2.6; with long turns, ordinary training, which runs less code, gains more. Compilation is not
part of a compiled step. Opacus' modes run if it is installed (``pip install opacus==1.6.0``); if one of them fails, the
table says so. Its noise comes from torch's generator, which is predictable; dperm's is drawn from AES.
Run: ``python benchmarks/torch_engine.py [--seconds 30] [--only CNN,LSTM]``.
"""

import argparse
import contextlib
import ctypes
import gc
import os
import random
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: CPU time of one thread
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset
from torch_models import CASES, Case

from dperm.torch import DPSGD

try:
    from opacus import PrivacyEngine
    from opacus.grad_sample import GradSampleModule  # noqa: F401  # its modes need it
except ImportError:
    PrivacyEngine = None

Step = Callable[[], float]
"""One step of training; CPU seconds of what is timed of it."""
PLAIN, FAST, COMPILED, EXACT = "ordinary", "dperm fast", "dperm compiled", "dperm exact"
NOT_COMPILED = ("LSTM",)
"""Loops over time would be unrolled."""
PEER_MODES = ("hooks", "ew", "functorch", "ghost")
RATE, CLIP_NORM, STEPS = 1e-3, 1.0, 10**5
MOMENTUM = [0.0]


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of all methods."""
    return torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM[0])


def picked(data: tuple[Tensor, Tensor]) -> list[Tensor]:
    """All rows of the data, selected by position as a sampler does."""
    rows = torch.arange(len(data[0]))
    return [values[rows] for values in data]


def ordinary(case: Case, stack: contextlib.ExitStack) -> Step:
    """Training without privacy."""
    model, data = case.make(), case.data()
    optimizer = sgd(model)

    def step() -> float:
        x, y = picked(data)
        start = time.process_time()
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
        return time.process_time() - start

    return step


def private(case: Case, stack: contextlib.ExitStack, grade: str) -> Step:
    """Training with dperm: with a grade, or compiled (which is fast)."""
    model, data = case.make(), case.data()
    rows = len(data[0])
    method = DPSGD(
        CLIP_NORM, rate=1.0, steps=STEPS, grade="exact" if grade == "exact" else "fast", physical_batch_size=rows
    )
    plan = method.plan(n=rows, epsilon=10**5, delta=1e-5)
    training = stack.enter_context(plan.attach(model, sgd(model), data, progress=False, rehearsal=False))
    batches = iter(training)

    def losses(output: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(output, y, reduction="none")

    def eager(x: Tensor, y: Tensor) -> bool:
        return training.step(losses(model(x), y))

    taken = training.compiled(losses) if grade == "compiled" else eager

    def step() -> float:
        x, y = next(batches)
        start = time.process_time()
        taken(x, y)
        return time.process_time() - start

    return step


def peer(case: Case, stack: contextlib.ExitStack, mode: str) -> Step:
    """Training with Opacus without its loader: every batch is the same."""
    model, data = (case.peer or case.make)(), case.data()
    optimizer, loss = sgd(model), nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(*data), batch_size=len(data[0]))
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        criterion=loss,
        noise_multiplier=1.0,
        max_grad_norm=CLIP_NORM,
        poisson_sampling=False,
        grad_sample_mode=mode,
    )
    model, optimizer, loss = (*made[:2], made[2] if mode == "ghost" else loss)

    def step() -> float:
        x, y = picked(data)
        start = time.process_time()
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        return time.process_time() - start

    return step


def methods(case: Case, stack: contextlib.ExitStack) -> Iterator[tuple[str, Step | str]]:
    """Name and step of every method, after three steps; the error instead of a step if a method fails."""
    makers = {PLAIN: ordinary}
    ours = [name for name in (FAST, COMPILED, EXACT) if name != COMPILED or case.name not in NOT_COMPILED]
    makers |= {name: _with(private, name.split()[1]) for name in ours}
    if PrivacyEngine is not None:
        makers |= {f"Opacus {mode}": _with(peer, mode) for mode in PEER_MODES}
    for name, make in makers.items():
        torch.manual_seed(0)
        try:
            step = make(case, stack)
            for _ in range(3):
                step()
        except Exception as error:  # a peer's mode may fail in any way; ours must not
            if not name.startswith("Opacus"):
                raise
            yield name, type(error).__name__
        else:
            yield name, step


def _with(make: Callable[[Case, contextlib.ExitStack, str], Step], argument: str) -> Callable[..., Step]:
    return lambda case, stack: make(case, stack, argument)


def times(steps: dict[str, Step], seconds: float, turn: int) -> dict[str, list[float]]:
    """CPU seconds per step of each method in every round: the mean over the steps of a turn."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    rounds = round(seconds / sum(turn * min(step() for _ in range(3)) for step in steps.values()))
    for _ in track(range(min(max(rounds, 12), 3000)), description="measuring", console=Console(stderr=True)):
        for name in random.sample(sorted(steps), len(steps)):  # what ran before leaves its code in the caches
            found[name].append(statistics.fmean(steps[name]() for _ in range(turn)))
    return found


def print_times(console: Console, case: Case, seconds: float, turn: int) -> None:
    """Print milliseconds and ratios of all methods for one model."""
    with contextlib.ExitStack() as stack:
        all_methods = dict(methods(case, stack))
        own = {name: step for name, step in all_methods.items() if not name.startswith("Opacus")}
        print_table(console, _title(case), own, times(own, seconds, turn))
        if PrivacyEngine is None:
            return
        steps = {name: step for name, step in all_methods.items() if callable(step) and name != EXACT}
        found = times(steps, seconds, turn)
    print_table(console, f"{case.name}, with Opacus between the turns", all_methods, found)
    best = min((name for name in found if name.startswith("Opacus")), key=lambda name: statistics.median(found[name]))
    for name in (FAST, COMPILED):
        if name in found:
            faster = statistics.median(a / b for a, b in zip(found[best], found[name], strict=True))
            console.print(
                f"{name} is {faster:.2f} times faster than the best of the others, {best} (bar {case.peer_bar})"
            )
    console.print()


def print_table(
    console: Console, title: str, all_methods: dict[str, Step | str], found: dict[str, list[float]]
) -> None:
    """Print milliseconds, and ratios to ordinary training in the same round."""
    table = Table("method", "ms", "ratio to ordinary", "quartiles", title=title, width=90)
    ratios = {name: [own / plain for own, plain in zip(found[name], found[PLAIN], strict=True)] for name in found}
    for name, step in all_methods.items():
        if not callable(step):
            table.add_row(name, "", f"fails: {step}")
        if name not in found:
            continue
        low, middle, high = statistics.quantiles(ratios[name], n=4)
        table.add_row(name, f"{1e3 * statistics.median(found[name]):.3f}", f"{middle:.2f}", f"{low:.2f} .. {high:.2f}")
    console.print(table)


def _title(case: Case) -> str:
    compiled = "" if case.compiled_bar is None else f", compiled {case.compiled_bar}"
    return f"{case.name}, bars: fast {case.bar}{compiled}"


def peak_memory(case: Case, method: str) -> float:
    """Megabytes of a step beyond the memory held before it; call it in a separate process."""
    with contextlib.ExitStack() as stack:
        step = ordinary(case, stack) if method == PLAIN else private(case, stack, method.split()[1])
        for _ in range(3):
            step()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what the allocator keeps for the next step is no part of rest
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")  # the peak begins anew
        before = _status("VmRSS")
        step()
        return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key))


def print_memory(console: Console, cases: list[Case]) -> None:
    """Print the peak memory of a step, each in a separate process."""
    table = Table("model", *(f"{name}, MB" for name in (PLAIN, FAST, EXACT)), "fast / ordinary (bar 2)", width=90)
    for case in cases:
        found = []
        for method in (PLAIN, FAST, EXACT):
            command = [sys.executable, __file__, "--memory-of", case.name, "--method", method]
            found.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        table.add_row(case.name, *(f"{value:.1f}" for value in found), f"{found[1] / found[0]:.2f}")
    console.print(table)


def main() -> None:
    """Run all measurements and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--seconds", type=float, default=30.0, help="for each model, for all methods together")
    parser.add_argument("--turn", type=int, default=1, help="steps of a method before it is another's turn")
    parser.add_argument("--momentum", type=float, default=0.0, help="of SGD, of all methods")
    parser.add_argument("--only", default="", help="names of models, with commas between them")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--method", help=argparse.SUPPRESS)
    options = parser.parse_args()
    MOMENTUM[0] = options.momentum
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # Opacus' hooks warn about torch's
    if options.memory_of:
        print(peak_memory(next(case for case in CASES if case.name == options.memory_of), options.method))
        return
    console = Console(width=120)
    chosen = [case for case in CASES if not options.only or case.name in options.only.split(",")]
    if PrivacyEngine is None:
        console.print("Opacus is not installed here: only dperm and ordinary training are compared.")
    for case in chosen:
        print_times(console, case, options.seconds, options.turn)
    print_memory(console, [case for case in chosen if case.name in ("CNN", "transformer")])


if __name__ == "__main__":
    main()
