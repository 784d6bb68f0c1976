# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a run: model, optimizer, sampler and accountant, readable by `torch.load` with ``weights_only=True``.

The samples of different steps are independent, so the sampler's state is the number of steps. Steps taken after the
checkpoint are lost, but their noise was drawn. These draws count (`dperm.torch.journal`) and reduce the steps of the
resumed run.
"""

import hashlib
import io
import itertools
import json
import math
import os
import pickle
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim import Optimizer

from dperm.accounting import event_to_json
from dperm.accounting.budget import Reservation
from dperm.errors import ModelFormatError, ParameterError, SupersededError
from dperm.presentation.spelling import arg
from dperm.report.whole_file import whole_file
from dperm.torch.journal import Journal
from dperm.torch.lease import DrawLease
from dperm.torch.update import NoisyUpdate

if TYPE_CHECKING:
    from dperm.torch.plan import DPSGDPlan

FORMAT = 1
ULPS = 8
"""Largest difference, in units in the last place, between calibrations of one plan on two machines, with a margin."""
AHEAD = 256
"""The journal runs ahead by at most 1/256 of the steps; a crash may lose that many steps."""
KEYS = {
    "format",
    "run",
    "plan",
    "request_id",
    "seeded",
    "budgeted",
    "taken",
    "draws",
    "clip_norm",
    "model",
    "optimizer_kind",
    "optimizer",
    "extra",
}


class Checkpoint:
    """State of a run on disk: the checkpoint it was resumed from, its journal, and its lease.

    *Guarantees.* Before each draw, `before_draw` durably records that this draw may happen. So a run and all runs
    resumed from its checkpoints together draw at most as often as planned: with a ledger, even if folders are copied;
    without a ledger, for runs that share the journal.

    Attributes
    ----------
    run
        Random identifier of the run, in the name of its journal.
    extra
        Data of the user from `save`, in a resumed run.
    """

    def __init__(self, plan: "DPSGDPlan", held: dict[str, Any] | None = None, journal: Journal | None = None) -> None:
        self._plan, self._held, self._journal = plan, held, journal
        self._saved = held is not None
        self._saved_draws: int | None = None
        self._lease: DrawLease | None = None
        self.run: str = held["run"] if held else uuid.uuid4().hex
        self.extra: dict[str, Any] = held["extra"] if held else {}

    @property
    def resumes(self) -> bool:
        """Whether the run resumes an earlier run."""
        return self._held is not None

    @property
    def steps_taken(self) -> int:
        """Number of steps behind the stored weights; 0 in a new run."""
        return 0 if self._held is None else int(self._held["taken"])

    @property
    def draws(self) -> int:
        """Number of draws counted in the file; 0 in a new run."""
        return 0 if self._held is None else int(self._held["draws"])

    @property
    def can_go_on(self) -> bool:
        """Whether the run could be resumed if it failed now."""
        return self._saved

    def is_current(self, draws: int) -> bool:
        """Return whether a checkpoint of this run was saved after ``draws`` draws."""
        return self._saved_draws == draws

    def request_id(self, requested: str | None) -> str:
        """Return the identifier of the charge, the same in all parts of the run."""
        if self._held is None:
            return requested or self.run
        if requested is not None and requested != self._held["request_id"]:
            raise ParameterError(
                argument="request_id", rule=f"must be left out, or that of the run: {self._held['request_id']!r}"
            )
        return str(self._held["request_id"])

    def check_bits(self, seeded: bool) -> None:
        """Refuse to mix seeded and unpredictable bits in one run."""
        if self._held is not None and self._held["seeded"] is not seeded:
            raise ParameterError(
                argument="bits",
                rule="must be of the kind used so far: one seeded part makes the whole run NOT PRIVATE",
            )

    def check_budget(self, budgeted: bool) -> None:
        """Refuse to resume a charged run without its budget: the charge would never be closed."""
        if self._held is not None and self._held["budgeted"] and not budgeted:
            raise ParameterError(argument="ledger", rule="must be given: the resumed run is charged to one")

    def restore(self, model: nn.Module, optimizer: Optimizer, update: NoisyUpdate) -> int:
        """Restore model, optimizer and update, and return the number of steps behind the weights; 0 in a new run."""
        if self._held is None or self._journal is None:
            return 0
        if self._held["optimizer_kind"] != type(optimizer).__name__:
            raise ParameterError(
                argument="optimizer",
                rule=f"must be of the class used so far, {self._held['optimizer_kind']}",
                got=type(optimizer).__name__,
            )
        try:
            model.load_state_dict(self._held["model"])
            optimizer.load_state_dict(self._held["optimizer"])
        except (RuntimeError, ValueError, KeyError):
            raise ParameterError(
                "model and optimizer must have the shapes and settings of those in the checkpoint."
            ) from None
        if self._journal.covered < int(self._held["draws"]):
            raise ParameterError(
                f"{arg('resume')} needs the journal of the run in its last state: it counts fewer draws than the "
                "checkpoint, so it was emptied or replaced by an older copy."
            )
        update.clip_norm = float(self._held["clip_norm"])
        update.draws = max(int(self._held["draws"]), self._journal.covered)
        return self.steps_taken

    def hold(self, reservation: Reservation, draws: int) -> int:
        """Bind the run to its reservation, and return the number of draws that count as made.

        A resumed run takes over from all others. A new run leases nothing before its first checkpoint.
        """
        self._lease = DrawLease(reservation, self._plan.steps)
        if self.resumes:
            if self._journal is not None:
                self._journal.take_over()
            return self._lease.take_over(draws)
        if self._saved:
            self._lease.begin(draws)
        return draws

    def before_draw(self, draws: int) -> None:
        """Record durably that this run may draw once more after ``draws`` draws.

        Raises
        ------
        SupersededError
            If another run took over.
        """
        if self._lease is not None:
            self._lease.before_draw(draws)
        if self._journal is not None:
            self._journal.check()
            if draws >= self._journal.covered:
                self._journal.cover(min(draws + max(1, self._plan.steps // AHEAD), self._plan.steps))

    def settle(self, draws: int, *, failed: bool = False) -> None:
        """Record the true number of draws at the end of a run; a ``failed`` run returns the rest of its lease."""
        if self._journal is not None and self._journal.covered != draws:
            with suppress(SupersededError):  # the journal of another run stays unchanged
                self._journal.cover(draws)
        if failed and self._lease is not None:
            self._lease.give_back(draws)

    def save(
        self,
        path: str | os.PathLike[str],
        model: nn.Module,
        optimizer: Optimizer,
        update: NoisyUpdate,
        *,
        taken: int,
        request_id: str,
        seeded: bool,
        budgeted: bool,
        extra: dict[str, Any] | None,
    ) -> None:
        """Write the state of the run between two steps; the journal first.

        Raises
        ------
        ParameterError
            If the folder differs from the folder of earlier checkpoints, or ``extra`` cannot be stored.
        SupersededError
            If another run took over.
        """
        kept = checked_extra(extra or {})
        folder = Path(path).resolve().parent
        if self._journal is None:
            self._journal = Journal(folder, self.run, create=True)
        elif self._journal.path.parent != folder:
            raise ParameterError(
                argument="path",
                rule=f"must be in the folder of the run's other checkpoints, {self._journal.path.parent}",
            )
        self._journal.check()
        self.settle(update.draws)
        if self._lease is not None:  # leased before anybody can resume from the file
            self._lease.begin(update.draws)
            self._lease.check()
        content = {
            "format": FORMAT,
            "run": self.run,
            "plan": plan_digest(self._plan),
            "noise": list(self._plan.noise.calibrated),
            "request_id": request_id,
            "seeded": seeded,
            "budgeted": budgeted,
            "taken": taken,
            "draws": update.draws,
            "clip_norm": update.clip_norm,
            "model": model.state_dict(),
            "optimizer_kind": type(optimizer).__name__,
            "optimizer": optimizer.state_dict(),
            "extra": kept,
        }
        with whole_file(path) as file:
            torch.save(content, file)
        self._saved, self._saved_draws = True, update.draws

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()


@contextmanager
def open_checkpoint(path: str | os.PathLike[str] | None, plan: "DPSGDPlan") -> Iterator[Checkpoint]:
    """Yield the checkpoint of a run, read from ``path``; None begins a new run."""
    held = None if path is None else _read(path)
    journal = None if held is None or path is None else Journal(Path(path).resolve().parent, held["run"], create=False)
    checkpoint = Checkpoint(plan, held, journal)
    try:
        yield checkpoint
    finally:
        checkpoint.close()


def plan_digest(plan: "DPSGDPlan") -> str:
    """Return the digest of event, goal and all public numbers; equal digests may share a run."""
    text = json.dumps([repr(plan.goal), event_to_json(plan.event), plan.describe()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checked_extra(extra: dict[str, Any]) -> dict[str, Any]:
    """Return ``extra`` if it can be written and read back with ``weights_only=True``."""
    try:
        content = io.BytesIO()
        torch.save(extra, content)
        content.seek(0)
        torch.load(content, weights_only=True)
    except (pickle.PickleError, AttributeError, TypeError, RuntimeError):
        raise ParameterError(
            argument="extra",
            rule="must hold tensors, numbers, strings, lists and dictionaries only, such as scheduler.state_dict()",
        ) from None
    return extra


def plan_of_run(plan: "DPSGDPlan", path: str | os.PathLike[str]) -> "DPSGDPlan":
    """Return ``plan`` with the exact noise of the run at ``path``.

    Calibration searches in floating point. Another processor, or a later version, can find noise with different last
    digits. A run keeps the noise of its charge.

    Raises
    ------
    ParameterError
        If the plan differs from the plan of the run in a public number.
    """
    held, planned = _read(path), plan.noise.calibrated
    for numbers in [held["noise"]] if "noise" in held else _neighbors(planned):
        if len(numbers) != len(planned):  # of another grade
            break
        candidate = replace(plan, noise=plan.noise.recalibrated(*numbers))
        if plan_digest(candidate) == held["plan"]:
            return candidate
    raise ParameterError(
        f"{arg('resume')} needs the plan of the run.", remedy="Make the plan with the same numbers as before."
    )


def _neighbors(numbers: tuple[float, ...]) -> Iterator[tuple[float, ...]]:
    """Yield numbers within a few units in the last place: files of version 0.8.0 contain only a digest of the noise."""
    distances = sorted(range(-ULPS, ULPS + 1), key=abs)
    return itertools.product(*([number + k * math.ulp(number) for k in distances] for number in numbers))


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        held = torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError:
        raise ParameterError(f"the checkpoint {os.fspath(path)!r} does not exist.") from None
    except Exception:
        raise ModelFormatError(f"{os.fspath(path)!r} is not a checkpoint, or is damaged.") from None
    if not isinstance(held, dict) or held.get("format") != FORMAT or held.keys() - {"noise"} != KEYS:
        raise ModelFormatError(f"{os.fspath(path)!r} is not a checkpoint that this version reads.")
    return held
