# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of private training, each against a check of tests/support/torch_checks.py that must fail on it.

A mutant is a module with one line changed, put in the place of the real one wherever it is used.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import EnumMeta
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch_checks as checks
from mutant_log import logged_mutant
from torch_kernels import WAYS, take

pytestmark = pytest.mark.filterwarnings("ignore:the resumed training has", "ignore:the loop ended before")
torch.set_num_threads(1)
ROOTS = ("dperm.torch", "dperm.mechanisms.run", "dperm.accounting")


def full_name(module: str) -> str:
    """Modules of other packages are written with their package."""
    return f"dperm.{module}" if module.startswith(("accounting.", "data.")) else f"dperm.torch.{module}"


@contextmanager
def in_place(name: str, source: str) -> Iterator[None]:
    """A module of this source instead of the real one, in every module that uses something of it."""
    module = ModuleType(f"mutant_of_{name}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)  # dataclasses look there
        exec(compile(source, module.__name__, "exec"), module.__dict__)
        for key, value in list(vars(module).items()):
            if isinstance(value, EnumMeta):  # members are compared by identity
                setattr(module, key, getattr(sys.modules[name], key))
        for user in [used for key, used in list(sys.modules.items()) if key.startswith(ROOTS)]:
            for key, value in list(vars(user).items()):
                if getattr(value, "__module__", None) == name and hasattr(module, key):
                    patch.setattr(user, key, getattr(module, key))
        yield


@dataclass(frozen=True)
class Mutant:
    """One line of a module, what it becomes, and the check that fails."""

    name: str
    module: str
    old: str
    new: str
    check: Callable[[], None]


MUTANTS = [
    Mutant(
        "divided by the rows of the sample",
        "session",
        "if part.rows and not part.trial else None",
        "if part.rows and not part.trial else None; self.update._expected = len(losses)",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "no noise on empty samples",
        "update",
        "noisy = self._noisy(sums)",
        "noisy = self._noisy(sums) if self._partial else sums",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "a step for each micro-batch",
        "session",
        "if not part.last:",
        "if False:",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "sums of an earlier sample are kept",
        "update",
        "            self.forget()\n",
        "            pass\n",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "weights are not applied",
        "gradients.per_example",
        "(parameter, factor.weighted(weight))",
        "(parameter, factor.weighted(torch.ones_like(weight)))",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "long gradients are left long",
        "gradients.clipping",
        "found = squares.clamp(min=float(clip_norm) ** 2).rsqrt_()",
        "found = squares.clamp(max=float(clip_norm) ** 2).rsqrt_()",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "samples at twice the rate",
        "sampling",
        "sampled_rows(self.rate,",
        "sampled_rows(min(2 * self.rate, 1.0),",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "padding counts",
        "session",
        "if part.rows and not part.trial else None",
        "if not part.trial else None",
        checks.padding_counts_for_nothing,
    ),
    Mutant(
        "rows that are no numbers count",
        "gradients.per_example",
        "if found.finite is not None:",
        "if False:",
        checks.rows_that_are_no_numbers_count_for_nothing,
    ),
    Mutant(
        "exact sums in single precision",
        "session",
        "self._clipping, self._double = plan.clipping, plan.noise.double",
        "self._clipping, self._double = plan.clipping, False",
        checks.exact_sums_are_in_double_precision,
    ),
    Mutant(
        "the count has a sensitivity of its own",
        "quantile",
        "return math.sin(self.angle) * (1 - 2.0**-50)",
        "return 1.0",
        checks.sum_and_count_share_the_sensitivity,
    ),
    Mutant(
        "the gradient keeps all of the sensitivity",
        "quantile",
        "return math.cos(self.angle) * (1 - 2.0**-50)",
        "return 1.0",
        checks.sum_and_count_share_the_sensitivity,
    ),
    Mutant(
        "groups are unbounded",
        "sampling",
        "np.minimum(sizes, most)",
        "sizes",
        checks.persons_are_bounded,
    ),
    Mutant("noise of scale one", "noise", "alpha=self.scale", "alpha=1.0", checks.noise_has_the_planned_scale),
    Mutant(
        "weights are not applied at once",
        "fused_gradient",
        "add_weighted(weights, ",
        "add_weighted(torch.ones_like(weights), ",
        checks.a_record_moves_a_step_by_a_clip_norm_at_most,
    ),
    Mutant(
        "noise of scale one at once",
        "fused_gradient",
        "scale = noise.scale * factor",
        "scale = factor",
        checks.noise_at_once_has_the_planned_scale,
    ),
    Mutant(
        "noise of another scale where no loss depends on a parameter",
        "fused_gradient",
        "if len(places) < len(grads):",
        "if False:",
        checks.noise_at_once_has_the_planned_scale,
    ),
    Mutant("steps are not counted", "update", "        self.draws += 1\n", "", checks.steps_end_with_the_plan),
    Mutant(
        "optimizers step by hand",
        "optimizers",
        "if not permit.granted:",
        "if False:",
        checks.optimizers_do_not_step_by_hand,
    ),
    Mutant(
        "gradients of frozen parameters are used",
        "optimizers",
        "            if id(value) not in trained:\n",
        "            if False:\n",
        checks.frozen_parameters_do_not_move,
    ),
    Mutant(
        "failed trainings begin again",
        "session",
        "if self._was_entered:",
        "if False:",
        checks.trainings_are_entered_once,
    ),
    Mutant(
        "samples are dropped",
        "batch_loop",
        "if seen or self.pending is not None or self._update.is_partial:",
        "if False:",
        checks.samples_are_not_dropped,
    ),
    Mutant(
        "losses mix examples",
        "session",
        "if not self._losses_seen and check_losses(losses, self.gradients):",
        "if False:",
        checks.losses_do_not_mix,
    ),
    Mutant(
        "batch norm is trained",
        "gradients.unsupported_layers",
        "(module.training or module.running_mean is None)",
        "(module.running_mean is None)",
        checks.batch_norm_stays_in_its_mode,
    ),
    Mutant(
        "lost steps are drawn again",
        "checkpoint",
        'update.draws = max(int(self._held["draws"]), self._journal.covered)',
        'update.draws = int(self._held["draws"])',
        checks.lost_steps_are_not_drawn_again,
    ),
    Mutant(
        "covered after the draw",
        "session",
        "        self._checkpoint.before_draw(self.update.draws)\n        self.update.finish(draw)\n",
        "        self.update.finish(draw)\n        self._checkpoint.before_draw(self.update.draws)\n",
        checks.draws_are_durable_before_they_happen,
    ),
    Mutant(
        "covered one draw late",
        "checkpoint",
        "draws >= self._journal.covered",
        "draws > self._journal.covered",
        checks.draws_are_durable_before_they_happen,
    ),
    Mutant(
        "the journal is not synced",
        "journal",
        "        os.fsync(self._file)\n",
        "",
        checks.draws_are_durable_before_they_happen,
    ),
    Mutant(
        "a torn line is read",
        "journal",
        'lines = content[: content.rfind(b"\\n") + 1]',
        "lines = content",
        checks.torn_lines_hide_nothing,
    ),
    Mutant("the journal is not locked", "journal", "fcntl.LOCK_EX", "fcntl.LOCK_UN", checks.one_run_at_a_time),
    Mutant(
        "any plan goes on",
        "checkpoint",
        'if plan_digest(candidate) == held["plan"]:',
        "if True:",
        checks.other_plans_are_refused,
    ),
    Mutant(
        "a seed is forgotten",
        "checkpoint",
        'self._held["seeded"] is not seeded',
        "False",
        checks.seeds_are_not_hidden,
    ),
    Mutant(
        "a closed charge is used again",
        "accounting.budget",
        "resumable.resumes and reservation.state == State.RESERVED",
        "resumable.resumes",
        checks.closed_charges_are_not_used_again,
    ),
    Mutant(
        "a resumed run takes over nothing",
        "checkpoint",
        "            return self._lease.take_over(draws)\n",
        "            return draws\n",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "the token is checked after the draw",
        "session",
        "        self._checkpoint.before_draw(self.update.draws)\n        self.update.finish(draw)\n",
        "        self.update.finish(draw)\n        self._checkpoint.before_draw(self.update.draws)\n",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "a checkpoint is written without a lease",
        "checkpoint",
        "            self._lease.begin(update.draws)\n",
        "",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "a superseded run uses the rest of its lease",
        "lease",
        "        elif perf_counter() - self._checked >= self._check_took / CHECK_SHARE:\n",
        "        elif False:\n",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "leased draws of an earlier run do not count",
        "lease",
        "        self.covered = self._reservation.take_over(draws)\n",
        "        self._reservation.take_over(draws)\n        self.covered = draws\n",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "leased one draw late",
        "lease",
        "if draws >= self.covered:",
        "if draws > self.covered:",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "a journal that is gone is not missed",
        "checkpoint",
        "            self._journal.check()\n",
        "",
        checks.copies_draw_what_was_charged,
    ),
    Mutant(
        "an open charge is anybody's",
        "accounting.budget",
        "resumable is not None and resumable.resumes and reservation.state",
        "resumable is not None and reservation.state",
        checks.one_charge_pays_for_one_run,
    ),
    Mutant(
        "every failure can go on",
        "checkpoint",
        "        return self._saved\n",
        "        return True\n",
        checks.failures_burn,
    ),
    Mutant(
        "records may mix in the loop",
        "rehearsal.observation",
        "return same and _dist",
        "return True or _dist",
        checks.loops_do_not_mix,
    ),
    Mutant(
        "rows are not compared alone",
        "rehearsal.trial_runs",
        "self._judge_alone(base.observed, alone, chosen.alone)",
        "pass",
        checks.loops_do_not_mix,
    ),
    Mutant(
        "rows alone keep their places",
        "rehearsal.trial_runs",
        "range(1, rows, 2)), list(range(0, rows, 2))",
        "range(0, rows, 2)), list(range(1, rows, 2))",
        checks.loops_do_not_mix,
    ),
    Mutant(
        "no value is foreign to a rehearsal",
        "rehearsal.trial_runs",
        "        if not charged:\n",
        "        if False:\n",
        checks.gates_are_seen,
    ),
    Mutant(
        "constants are not noted",
        "rehearsal.compared_constants",
        "self.constants.add(number)",
        "pass",
        checks.gates_are_seen,
    ),
    Mutant(
        "later steps are not rehearsed",
        "rehearsal.trial_runs",
        "while len(found) < count",
        "while False",
        checks.late_mixing_is_seen,
    ),
    Mutant(
        "weights are used outside of the model",
        "rehearsal.observation",
        "if not _close(total, grad,",
        "if False and not _close(total, grad,",
        checks.weights_as_inputs_of_layers_are_refused,
    ),
    Mutant(
        "penalties in the loss are ignored",
        "model_checks.check",
        "    if used:\n",
        "    if False:\n",
        checks.penalties_are_refused,
    ),
    Mutant(
        "floats are keys",
        "data.identity",
        "return KeyRule.FLOATS",
        "return int(key)",
        checks.keys_are_sound,
    ),
    Mutant(
        "missing keys are keys",
        "data.identity",
        "    if _is_missing(key):\n        return KeyRule.MISSING\n",
        "",
        checks.keys_are_sound,
    ),
    Mutant(
        "dates are keys",
        "data.identity",
        "isinstance(key, int | str | bytes | np.integer | np.bool_)",
        "True",
        checks.keys_are_sound,
    ),
    Mutant(
        "kinds are mixed", "data.identity", "len({_kind(key) for key in found}) > 1", "False", checks.keys_are_sound
    ),
    Mutant(
        "equal keys of two types are two people",
        "sampling",
        "numbers.setdefault(key, len(numbers)) for key in found",
        "numbers.setdefault((type(raw), key), len(numbers)) for raw, key in zip(keys, found)",
        checks.keys_are_sound,
    ),
    Mutant(
        "normal forms are people",
        "data.identity",
        'unicodedata.normalize("NFC", plain)',
        "plain",
        checks.keys_are_sound,
    ),
    Mutant(
        "a training goes on after half a step",
        "session",
        "        self._failed = True\n",
        "        pass\n",
        checks.half_steps_end_a_training,
    ),
    Mutant(
        "a plan is changed beside its noise",
        "plan",
        "if planned != (self.rate,",
        "if False and planned != (self.rate,",
        checks.plans_hold_together,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_mutant_is_killed(mutant, monkeypatch, record_property):
    take("torch", monkeypatch)  # that kernels compute the same is tested elsewhere
    name = full_name(mutant.module)
    source = Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, "the mutant no longer fits the source"
    with (
        logged_mutant(record_property, name, mutant.old, mutant.new),
        in_place(name, source.replace(mutant.old, mutant.new)),
        pytest.raises((Exception, pytest.fail.Exception)),
    ):
        mutant.check()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("check", sorted({mutant.check.__name__ for mutant in MUTANTS}))
def test_the_checks_pass_without_mutants(check, way, monkeypatch):
    take(way, monkeypatch)
    getattr(checks, check)()


@pytest.mark.parametrize("module", sorted({mutant.module for mutant in MUTANTS}))
def test_modules_work_in_the_place_of_themselves(module, monkeypatch):
    """So that a mutant dies of its line, and not of being put in place."""
    take("torch", monkeypatch)
    name = full_name(module)
    source = Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")
    with in_place(name, source):
        for check in {mutant.check for mutant in MUTANTS if mutant.module == module}:
            check()


def test_what_else_must_hold():
    checks.the_clip_norm_of_a_step_is_the_one_that_was_used()
    checks.models_are_committed_as_they_are()
