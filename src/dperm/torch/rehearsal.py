# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rehearsals of the user's loop: they test whether one record acts on the losses or gradients of others.

The check of a model on synthetic inputs cannot see the code of the loop before and after the model. A rehearsal hands
copies of a real batch to the loop, and compares losses and per-example gradients:

- a few rows alone with the same rows inside the full batch;
- the batch with the same batch in which one other row is replaced by a copy of some row;
- in the first rehearsal of a random loop, the same with a few rows and several seeds, because a loop may mix records
  with some probability only;
- before the charge only: the same with one other row enlarged, or filled with a constant that the loop compares
  tensors with (infinity and NaN, if it asks for them).

Before the charge the loop also gets a batch of a single row: samples of one record, and the last part of a large
sample, may come later.

The first rehearsal precedes the charge. Later ones run at secret random steps, and take at
most 2 % of the rows and about 2 % of the CPU time of a training.
Nothing of a rehearsal enters a sum. Differences are relative to the norm of an example's whole gradient: the true
gradient of one parameter, such as the key bias of attention, may be 0.

Dropout layers are off meanwhile. Random numbers belong to places of the batch: where the loop or the model draws some,
rows alone get the numbers of their places in the full batch (`random_numbers`). Each run of a comparison begins in the
same states of torch's generator and of the loop's own generators. Comparisons are left out if the number of random
numbers depends on the records.
"""

import math
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import process_time
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from dperm.errors import AssumptionError, DpermWarning, ParameterError
from dperm.noise.bits import Stream, SystemBits
from dperm.noise.choice import integer_below
from dperm.torch.compared_constants import ComparedConstants
from dperm.torch.engine.check import check_losses
from dperm.torch.engine.factors import Factor
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.tape import refuse_second_backward
from dperm.torch.engine.untouched import has_dropout, without_dropout
from dperm.torch.random_numbers import RandomStates, RecordedNumbers, SharedRandomNumbers, same_states
from dperm.torch.records import Batch
from dperm.torch.trial_batches import (
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
"""Largest number of rows that are compared alone; odd, so that two classes are never equally frequent among them."""
FEWEST = 4
"""Smaller batches are not rehearsed before the charge: the first records of the data set stand in."""
STAND_IN = 16
"""Number of records of such a stand-in."""
SEEDS = 16
"""Number of seeds that the first rehearsal of a random loop tries."""
FEWER_SEEDS = 8
"""Number of seeds for models with more than `LARGE` parameters."""
LARGE = 1_000_000
SEEDED = 8
"""Number of rows of a batch for one seed."""
CONSTANTS = 4
"""Largest number of constants of the loop that are tried."""
SHARE = 0.02
"""Largest share of later rehearsals in the rows of all planned steps, and in the CPU time so far."""
SMALL = 1e-5
"""Differences below this multiple of the clip norm do not count."""


class Tolerances(NamedTuple):
    """Largest relative differences that count as rounding, by the precision of a forward pass.

    Between single and double precision, gradients of 12 layers of ReLU and of attention with enlarged weights differ by
    up to 6e-3 of their norm, mostly by 1e-7. The same kernels run on batches of the same shape, and treat rows alike.
    """

    alone: float
    same_shape: float
    summed: float


SINGLE, DOUBLE, HALF = Tolerances(2e-2, 1e-3, 2e-3), Tolerances(1e-4, 1e-6, 1e-6), Tolerances(2e-1, 2e-2, 2e-2)

ACTS = "one record acts on the losses or gradients of others: they moved when "
REMEDY = (
    "Look for means, sums, counts, maxima, sorting or the length of the batch in the loop, in the loss (loss / len(x), "
    "a shape (n, 1) beside (n,)) and in the model, and make each loss one of its own record. If the loss depends on a "
    "count of batches (enumerate(private)), use private.steps_taken instead: rehearsals add batches to the loop, and "
    "steps_taken is constant in them. If the loop draws random numbers that torch does not know, attach with "
    "rehearsal=False."
)
ALONE_DIFFER = f"{ACTS}their records were given without the rest of the batch. {REMEDY}"
LEARNS_NOTHING = {
    False: "Nothing is charged yet. Unless you stop it, this training is charged and learns nothing.",
    True: "This training is charged already. It learns nothing from such records.",
}
"""Consequence of gradients that are not finite, by whether the run was charged."""
ROWS_ALONE_NOT_COMPARED = (
    "the loop draws random numbers of a kind, number or shape that rows do not have when they are alone (such as "
    "randperm, randint, multinomial or exponential_), so rows alone were not compared with the full batch. Losses that "
    "depend on the length of the batch, on its class frequencies (class weights) or on a fixed row may go unnoticed."
)
DRAWS_VARY = (
    "the number of random numbers that the loop draws depends on the values of records, so some comparisons of batches "
    "with one changed record were left out. Mixing of records may go unnoticed. Draw numbers in the shape of the whole "
    "batch instead: torch.rand(mask.shape)[mask] in place of torch.rand(mask.sum())."
)
STOPPED = (
    "the loop raised an error, or ended, when the rehearsal put an unusual value into one row: a value larger than all "
    "others, one that the loop compares tensors with, or one that is not finite. So one record can stop the "
    "training of all others, after the charge. Check the data before attach, and remove the check from the loop: rows "
    "whose gradients are not finite have no weight. If no record can hold such a value, attach with rehearsal=False."
)

ONE_ROW = (
    "the loop raised an error, skipped a batch or gave losses of another shape when the rehearsal handed out a batch "
    "of a single row. Samples of one record, empty samples and the last part of a large sample are such batches. A "
    "usual cause is squeeze() without a dimension, which drops the dimension of the batch too: write squeeze(1), "
    "flatten(1) or [:, 0]."
)


@dataclass(frozen=True)
class Observation:
    """Losses and gradients of one batch.

    Attributes
    ----------
    losses, norms
        One loss for each row, and norms of gradients of shape (parameters, rows).
    combination
        For each parameter, the sum of the gradients of the compared rows; None without gradient.
    tolerances
        Those of the precision of the forward pass.
    """

    losses: Tensor
    norms: Tensor
    combination: list[Tensor | None]
    tolerances: Tolerances

    @property
    def totals(self) -> Tensor:
        """Norm of each row's whole gradient; infinite if it is not a number."""
        norms: Tensor = torch.linalg.vector_norm(self.norms, dim=0)
        return norms.nan_to_num(math.inf, math.inf)


