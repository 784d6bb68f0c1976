# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Trial runs of the user's loop on copies of a real batch, before the charge and at secret later steps.

The check of a model on synthetic inputs cannot see the code of the loop before and after the model. A rehearsal passes
copies of a real batch to the loop, and compares losses and per-example gradients:

- a few rows alone with the same rows inside the full batch;
- the full batch with a copy of it in which a row outside the compared rows is overwritten by another row;
- in the first rehearsal of a loop that draws random numbers, a few rows with such a copy under several seeds, because
  a loop may mix records only with some probability;
- before the charge only: the full batch with a copy in which a row outside the compared rows is enlarged, or filled
  with a constant from a comparison in the loop (infinity and NaN, if the loop tests for them).

Before the charge the loop also receives a batch of a single row, because such batches occur later: samples of one
record, empty samples, and the last part of a large sample.

The first rehearsal precedes the charge. Later rehearsals run at secret random steps, and take at most 2 % of the rows
and about 2 % of the CPU time of a training run. No result of a rehearsal enters a sum.

Dropout layers are off in a rehearsal. Random numbers belong to positions in the batch: rows alone get the numbers of
their positions in the full batch (`random_numbers`). Each run of a comparison begins in the same states of torch's
generator and of the loop's own generators. Comparisons are left out if the number of random numbers depends on the
records.
"""

import math
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import process_time
from typing import NamedTuple

import torch
from torch import Tensor

from dperm.errors import AssumptionError, DpermWarning, ParameterError
from dperm.noise.bits import Stream, SystemBits
from dperm.noise.choice import integer_below
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.model_checks.check import check_losses
from dperm.torch.model_checks.model_state import has_dropout, without_dropout
from dperm.torch.records import Batch
from dperm.torch.rehearsal.compared_constants import ComparedConstants
from dperm.torch.rehearsal.observation import (
    Factors,
    Observation,
    Parameters,
    agree,
    check_sums,
    observation_of,
    plain_gradients,
    tolerances_of,
)
from dperm.torch.rehearsal.random_numbers import RandomStates, RecordedNumbers, SharedRandomNumbers, same_states
from dperm.torch.rehearsal.trial_batches import (
    copied,
    has_rows,
    holds_real_numbers,
    picked,
    rows_differ,
    tensor_leaves,
    with_row_enlarged,
    with_row_filled,
    with_row_replaced,
)

ALONE = 5
"""Largest number of rows compared alone; odd, so that two classes are never equally frequent among them."""
FEWEST = 4
"""Smallest batch for a rehearsal before the charge; the first records of the data set replace smaller batches."""
STAND_IN = 16
"""Number of records in the batch that replaces a smaller batch."""
SEEDS = 16
"""Number of seeds in the first rehearsal of a random loop."""
FEWER_SEEDS = 8
"""Number of seeds for models with more than `LARGE` parameters."""
LARGE = 1_000_000
SEEDED = 8
"""Number of rows of a batch for one seed."""
CONSTANTS = 4
"""Largest number of constants tried from the comparisons of the loop."""
SHARE = 0.02
"""Largest share of later rehearsals in the rows of all planned steps, and in the CPU time so far."""

ACTS = "one record acts on the losses or gradients of others: they moved when "
REMEDY = (
    "Look for means, sums, counts, maxima, sorting or the length of the batch in the loop, in the loss (loss / len(x), "
    "a shape (n, 1) beside (n,)) and in the model, and compute each loss from its own record. If the loss depends on a "
    "count of batches (enumerate(private)), use private.steps_taken instead: rehearsals add batches to the loop, and "
    "steps_taken is constant in them. If the loop draws random numbers from another library than torch, attach with "
    "rehearsal=False."
)
ALONE_DIFFER = f"{ACTS}their records were given without the rest of the batch."
LEARNS_NOTHING = {
    False: "Nothing is charged yet. Unless you stop it, this training run is charged and learns nothing.",
    True: "This training is charged already. It learns nothing from such records.",
}
"""Consequence of non-finite gradients, before and after the charge."""
ROWS_ALONE_NOT_COMPARED = (
    "the loop draws random numbers of a kind, number or shape that rows alone do not have (such as randperm, randint, "
    "multinomial or exponential_), so rows alone were not compared with the full batch. Losses that depend on the "
    "length of the batch, on its class frequencies (class weights) or on a fixed row may go unnoticed."
)
DRAWS_VARY = (
    "the number of random numbers drawn by the loop depends on the values of records, so some comparisons of batches "
    "with one changed record were left out. Mixing of records may go unnoticed. Draw numbers in the shape of the whole "
    "batch instead: torch.rand(mask.shape)[mask] in place of torch.rand(mask.sum())."
)
STOPPED = (
    "the loop raised an error, ended or skipped a batch when the rehearsal put an unusual value into one row: a value "
    "larger than all others, a constant from a comparison in the loop, or a value that is not finite. So one record "
    "can stop the training of all others, after the charge. Check the data before attach, and remove the check from "
    "the loop: rows with non-finite gradients have weight 0. If no record can hold such a value, attach with "
    "rehearsal=False."
)
ONE_ROW = (
    "the loop raised an error, skipped a batch or gave losses of another shape when the rehearsal handed out a batch "
    "of a single row. Samples of one record, empty samples and the last part of a large sample are such batches. A "
    "usual cause is squeeze() without a dimension, which drops the dimension of the batch too: write squeeze(1), "
    "flatten(1) or [:, 0]."
)


class RandomRun(NamedTuple):
    """An observation, and the states of generators after it."""

    observed: Observation
    states: list[Tensor]


class SecretRows(NamedTuple):
    """Secret rows of a rehearsal.

    The rows ``alone`` are compared with the same rows in the full batch, in this order. The row ``changed`` is
    overwritten, in one trial by the row ``source``.
    """

    alone: list[int]
    changed: int
    source: int


@dataclass
class Rehearsal:
    """Rehearsals of one training run: trial batches, their comparison, and the schedule of later rehearsals.

    *Guarantees.* Rehearsals release nothing: losses and gradients of trial batches are only compared, and enter no
    sum. They are tests, not proofs; `docs/torch.md` lists which kinds of mixing of records they detect, and which kinds
    they can miss.

    Attributes
    ----------
    gradients
        Per-example gradients of the model.
    parameters
        Trained parameters with their names.
    clip_norm, steps
        Clipping norm and number of steps of the plan.
    enabled
        False switches rehearsals off.
    sees_steps
        Whether ordinary steps call `compare`. A later rehearsal then needs no run of the full batch.
    refusal
        Error message if the loop fails on the current trial batch; empty unless that batch has a single row or unusual
        values.
    """

    gradients: PerExampleGradients
    parameters: Parameters
    clip_norm: float
    steps: int = 1
    enabled: bool = True
    sees_steps: bool = True
    refusal: str = ""
    _secret: Stream = field(default_factory=lambda: SystemBits().stream())
    _later: list[int] | None = None
    _rows: list[int] = field(default_factory=list)
    _seen: Observation | None = None
    _waiting: tuple[Observation, list[int]] | None = None
    _states: RandomStates = field(default_factory=RandomStates)
    _is_random: bool = False
    _draws_vary: bool = False
    _drops: bool = False
    _sums_checked: bool = False
    _charged: bool = False
    _began: float = 0.0
    _spent: float = 0.0
    _estimate: float = 0.0

    def is_due(self, draws: int, batch: Batch, rows: int) -> bool:
        """Return whether to rehearse with this batch: before the first step, and before secret later steps.

        Warns, and disables rehearsals, if the batch is not made of tensors with one row for each record.
        """
        if not self.enabled or rows < 2 or not (self._later is None or self._is_affordable(draws)):
            return False
        if has_rows(batch, rows):
            self._drops = has_dropout(self.gradients.model)
            return True
        self.enabled = False
        warnings.warn(
            "the loop is not rehearsed, because a batch holds something else than tensors with one row for each "
            "record: mixing of records in the loop is not tested. Return tensors from collate_fn, records first.",
            DpermWarning,
            stacklevel=4,
        )
        return False

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Switch dropout off, and restore the states of random generators afterwards."""
        self._states = RandomStates()
        try:
            with without_dropout(self.gradients.model), self._states:
                yield
        finally:
            self._states.rewind()

    def batches(self, batch: Batch, rows: int, draws: int, *, charged: bool = True) -> Iterator[tuple[Batch, int]]:
        """Yield trial batches made from ``batch``, with their numbers of rows. The caller passes the losses to `note`.

        Before the charge, when an error of the loop costs nothing, the trial batches also include batches with unusual
        values in one row (such as infinity) and a batch of a single row.

        Raises
        ------
        AssumptionError
            If one record affects the losses or gradients of other records.
        """
        self._charged = charged
        self.refusal, chosen, began, runs = "", self._secret_rows(batch, rows), process_time(), 0
        if self._later is not None and self._compares_with_steps:
            found = self._alone_before_a_step(batch, chosen)
        else:
            found = self._several(batch, rows, chosen, charged=charged)
        for run in found:
            runs += 1
            yield run
        seconds = process_time() - began
        if self._is_random and self._later is None:
            yield from self._with_other_seeds(batch, rows)
        if self._draws_vary and self._later is None:
            warnings.warn(DRAWS_VARY, DpermWarning, stacklevel=4)
        self._note_time(seconds, runs)
        self._schedule(draws)

    def note(self, losses: Tensor) -> None:
        """Record losses and gradients of a trial batch."""
        if not self._sums_checked:
            check_losses(losses, self.gradients)
        self._seen = self._observed(losses)

    @property
    def waits(self) -> bool:
        """Whether the next ordinary step must call `compare`."""
        return self._waiting is not None

    def compare(self, losses: Tensor, factors: Factors) -> None:
        """Compare rows that were handed out alone with the same rows in the batch of an ordinary step."""
        if self._waiting is not None:
            (alone, rows), self._waiting, began = self._waiting, None, process_time()
            with torch.no_grad():
                whole = observation_of(
                    losses, factors, parameters=self.parameters, rows=rows, tolerances=alone.tolerances
                )
            self._judge_alone(whole, alone, rows)
            seconds = process_time() - began
            self._spent, self._estimate = self._spent + seconds, self._estimate + seconds

    @property
    def _compares_with_steps(self) -> bool:
        return self.sees_steps and not self._is_random and not self._drops

    def _is_affordable(self, draws: int) -> bool:
        """Whether a later rehearsal is due and its CPU time is within `SHARE`; a costly rehearsal waits."""
        if not self._later or draws < self._later[0]:
            return False
        return self._spent + self._estimate <= SHARE * (process_time() - self._began)

    def _note_time(self, seconds: float, runs: int) -> None:
        """Add the CPU time of a later rehearsal; the first rehearsal estimates the cost of one run."""
        if self._later is None:
            self._began, self._estimate = process_time(), seconds / max(1, runs)
        else:
            self._spent += seconds
            self._estimate = seconds

    def _schedule(self, draws: int) -> None:
        """Draw the secret steps of later rehearsals, or remove the step of the finished one."""
        if self._later is not None:
            self._later = self._later[1:]
            return
        cost = 1 if self._compares_with_steps else 4 if self._is_random else 2
        count = min(int(SHARE * self.steps / cost), self.steps - draws - 1)
        found: set[int] = set()
        while len(found) < count:
            found.add(draws + 1 + integer_below(self.steps - draws - 1, self._secret))
        self._later = sorted(found)

    def _secret_rows(self, batch: Batch, rows: int) -> SecretRows:
        """Draw secret rows; each row compared alone moves to a place of the other parity."""
        halves: list[list[int]] = [list(range(1, rows, 2)), list(range(0, rows, 2))]
        alone = [halves[place % 2].pop(self._below(len(halves[place % 2]))) for place in range(min(ALONE, rows // 2))]
        others = [row for half in halves for row in half]
        changed = others.pop(self._below(len(others)))
        sources = [row for row in range(rows) if row != changed]
        for _ in range(8):  # mostly the first one differs
            source = sources[self._below(len(sources))]
            if rows_differ(batch, changed, source):
                break
        return SecretRows(alone, changed, source)

    def _below(self, bound: int) -> int:
        return integer_below(bound, self._secret)

    def _alone_before_a_step(self, batch: Batch, chosen: SecretRows) -> Iterator[tuple[Batch, int]]:
        self._states.rewind()
        alone = yield from self._run(picked(batch, chosen.alone), list(range(len(chosen.alone))))
        self._is_random = self._states.changed
        self._waiting = None if self._is_random else (alone, chosen.alone)

    def _several(self, batch: Batch, rows: int, chosen: SecretRows, *, charged: bool) -> Iterator[tuple[Batch, int]]:
        """Yield the batch itself, rows alone, the batch with one changed row, and before the charge a single row."""
        compared = ComparedConstants()
        with nullcontext() if charged else compared:
            base = yield from self._random_run(copied(batch), chosen.alone)
        self._is_random = self._states.changed
        if not self._is_random:
            alone = yield from self._run(picked(batch, chosen.alone), list(range(len(chosen.alone))))
            self._judge_alone(base.observed, alone, chosen.alone)
        else:
            yield from self._alone_with_shared_numbers(batch, rows, chosen)
        if self._later is None or self._is_random:
            yield from self._with_row_replaced(batch, chosen, base)
        if not charged:
            yield from self._one_row(batch, chosen)
            yield from self._with_foreign_values(batch, chosen, base, compared)

    def _alone_with_shared_numbers(self, batch: Batch, rows: int, chosen: SecretRows) -> Iterator[tuple[Batch, int]]:
        """Compare rows alone with the full batch of a random loop, both with the numbers of the full batch.

        If each row has draws of its own, several orders of the draws are possible. One of them must agree.
        """
        numbers, is_compared, agrees = RecordedNumbers(rows, self._below(2**62)), False, False
        orders: list[list[int] | None] = [None]
        self._states.rewind()
        with SharedRandomNumbers(numbers):
            whole = yield from self._run(copied(batch), chosen.alone)
            while orders and not agrees and not self._states.changed:
                order = orders.pop(0)
                numbers.replay(chosen.alone, order)
                alone = yield from self._run(picked(batch, chosen.alone), list(range(len(chosen.alone))))
                if numbers.matches and not self._states.changed:
                    is_compared, agrees = True, self._agree_alone(whole, alone, chosen.alone)
                elif order is None:
                    orders = list(numbers.row_orders())
        if is_compared and not agrees:
            raise AssumptionError(ALONE_DIFFER, remedy=REMEDY)
        if not is_compared and self._later is None:
            warnings.warn(ROWS_ALONE_NOT_COMPARED, DpermWarning, stacklevel=6)

    def _with_row_replaced(self, batch: Batch, chosen: SecretRows, base: RandomRun) -> Iterator[tuple[Batch, int]]:
        """Compare the batch with the same batch after one row was replaced by a copy of another."""
        replaced = with_row_replaced(batch, chosen.changed, chosen.source)
        other = yield from self._random_run(replaced, chosen.alone)
        is_compared = self._judge_changed(base, other, chosen.changed)
        if is_compared and self._is_random and rows_differ(batch, chosen.changed, chosen.source):
            _warn_if_ignored(base.observed, other.observed, chosen.changed)

    def _with_other_seeds(self, batch: Batch, rows: int) -> Iterator[tuple[Batch, int]]:
        """Replace one of a few secret rows, for several secret seeds: a loop may mix records only by chance."""
        count = sum(parameter.numel() for _, parameter in self.parameters)
        for _ in range(FEWER_SEEDS if count > LARGE else SEEDS):
            places, seed = list(range(rows)), self._below(2**62)
            few = picked(batch, [places.pop(self._below(len(places))) for _ in range(min(rows, SEEDED))])
            chosen = self._secret_rows(few, min(rows, SEEDED))
            replaced = with_row_replaced(few, chosen.changed, chosen.source)
            base = yield from self._random_run(copied(few), chosen.alone, seed)
            other = yield from self._random_run(replaced, chosen.alone, seed)
            self._judge_changed(base, other, chosen.changed)

    def _one_row(self, batch: Batch, chosen: SecretRows) -> Iterator[tuple[Batch, int]]:
        """Pass a batch of one row to the loop; only the shape of its losses is checked."""
        self.refusal = ONE_ROW
        yield from self._random_run(picked(batch, chosen.alone[:1]), [0])
        self.refusal = ""

    def _with_foreign_values(
        self, batch: Batch, chosen: SecretRows, base: RandomRun, compared: ComparedConstants
    ) -> Iterator[tuple[Batch, int]]:
        """Enlarge one row, and fill it with constants from comparisons of the loop; skip batches of integers."""
        if not holds_real_numbers(batch):
            return
        tried = [with_row_enlarged(batch, chosen.changed)]
        constants = sorted(value for value in compared.constants if math.isfinite(value))
        while len(constants) > CONSTANTS:
            constants.pop(self._below(len(constants)))
        if compared.tests_finiteness or len(constants) < len(compared.constants):
            constants += [math.inf, math.nan]
        tried += [with_row_filled(batch, chosen.changed, value) for value in constants]
        for changed in tried:
            self.refusal = STOPPED
            other = yield from self._random_run(changed, chosen.alone)
            self.refusal = ""
            self._judge_changed(base, other, chosen.changed)

    def _run(self, batch: Batch, rows: list[int]) -> Generator[tuple[Batch, int], None, Observation]:
        """Pass a batch to the loop, and return its observation; ``rows`` are compared in all detail."""
        self._seen, self._rows = None, rows
        yield batch, len(tensor_leaves(batch)[0])
        if self._seen is None:
            raise ParameterError("Call private.step(losses) once for every batch of a rehearsal.")
        return self._seen

    def _random_run(
        self, batch: Batch, rows: list[int], seed: int = -1
    ) -> Generator[tuple[Batch, int], None, RandomRun]:
        """Run from the initial states of generators, or from states with this seed."""
        self._states.rewind(seed)
        observed = yield from self._run(batch, rows)
        return RandomRun(observed, self._states.snapshot())

    def _observed(self, losses: Tensor) -> Observation:
        """Observe losses and gradients of a batch; for the first batch, also check the sums of the gradients."""
        tolerances = tolerances_of(self.gradients, losses)
        lifted = self.gradients.lifted()
        plain = None if self._sums_checked else plain_gradients(losses, [parameter for _, parameter in self.parameters])
        factors = self.gradients.factors(losses)
        with torch.no_grad():
            seen = observation_of(losses, factors, parameters=self.parameters, rows=self._rows, tolerances=tolerances)
            if plain is not None:
                self._sums_checked = True
                self._warn_of_nonfinite(seen)
                check_sums(seen, factors, parameters=self.parameters, plain=plain, lifted=lifted)
        return seen

    def _warn_of_nonfinite(self, seen: Observation) -> None:
        if not bool(seen.norms.isfinite().all(0).any()):
            warnings.warn(
                "no record of the first batch has a finite gradient, and such records have weight 0. "
                f"{LEARNS_NOTHING[self._charged]} Look for values that are not finite in the data and in the loss.",
                DpermWarning,
                stacklevel=2,
            )

    def _agree_alone(self, whole: Observation, alone: Observation, rows: list[int]) -> bool:
        part = Observation(whole.losses[rows], whole.norms[:, rows], whole.combination, whole.tolerances)
        every = range(len(rows))
        return agree(part, alone, whole.tolerances.alone, rows=every, compared=every, clip_norm=self.clip_norm)

    def _judge_alone(self, whole: Observation, alone: Observation, rows: list[int]) -> None:
        if not self._agree_alone(whole, alone, rows):
            raise AssumptionError(ALONE_DIFFER, remedy=REMEDY)

    def _judge_changed(self, base_run: RandomRun, other_run: RandomRun, changed: int) -> bool:
        """Compare two runs, and return False if they drew different numbers of random numbers.

        If the first run drew none, random numbers of the other run are an influence of the changed row.
        """
        if self._is_random and not same_states(base_run.states, other_run.states):
            self._draws_vary = True
            return False
        base, other = base_run.observed, other_run.observed
        kept = [row for row in range(len(base.losses)) if row != changed]
        tolerance = base.tolerances.same_shape
        if not agree(base, other, tolerance, rows=kept, compared=self._rows, clip_norm=self.clip_norm):
            raise AssumptionError(f"{ACTS}it was given another value.", remedy=REMEDY)
        return True


def _warn_if_ignored(base: Observation, other: Observation, changed: int) -> None:
    """Warn if loss and gradients of a row stay the same although it contains another record, and the loss is not 0."""
    same = torch.equal(base.norms[:, changed], other.norms[:, changed])
    if same and bool(base.losses[changed] != 0) and bool(base.losses[changed] == other.losses[changed]):
        warnings.warn(
            "the loss of a record did not change when another record was put in its place. If the loop uses other rows "
            "than those of the batch, such as random rows of its own, the guarantee does not cover them: use the batch "
            "of the loop.",
            DpermWarning,
            stacklevel=2,
        )
