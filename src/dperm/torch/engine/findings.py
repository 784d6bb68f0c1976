# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What two runs on synthetic inputs show about bare parameters: which modules are lifted, which are run again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from dperm.torch.engine.lifting import Script
from dperm.torch.engine.places import Rows, rows_of
from dperm.torch.engine.probing import Frame, Recorder

SIZES = (3, 5)
"""Examples of the two runs: what has that many rows both times has one for each example."""

Make = Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]
"""From a number of examples to arguments of the model."""


@dataclass(frozen=True)
class Findings:
    """The result of a probe.

    Attributes
    ----------
    scripts
        Of the modules that can be lifted.
    again
        The modules that must be run again, with the reason.
    rows
        By module, which arguments have a row for each example.
    met
        Identities of the parameters that are used bare.
    """

    scripts: dict[nn.Module, Script] = field(default_factory=dict)
    again: dict[nn.Module, str] = field(default_factory=dict)
    rows: dict[nn.Module, Rows] = field(default_factory=dict)
    met: frozenset[int] = frozenset()


def probed(model: nn.Module, make: Make, opaque: Callable[[nn.Module], bool]) -> Findings:
    """The findings of runs with arguments from ``make``; nobody looks into modules that are ``opaque``."""
    runs, closed = [], []
    for examples in SIZES:
        recorder = Recorder(model, examples, opaque)
        args, kwargs = make(examples)
        recorder.run(args, kwargs)
        runs.append(_by_module(recorder.frames))
        closed.append(_by_module(recorder.closed))
    return _findings(model, runs, {**_rows(closed), **_rows(runs)})


def _by_module(frames: Iterable[Frame]) -> dict[nn.Module, list[Frame]]:
    found: dict[nn.Module, list[Frame]] = {}
    for frame in frames:
        found.setdefault(frame.module, []).append(frame)
    return found


def _findings(model: nn.Module, runs: Sequence[dict[nn.Module, list[Frame]]], rows: dict[nn.Module, Rows]) -> Findings:
    frames = {module: [call for run in runs for call in run.get(module, ())] for module in {**runs[0], **runs[1]}}
    scripts: dict[nn.Module, Script] = {}
    again: dict[nn.Module, str] = {}
    for module, calls in frames.items():
        met = {key: parameter for call in calls for key, parameter in call.met.items()}
        if not met:
            continue
        script, why = _script(calls, tuple(met.values()))
        if script is not None:
            scripts[module] = script
        else:
            for call in calls:
                again.setdefault(_host(model, call, frames, met), why)
    keys = frozenset(key for calls in frames.values() for call in calls for key in call.met)
    return Findings({m: s for m, s in scripts.items() if m not in again}, again, rows, keys)


def _script(calls: Sequence[Frame], parameters: tuple[nn.Parameter, ...]) -> tuple[Script | None, str]:
    """The script that all calls follow, or why there is none."""
    why = next((call.why for call in calls if call.why), "")
    if why:
        return None, why
    if any(call.steps != calls[0].steps for call in calls):
        return None, "it uses its parameters in different ways"
    places = [place for place in range(min(len(c.batched) for c in calls)) if all(c.batched[place] for c in calls)]
    if not places:
        return None, "no argument of it has the examples first"
    return Script(parameters, tuple(calls[0].steps), places[0]), ""


def _host(model: nn.Module, call: Frame, frames: dict[nn.Module, list[Frame]], met: Iterable[int]) -> nn.Module:
    """The nearest module that can be run again for what a call did: it holds the parameters, with rows in and out."""
    wanted = set(met)
    for module in (call.module, *call.above):
        fits = all(any(one.batched) and one.whole for one in frames[module])
        if fits and wanted <= {id(parameter) for parameter in module.parameters()}:
            return module
    return model


def _rows(runs: Sequence[dict[nn.Module, list[Frame]]]) -> dict[nn.Module, Rows]:
    """By module, which arguments have a row for each example."""
    return {
        module: rows_of(
            (one.names, one.rows, two.rows) for one, two in zip(calls, runs[1].get(module, ()), strict=False)
        )
        for module, calls in runs[0].items()
    }
