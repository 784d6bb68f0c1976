# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: model, optimizer, sampler and accountant, in a file that `torch.load` reads with ``weights_only=True``.

The samples of different steps are independent, so the sampler's state is the number of steps. Steps that were run after
the checkpoint was written are lost, but their noise was drawn: they count (`dperm.torch.journal`), and a resumed run
has so many steps less.
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
from dperm.report.whole_file import whole_file
from dperm.torch.journal import Journal
from dperm.torch.lease import DrawLease
from dperm.torch.update import Update

if TYPE_CHECKING:
    from dperm.torch.plan import DPSGDPlan

FORMAT = 1
ULPS = 8
"""How far apart, in units in the last place, two machines calibrate the noise of one plan, with room to spare."""
AHEAD = 256
"""A run is covered for at most 1/256 of its steps ahead: a crash may cost so many."""
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
    """Where a run is written to and was read from, and the journal of its draws once there is one."""

    def __init__(self, plan: "DPSGDPlan", held: dict[str, Any] | None = None, journal: Journal | None = None) -> None:
        self._plan, self._held, self._journal = plan, held, journal
        self._saved = held is not None
        self._lease: DrawLease | None = None
        self.run: str = held["run"] if held else uuid.uuid4().hex
        self.extra: dict[str, Any] = held["extra"] if held else {}

    @property
    def resumes(self) -> bool:
        """Whether the run goes on with an earlier one."""
        return self._held is not None

    @property
    def steps_taken(self) -> int:
        """Number of steps behind the weights in the file; 0 in a run that begins."""
        return 0 if self._held is None else int(self._held["taken"])

    @property
    def draws(self) -> int:
        """Number of draws that the file counts; 0 in a run that begins."""
        return 0 if self._held is None else int(self._held["draws"])

    @property
    def can_go_on(self) -> bool:
        """Whether the run could be gone on with if it failed now."""
        return self._saved

    def request_id(self, given: str | None) -> str:
        """The id under which the run is charged, the same in all its parts."""
        if self._held is None:
            return given or self.run
        if given is not None and given != self._held["request_id"]:
            raise ParameterError(f"request_id must be left out, or the one of the run: {self._held['request_id']!r}.")
        return str(self._held["request_id"])

    def check_bits(self, seeded: bool) -> None:
        """Refuse to go on with unpredictable bits where a seed was used, or the other way round: all parts count."""
        if self._held is not None and self._held["seeded"] is not seeded:
            raise ParameterError(
                "bits must be of the kind that the run began with: one seeded part makes the whole run NOT PRIVATE."
            )

    def check_budget(self, budgeted: bool) -> None:
        """Refuse to go on without the budget that the run is charged to: its charge would never be closed."""
        if self._held is not None and self._held["budgeted"] and not budgeted:
            raise ParameterError("ledger must be given: the run that is resumed is charged to one.")

    def restore(self, model: nn.Module, optimizer: Optimizer, update: Update) -> int:
        """Put everything back, and return the number of steps that were taken; 0 in a run that begins."""
        if self._held is None or self._journal is None:
            return 0
        if self._held["optimizer_kind"] != type(optimizer).__name__:
            raise ParameterError(
                f"optimizer must be of the kind that the run began with, {self._held['optimizer_kind']}, got "
                f"{type(optimizer).__name__}."
            )
        try:
            model.load_state_dict(self._held["model"])
            optimizer.load_state_dict(self._held["optimizer"])
        except (RuntimeError, ValueError, KeyError):
            raise ParameterError(
                "model and optimizer must be of the kind that the checkpoint was written of."
            ) from None
        if self._journal.covered < int(self._held["draws"]):
            raise ParameterError(
                "resume needs the journal as the run left it: it knows of fewer draws than the checkpoint, so that it "
                "was emptied or put back to an older state."
            )
        update.clip_norm = float(self._held["clip_norm"])
        update.draws = max(int(self._held["draws"]), self._journal.covered)
        return self.steps_taken

    def hold(self, reservation: Reservation, draws: int) -> int:
        """Lease draws from the budget once others could resume the run; return the draws that count as made.

        A run that resumes takes over from all others. One that begins leases nothing before its first checkpoint.
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
        """Make it durable that one more draw may happen than the ``draws`` so far, and that it is this run's.

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
        """Note the true number of draws, when the run is left; one that ``failed`` gives the rest of its lease back."""
        if self._journal is not None and self._journal.covered != draws:
            with suppress(SupersededError):  # the journal of another run stays as it is
                self._journal.cover(draws)
        if failed and self._lease is not None:
            self._lease.give_back(draws)

    def save(
        self,
        path: str | os.PathLike[str],
        model: nn.Module,
        optimizer: Optimizer,
        update: Update,
        *,
        taken: int,
        request_id: str,
        seeded: bool,
        budgeted: bool,
        extra: dict[str, Any] | None,
    ) -> None:
        """Write the run as it is between two steps; the journal first."""
        kept = checked_extra(extra or {})
        folder = Path(path).resolve().parent
        if self._journal is None:
            self._journal = Journal(folder, self.run, create=True)
        elif self._journal.path.parent != folder:
            raise ParameterError(f"all checkpoints of a run must be in one folder, {self._journal.path.parent}.")
        self._journal.check()
        self.settle(update.draws)
        if self._lease is not None:  # in the books before anybody can resume from the file
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
        self._saved = True

    def close(self) -> None:
        """Let the journal go."""
        if self._journal is not None:
            self._journal.close()


@contextmanager
def resumed(path: str | os.PathLike[str] | None, plan: "DPSGDPlan") -> Iterator[Checkpoint]:
    """The checkpoint of a run: read from ``path``, or none yet."""
    held = None if path is None else _read(path)
    journal = None if held is None or path is None else Journal(Path(path).resolve().parent, held["run"], create=False)
    checkpoint = Checkpoint(plan, held, journal)
    try:
        yield checkpoint
    finally:
        checkpoint.close()


def plan_digest(plan: "DPSGDPlan") -> str:
    """What two plans have in common if a run may go from one to the other: event, goal, and all public numbers."""
    text = json.dumps([repr(plan.goal), event_to_json(plan.event), plan.describe()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checked_extra(extra: dict[str, Any]) -> dict[str, Any]:
    """``extra``, if it can be read back."""
    try:
        content = io.BytesIO()
        torch.save(extra, content)
        content.seek(0)
        torch.load(content, weights_only=True)
    except (pickle.PickleError, AttributeError, TypeError, RuntimeError):
        raise ParameterError(
            "extra must hold tensors, numbers, strings, lists and dictionaries only, such as scheduler.state_dict()."
        ) from None
    return extra


def plan_of_run(plan: "DPSGDPlan", path: str | os.PathLike[str]) -> "DPSGDPlan":
    """``plan`` with the very noise of the run at ``path``, if both are plans for the same public numbers.

    Calibration searches in floating point. Another processor, or a later version, can find noise that differs in its
    last digits, and a run keeps the noise that it was charged for.
    """
    held, planned = _read(path), plan.noise.calibrated
    for numbers in [held["noise"]] if "noise" in held else _neighbors(planned):
        if len(numbers) != len(planned):  # of another grade
            break
        candidate = replace(plan, noise=plan.noise.recalibrated(*numbers))
        if plan_digest(candidate) == held["plan"]:
            return candidate
    raise ParameterError("resume needs the plan that the run began with: make it with the same numbers.")


def _neighbors(numbers: tuple[float, ...]) -> Iterator[tuple[float, ...]]:
    """Numbers within a few units in the last place: files of 0.8.0 hold a digest of the noise and not the noise."""
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