class RandomRun(NamedTuple):
    """An observation, and the states of generators after it."""

    observed: Observation
    states: list[Tensor]


class Selection(NamedTuple):
    """Secret rows of a rehearsal: those compared alone, in order; the row that is changed, and one to copy there."""

    alone: list[int]
    changed: int
    source: int


@dataclass
class Rehearsal:
    """The rehearsals of one training.

    Attributes
    ----------
    gradients
        The engine.
    parameters
        Trained parameters with their names.
    clip_norm, steps
        Of the plan.
    enabled
        False switches rehearsals off.
    sees_steps
        Whether `compare` is called in ordinary steps. A later rehearsal then needs no run of the full batch.
    refusal
        Message if the loop fails at the batch handed out last; empty for ordinary batches.
    """

    gradients: PerExampleGradients
    parameters: Sequence[tuple[str, nn.Parameter]]
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
        """Whether to rehearse with this batch before the next step: at the first one, and at secret ones later."""
        if not self.enabled or rows < 2 or not (self._later is None or self._is_affordable(draws)):
            return False
        if has_rows(batch, rows):
            self._drops = has_dropout(self.gradients.model)
            return True
        self.enabled = False
        warnings.warn(
            "the loop is not rehearsed, because a batch holds something else than tensors with one row for each "
            "record: whether the loop mixes records is not tested. Return tensors from collate_fn, records first.",
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
        """Yield copies of the batch, each with its number of rows; `note` is called with the losses of each.

        Before the charge the copies include foreign values. An error of the loop then costs nothing.
        """
        self._charged = charged
        self.refusal, chosen, began, runs = "", self._selection(batch, rows), process_time(), 0
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
        """Record losses and gradients of a batch of the rehearsal."""
        if not self._sums_checked:
            check_losses(losses, self.gradients)
        self._seen = self._observed(losses)

    @property
    def waits(self) -> bool:
        """Whether rows alone are to be compared with the step that follows."""
        return self._waiting is not None

    def compare(self, losses: Tensor, factors: list[tuple[nn.Parameter, Factor]]) -> None:
        """Compare rows that were alone before with the same rows in the batch of an ordinary step."""
        if self._waiting is not None:
            (alone, rows), self._waiting, began = self._waiting, None, process_time()
            with torch.no_grad():
                whole = self._of_factors(losses, factors, rows, alone.tolerances)
            self._judge_alone(whole, alone, rows)
            seconds = process_time() - began
            self._spent, self._estimate = self._spent + seconds, self._estimate + seconds

    @property
    def _compares_with_steps(self) -> bool:
        return self.sees_steps and not self._is_random and not self._drops

    def _is_affordable(self, draws: int) -> bool:
        """Whether a later rehearsal is due, and CPU time allows it: one that is too dear waits for its share."""
        if not self._later or draws < self._later[0]:
            return False
        return self._spent + self._estimate <= SHARE * (process_time() - self._began)

    def _note_time(self, seconds: float, runs: int) -> None:
        """Add up the CPU time of later rehearsals; the first one gives an estimate of what a run of the loop costs."""
        if self._later is None:
            self._began, self._estimate = process_time(), seconds / max(1, runs)
        else:
            self._spent += seconds
            self._estimate = seconds

    def _schedule(self, draws: int) -> None:
        """Draw the secret steps of later rehearsals, or drop the one that is done."""
        if self._later is not None:
            self._later = self._later[1:]
            return
        cost = 1 if self._compares_with_steps else 4 if self._is_random else 2
        count = min(int(SHARE * self.steps / cost), self.steps - draws - 1)
        found: set[int] = set()
        while len(found) < count:
            found.add(draws + 1 + integer_below(self.steps - draws - 1, self._secret))
        self._later = sorted(found)

    def _selection(self, batch: Batch, rows: int) -> Selection:
        """Secret rows; each row that is compared alone moves to a place of the other parity."""
        halves: list[list[int]] = [list(range(1, rows, 2)), list(range(0, rows, 2))]
        alone = [halves[place % 2].pop(self._below(len(halves[place % 2]))) for place in range(min(ALONE, rows // 2))]
        others = [row for half in halves for row in half]
        changed = others.pop(self._below(len(others)))
        sources = [row for row in range(rows) if row != changed]
        for _ in range(8):  # mostly the first one differs
            source = sources[self._below(len(sources))]
            if rows_differ(batch, changed, source):
                break
        return Selection(alone, changed, source)

    def _below(self, bound: int) -> int:
        return integer_below(bound, self._secret)

    def _alone_before_a_step(self, batch: Batch, chosen: Selection) -> Iterator[tuple[Batch, int]]:
        self._states.rewind()
        alone = yield from self._run(picked(batch, chosen.alone), list(range(len(chosen.alone))))
        self._is_random = self._states.changed
        self._waiting = None if self._is_random else (alone, chosen.alone)

    def _several(self, batch: Batch, rows: int, chosen: Selection, *, charged: bool) -> Iterator[tuple[Batch, int]]:
        """Yield the batch itself, rows alone, and the batch with one row changed."""
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

    def _alone_with_shared_numbers(self, batch: Batch, rows: int, chosen: Selection) -> Iterator[tuple[Batch, int]]:
        """Compare rows alone with the full batch where random numbers are drawn: both with those of the full batch.

        If each row has draws of its own, several orders of the draws are possible, and one of them has to agree.
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
            raise AssumptionError(ALONE_DIFFER)
        if not is_compared and self._later is None:
            warnings.warn(ROWS_ALONE_NOT_COMPARED, DpermWarning, stacklevel=6)

    def _with_row_replaced(self, batch: Batch, chosen: Selection, base: RandomRun) -> Iterator[tuple[Batch, int]]:
        """Compare a batch with the same one in which a row is replaced by a copy of another one."""
        replaced = with_row_replaced(batch, chosen.changed, chosen.source)
        other = yield from self._random_run(replaced, chosen.alone)
        is_compared = self._judge_changed(base, other, chosen.changed)
        if is_compared and self._is_random and rows_differ(batch, chosen.changed, chosen.source):
            _warn_if_ignored(base.observed, other.observed, chosen.changed)

    def _with_other_seeds(self, batch: Batch, rows: int) -> Iterator[tuple[Batch, int]]:
        """Replace a row among a few secret rows, for several secret seeds: a loop may mix records by chance only."""
        count = sum(parameter.numel() for _, parameter in self.parameters)
        for _ in range(FEWER_SEEDS if count > LARGE else SEEDS):
            places, seed = list(range(rows)), self._below(2**62)
            few = picked(batch, [places.pop(self._below(len(places))) for _ in range(min(rows, SEEDED))])
            chosen = self._selection(few, min(rows, SEEDED))
            replaced = with_row_replaced(few, chosen.changed, chosen.source)
            base = yield from self._random_run(copied(few), chosen.alone, seed)
            other = yield from self._random_run(replaced, chosen.alone, seed)
            self._judge_changed(base, other, chosen.changed)

    def _one_row(self, batch: Batch, chosen: Selection) -> Iterator[tuple[Batch, int]]:
        """Hand out a batch of one row. Its losses are not compared: only their shape is checked."""
        self.refusal = ONE_ROW
        yield from self._random_run(picked(batch, chosen.alone[:1]), [0])
        self.refusal = ""

    def _with_foreign_values(
        self, batch: Batch, chosen: Selection, base: RandomRun, compared: ComparedConstants
    ) -> Iterator[tuple[Batch, int]]:
        if not holds_real_numbers(batch):
            return
        tried = [with_row_enlarged(batch, chosen.changed)]
        constants = sorted(value for value in compared.constants if math.isfinite(value))
        while len(constants) > CONSTANTS:
            constants.pop(self._below(len(constants)))
        if compared.asks_for_finiteness or len(constants) < len(compared.constants):
            constants += [math.inf, math.nan]
        tried += [with_row_filled(batch, chosen.changed, value) for value in constants]
        for changed in tried:
            self.refusal = STOPPED
            other = yield from self._random_run(changed, chosen.alone)
            self.refusal = ""
            self._judge_changed(base, other, chosen.changed)

    def _run(self, batch: Batch, rows: list[int]) -> Generator[tuple[Batch, int], None, Observation]:
        """Hand out a batch, of which ``rows`` are compared in all detail, and return its observation."""
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
        """Losses and gradients of a batch; in the first one, also compare their sum with an ordinary gradient."""
        tolerances = self._tolerances(losses)
        lifted = self.gradients.lifted()
        plain = None if self._sums_checked else _plain(losses, [parameter for _, parameter in self.parameters])
        factors = self.gradients.factors(losses)
        with torch.no_grad():
            seen = self._of_factors(losses, factors, self._rows, tolerances)
            if plain is not None:
                self._check_sums(seen, factors, plain, lifted)
        return seen

    def _of_factors(
        self, losses: Tensor, factors: list[tuple[nn.Parameter, Factor]], rows: list[int], tolerances: Tolerances
    ) -> Observation:
        by_id = {id(parameter): factor for parameter, factor in factors}
        found = [by_id.get(id(parameter)) for _, parameter in self.parameters]
        zeros = torch.zeros(len(losses), dtype=torch.float64, device=losses.device)
        squares = [zeros if factor is None else factor.squared_norms() for factor in found]
        norms = torch.stack([values.double().clamp(min=0).sqrt() for values in squares])
        finite = norms.isfinite().all(0)
        weights = torch.zeros_like(zeros)
        weights[rows] = 1
        weights *= finite
        combined: list[Tensor | None] = []
        for factor, values in zip(found, squares, strict=True):
            kept = factor if factor is None or bool(finite.all()) else factor.masked(finite)
            combined.append(None if kept is None else kept.weighted(weights.to(values.dtype)))
        return Observation(losses.detach().double(), norms, combined, tolerances)

    def _check_sums(
        self,
        seen: Observation,
        factors: list[tuple[nn.Parameter, Factor]],
        plain: tuple[Tensor | None, ...],
        lifted: set[int],
    ) -> None:
        """Check that the examples' gradients add up to the gradient of the sum, for every parameter."""
        self._sums_checked = True
        if not bool(seen.norms.isfinite().all(0).any()):
            warnings.warn(
                "no record of the first batch has a finite gradient, and such records count for nothing. "
                f"{LEARNS_NOTHING[self._charged]} Look for values that are not finite in the data and in the loss.",
                DpermWarning,
                stacklevel=2,
            )
        whole = float(torch.linalg.vector_norm(seen.totals.nan_to_num(0, 0)))
        by_id = {id(parameter): factor for parameter, factor in factors}
        for (name, parameter), grad in zip(self.parameters, plain, strict=True):
            if id(parameter) in lifted or grad is None:
                continue
            factor = by_id.get(id(parameter))
            ones = torch.ones(len(seen.losses), dtype=parameter.dtype, device=parameter.device)
            total = torch.zeros_like(grad) if factor is None else factor.weighted(ones)
            if not _close(total, grad, seen.tolerances.summed, whole):
                raise _use_refusal(name)

    def _tolerances(self, losses: Tensor) -> Tolerances:
        """Tolerances of the coarsest precision that outputs, losses or inputs of layers have."""
        leaves = [*pytree.tree_leaves(self.gradients.outputs), losses]
        leaves += [value for entry in self.gradients.tape.entries for value in entry.inputs]
        kinds = {leaf.dtype for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()}
        if kinds & {torch.float16, torch.bfloat16}:
            return HALF
        return DOUBLE if kinds == {torch.float64} else SINGLE

    def _agree_alone(self, whole: Observation, alone: Observation, rows: list[int]) -> bool:
        part = Observation(whole.losses[rows], whole.norms[:, rows], whole.combination, whole.tolerances)
        return self._agree(part, alone, whole.tolerances.alone, range(len(rows)), compared=range(len(rows)))

    def _judge_alone(self, whole: Observation, alone: Observation, rows: list[int]) -> None:
        if not self._agree_alone(whole, alone, rows):
            raise AssumptionError(ALONE_DIFFER)

    def _judge_changed(self, base_run: RandomRun, other_run: RandomRun, changed: int) -> bool:
        """Compare two runs, unless they drew different amounts of random numbers; return whether they are compared.

        Where the first run drew none, numbers that the other one draws are an influence of the changed row.
        """
        if self._is_random and not same_states(base_run.states, other_run.states):
            self._draws_vary = True
            return False
        base, other = base_run.observed, other_run.observed
        kept = [row for row in range(len(base.losses)) if row != changed]
        if not self._agree(base, other, base.tolerances.same_shape, kept, compared=self._rows):
            raise AssumptionError(f"{ACTS}it was given another value. {REMEDY}")
        return True

    def _agree(
        self, one: Observation, other: Observation, tolerance: float, rows: Sequence[int], *, compared: Sequence[int]
    ) -> bool:
        """Whether two observations agree in ``rows``, and in the sum of the gradients of the rows ``compared``."""
        kept, small, totals = list(rows), SMALL * self.clip_norm, one.totals
        same = _same(one.losses[kept], other.losses[kept], tolerance * one.losses[kept].abs() + tolerance)
        same &= _same(one.norms[:, kept], other.norms[:, kept], tolerance * totals[kept] + small)
        allowed = tolerance * float(totals[list(compared)].nan_to_num(0, 0).sum()) + small
        return same and _distance(one.combination, other.combination) <= allowed


def _warn_if_ignored(base: Observation, other: Observation, changed: int) -> None:
    """Warn if a row's loss, which is not 0, and its gradients stay the same although it holds another record."""
    same = torch.equal(base.norms[:, changed], other.norms[:, changed])
    if same and bool(base.losses[changed] != 0) and bool(base.losses[changed] == other.losses[changed]):
        warnings.warn(
            "the loss of a record did not change when another record was put in its place. If the loop takes rows "
            "from elsewhere than the batch that it is given, such as random rows of its own, the guarantee does "
            "not cover them: use the batch of the loop.",
            DpermWarning,
            stacklevel=2,
        )


def _plain(losses: Tensor, values: list[nn.Parameter]) -> tuple[Tensor | None, ...]:
    """The gradient of the sum of the losses, as ``backward()`` finds it."""
    try:
        return torch.autograd.grad(losses.sum(), values, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        refuse_second_backward(error)
        raise


def _use_refusal(name: str) -> AssumptionError:
    return AssumptionError(
        f"the gradients of the examples do not add up to that of the parameter {name!r}. Either the loss mixes "
        f"examples (a mean, a sum or a softmax over the batch): make each loss one of its own example. Or the "
        f"parameter is used outside of the model's forward pass, or hooked: use it in the model, and put penalties "
        f"(weight decay) into the optimizer."
    )


def _close(one: Tensor, other: Tensor, tolerance: float, whole: float) -> bool:
    """Whether two sums agree, relative to themselves and to ``whole``, the norm of all gradients of the batch."""
    if not (bool(one.isfinite().all()) and bool(other.isfinite().all())):
        return True  # a row that is not finite makes both so; it will count for nothing
    scale = float(torch.linalg.vector_norm(one) + torch.linalg.vector_norm(other))
    return float(torch.linalg.vector_norm(one - other)) <= tolerance * (scale + 0.1 * whole) + 1e-12


def _same(one: Tensor, other: Tensor, allowed: Tensor) -> bool:
    """Whether numbers differ by no more than ``allowed``; those that are not finite have to be so in both."""
    finite = one.isfinite()
    if not torch.equal(finite, other.isfinite()):
        return False
    return bool((((one - other).abs() <= allowed) | ~finite).all())


def _distance(one: Sequence[Tensor | None], other: Sequence[Tensor | None]) -> float:
    """Norm of the difference of two lists of gradients, of which None is 0."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None or b is not None]
    parts = [a if b is None else b if a is None else a - b for a, b in pairs]
    return math.sqrt(sum(float(torch.linalg.vector_norm(part)) ** 2 for part in parts if part is not None))
