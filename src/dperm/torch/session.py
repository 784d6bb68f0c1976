# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A private training run: it owns sampling, clipping, noise and accounting, while the user writes the loop (T46).

The order is that of every release. When the block is entered: check the budget, check model and data. In the first
step: reserve, before the first gradient. Each step draws its noise once, after the last micro-batch of its sample. When
the block is left: commit the digest of the model. The guarantee is that of all planned steps, whichever were run: to
stop at a step that depends on what was seen, and to report the steps that were run, would be another mechanism.
"""

import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from torch import Tensor, nn
from torch.optim import Optimizer

from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.errors import AssumptionError, DpermError, DpermWarning, ParameterError
from dperm.mechanisms.run import Prepared, Run, prepared
from dperm.noise.bits import Bits, this_process
from dperm.privacy import Release
from dperm.torch.checkpoint import resumed
from dperm.torch.condition import Condition
from dperm.torch.digest import model_digest
from dperm.torch.divergence import warn_of_divergence
from dperm.torch.engine.check import check_losses
from dperm.torch.engine.describe import Description, describe
from dperm.torch.engine.gradients import PerExampleGradients, Unclipped, checked_losses, summed
from dperm.torch.engine.scratch import keep_freed_memory
from dperm.torch.model_facts import model_facts
from dperm.torch.native.kernels import in_words, kernels
from dperm.torch.options import Options
from dperm.torch.progress import check_progress, step_progress
from dperm.torch.readiness import Ready, ready
from dperm.torch.records import Batch
from dperm.torch.rehearsal import FEWEST, STAND_IN, STOPPED, Rehearsal
from dperm.torch.sampling import MicroBatch, Sampler
from dperm.torch.single_process import check_single_process
from dperm.torch.update import Draw, Update, checked_optimizer

if TYPE_CHECKING:
    from dperm.torch.compiled.training import CompiledTraining
    from dperm.torch.plan import DPSGDPlan


OUTSIDE = "a training run works in its with block: with plan.attach(...) as private: ..."
FAILED = (
    "a step of this training failed in the middle, so that it cannot go on or be released. Leave the block; resume "
    "from a checkpoint, or attach anew."
)

ENDED = (
    "the loop ended during a rehearsal. Rehearsals hand out additional batches: count steps with private.steps_taken, "
    "not batches (enumerate(private))."
)


def _ended_refusal(refusal: str) -> DpermError:
    """Error for a loop that ended during a rehearsal, before the charge.

    ``refusal`` is the message for a loop that fails at this batch: the loop may have ended because of an unusual value.
    """
    if refusal == STOPPED:
        return AssumptionError(f"{ENDED} If the loop does not count batches: {STOPPED}")
    return ParameterError(f"{ENDED} Nothing was charged, and nothing learnt.")


def _in_words(losses: object) -> str:
    """What is wrong with losses, without their number: it is that of a sample."""
    if not isinstance(losses, Tensor):
        return f"{shown(type(losses).__name__)}: give the tensor itself."
    if losses.dim() == 0:
        return 'one number. A mean or a sum over the batch cannot be clipped: use reduction="none".'
    if losses.dim() == 1:
        return "another number of them. Compute them from the batch that the loop gave, for all of its rows."
    if losses.dim() == 2 and losses.shape[1] == 1:
        return "a column: use losses.squeeze(1)."
    return f"{losses.dim()} dimensions: of several losses of a row take the mean, losses.flatten(1).mean(1)."


class Whole:
    """A block that has to end: after an error in between, nobody knows what was added and drawn."""

    def __init__(self, training: "PrivateTraining") -> None:
        self._training = training

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Nothing may follow an error."""
        if kind is not None:
            self._training.fail()


class PrivateTraining:
    """Training with a plan: ``for batch in private: private.step(losses)``, in a ``with`` block.

    Attributes
    ----------
    plan
        What is run.
    steps_taken
        Steps that were run so far. It is information; the guarantee is that of all planned steps.
    """

    def __init__(
        self,
        plan: "DPSGDPlan",
        model: nn.Module,
        optimizer: Optimizer,
        dataset: Any,
        *,
        budget: Budget | None,
        options: Options,
        bits: Bits | None,
    ) -> None:
        check_single_process(model)
        self.plan, self.model, self.steps_taken = plan, model, 0
        self._optimizer = checked_optimizer(optimizer, model)
        self._dataset, self._budget, self._options, self._bits = dataset, budget, options, bits
        self._open: ExitStack | None = None
        self._was_entered = self._losses_seen = self._failed = False
        self._misuse: ParameterError | None = None
        self._run: Run[Ready] | None = None
        self._release: Release[nn.Module] | None = None
        self._pending: MicroBatch | None = None
        self._rehearsed: MicroBatch | None = None
        self._samples: Iterator[MicroBatch] = iter(())
        self._iterator: Generator[Batch, None, None] = self._batches(0)
        self._loops = 0
        self._whole = Whole(self)
        self._clipping, self._double = plan.clipping, plan.noise.double  # asked for once: they are worked out

    def __enter__(self) -> Self:
        """Check everything, and hook the model; the budget is charged in the first step."""
        if self._was_entered:  # what an earlier block drew would be forgotten
            raise ParameterError("a training run can be entered once. Call plan.attach again for another one.")
        check_single_process(self.model)  # a process group may have begun since attach
        keep_freed_memory()
        if not self._double:
            kernels()  # compiled now if they have to be: nothing is charged yet
        with ExitStack() as stack:
            self._checkpoint = stack.enter_context(resumed(self._options.resume, self.plan))
            with check_progress(self._options.progress):
                self._ready = self._prepared()
            self._checkpoint.check_bits(self._ready.record.seeded)
            self._checkpoint.check_budget(self._budget is not None)
            self.gradients = stack.enter_context(PerExampleGradients(self.model, sites=self._ready.value.sites))
            self.update = stack.enter_context(Update(self.plan, self._optimizer, self.model, self._ready.stream))
            self._rehearsal = self._rehearsals()
            self.steps_taken = self._checkpoint.restore(self.model, self._optimizer, self.update)
            if self._checkpoint.resumes:  # take over now: draws that other runs leased are no steps of this one
                self._charge(stack)
                self._warn_of_lost_steps()
            self._as_checked = Condition(self.model)
            shown = step_progress(self.plan.steps, self._options.progress, done=self.update.draws)
            self._progress = stack.enter_context(shown)
            self._samples = self._sampled(self._ready.value)
            self._process, self._thread = this_process(), get_ident()
            self._open, self._was_entered = stack.pop_all(), True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the hooks away, and commit the digest of the model."""
        stack, self._open = self._opened_stack(), None
        with stack:
            interrupted = self._rehearsed is not None
            if interrupted:
                self._iterator.close()  # ends the rehearsal: dropout works again
            ended = interrupted and error is None  # by break or return
            failed = self._failed or bool(self._rehearsal.refusal) or error is not None
            misused, self._misuse = error is not None and error is self._misuse, None
            self._checkpoint.settle(self.update.draws, failed=failed)
            if ended and self._run is None:
                raise _ended_refusal(self._rehearsal.refusal)
            if self._rehearsal.refusal and (error is None or (isinstance(error, Exception) and not misused)):
                raise AssumptionError(self._rehearsal.refusal) from error
            if error is not None:
                raise error
            if self._failed:
                raise ParameterError(FAILED)
            if self._run is not None:
                self._release = self._run.released(self.model, model_digest)
        if ended:
            warnings.warn(f"{ENDED} The training took {self.steps_taken} steps.", DpermWarning, stacklevel=2)
        self._as_checked.warn_of_buffers()
        if self._release is not None:
            warn_of_divergence(self.model, self._ready.value.inputs)

    def __iter__(self) -> Iterator[Batch]:
        """Micro-batches of the samples of the steps that are left; `step` is called once for each."""
        self._opened_stack()
        self._refuse_within_a_sample("a loop can begin")
        self._loops += 1
        self._iterator = self._batches(self._loops)
        return self._iterator

    def step(self, losses: Tensor) -> bool:
        """Add the clipped gradients of a micro-batch; after the last of a sample, add noise and let the optimizer step.

        Parameters
        ----------
        losses
            One loss for each row of the batch that the loop gave last, from a forward pass with gradients.

        Returns
        -------
        bool
            Whether the optimizer stepped: then a scheduler may step too.
        """
        part, draw = self._awaited_by(losses), None
        with self._whole:  # whatever refuses the losses does so before the charge
            if part.trial:
                self._rehearsal.note(losses)
            found = self._unclipped(losses) if part.rows and not part.trial else None
        with self.whole(part):
            if found is not None:
                draw = self.update.draw_of(found) if part.last else None
                if draw is None:
                    self.update.add(summed(found.weighed(observe=self.update.observer)))
            return self.finished(part, draw)

    def compiled(self, loss: Callable[..., Tensor]) -> "CompiledTraining":
        """A function ``step(x, y)`` in the place of ``private.step(loss(model(x), y))``, compiled in its first call.

        It is quicker for small models, needs a C++ compiler, and is for plans of grade "fast".

        Parameters
        ----------
        loss
            From the model's output and the other parts of a batch to one loss for each example.
        """
        from dperm.torch.compiled.training import CompiledTraining  # inductor takes a second to import

        self._opened_stack()
        self._rehearsal.sees_steps = False
        return CompiledTraining(self, loss)

    @property
    def release(self) -> Release[nn.Module]:
        """The model with its guarantee, profile, event and record, once the block was left."""
        if self._release is None:
            raise ParameterError(
                "release is there after the with block of the training was left without an error, and after a step: "
                "before the first one nothing was charged and nothing learnt."
            )
        return self._release

    @property
    def was_charged(self) -> bool:
        """Whether the run was charged: in its first step, or when it was resumed."""
        return self._run is not None

    @property
    def clip_norm(self) -> float:
        """The clip norm of the next step: the plan's, or where quantile clipping has brought it, privately."""
        self._entered()
        return self.update.clip_norm

    def so_far(self) -> str:
        """What the steps that were run would have spent, had their number been fixed beforehand: no guarantee."""
        self._entered()
        return self.plan.so_far(self.update.draws)

    def describe(self) -> Description:
        """How the gradients of each layer are found, and whether native kernels take part, which grade "fast" has."""
        self._entered()
        found = describe(self.model, sites=self._ready.value.sites)
        return replace(found, kernels="no native kernels: grade exact" if self._double else in_words())

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write a checkpoint from which ``plan.attach(..., resume=path)`` goes on; between two steps only.

        Parameters
        ----------
        path
            Where; beside it a journal of the steps is kept, without which nothing can be resumed.
        extra
            Plain data and tensors of your own, such as ``scheduler.state_dict()``.
        """
        self._opened_stack()
        self._refuse_within_a_sample("save can be called", seen=self._rehearsed is not None)
        self._checkpoint.save(
            path,
            self.model,
            self._optimizer,
            self.update,
            taken=self.steps_taken,
            request_id=self._request_id,
            seeded=self._ready.record.seeded,
            budgeted=self._budget is not None,
            extra=extra,
        )

    @property
    def extra(self) -> dict[str, Any]:
        """What was given to `save` as ``extra``, in a resumed run."""
        self._entered()
        return self._checkpoint.extra

    def _batches(self, loop: int) -> Generator[Batch, None, None]:
        if self.plan.steps == self.update.draws:
            restored = self._checkpoint.resumes and self.steps_taken == self._checkpoint.steps_taken
            kept = f" The model is that of the checkpoint, step {self.steps_taken}." if restored else ""
            warnings.warn(
                f"all planned steps of this training were taken, so that the loop has no batches.{kept}",
                DpermWarning,
                stacklevel=2,
            )
        for part in self._parts():
            self._refuse_other_loops(loop)
            batch, rows = self._rehearsal_batch(part)
            if self._rehearsal.is_due(self.update.draws, batch, rows):
                self._rehearsed = part
                yield from self._rehearsals_of(batch, rows, loop)
            self._pending, self._rehearsed = part, None
            yield part.batch
        self._refuse_other_loops(loop)

    def _parts(self) -> Iterator[MicroBatch]:
        """What is left of the samples; first again a sample whose rehearsal was broken off: none is dropped unseen."""
        if self._rehearsed is not None:
            yield self._rehearsed
        while (part := next(self._samples, None)) is not None:  # "yield from" would end them with the loop
            yield part

    def _rehearsal_batch(self, part: MicroBatch) -> tuple[Batch, int]:
        """The batch to rehearse with: before the charge, the first records stand in for a sample of few rows."""
        records = self._ready.value.records
        if self._run is not None or part.rows >= min(FEWEST, records.count) or not self._options.rehearsal:
            return part.batch, part.rows
        rows = min(records.count, STAND_IN, self.plan.method.physical_batch_size)
        return next(iter(records.batches(iter([np.arange(rows, dtype=np.int64)])))), rows

    def _rehearsals_of(self, batch: Batch, rows: int, loop: int) -> Iterator[Batch]:
        """The batches of a rehearsal with the rows of ``batch``."""
        charged = self._run is not None or self._checkpoint.resumes
        with self._rehearsal.quiet():
            for copy, size in self._rehearsal.batches(batch, rows, self.update.draws, charged=charged):
                self._pending = MicroBatch(copy, size, last=False, trial=True)
                yield copy
                self._refuse_other_loops(loop)

    def _refuse_other_loops(self, loop: int) -> None:
        self._opened_stack()
        if self._failed:
            raise ParameterError(FAILED)
        if loop != self._loops:
            raise ParameterError("only one loop over a training run can be under way. Break out of the other one.")
        if self._pending is not None:
            raise ParameterError("Call private.step(losses) once for every batch.")

    def _refuse_within_a_sample(self, what: str, *, seen: bool = False) -> None:
        if seen or self._pending is not None or self.update.is_partial:
            self._misuse = ParameterError(
                f"{what} between two steps only, right after step returned True: to drop a sample that was seen would "
                f"be another way of sampling."
            )
            raise self._misuse  # also in a rehearsal, where this message helps more than that about unusual values

    def awaited(self) -> MicroBatch:
        """The micro-batch that the loop gave last, if it was not stepped with: for ways to step."""
        self._opened_stack()
        if self._failed:
            raise ParameterError(FAILED)
        if self._pending is None:
            raise ParameterError("Call private.step(losses) once for every batch of the loop over the training run.")
        self._as_checked.check()
        return self._pending

    def finished(self, part: MicroBatch, draw: Draw | None = None) -> bool:
        """Go on after ``part`` was added: noise and a step of the optimizer, if it was the last of its sample."""
        if self.gradients.was_run or self.gradients.outputs:
            self.gradients.forget()
        self._pending = None
        if not part.last:
            return False
        self._checkpoint.before_draw(self.update.draws)
        self.update.finish(draw)
        self.steps_taken += 1
        self._progress.advance()
        return True

    def whole(self, part: MicroBatch) -> "Whole":
        """Charge the budget before the first part that counts; then what begins here has to end."""
        if self._run is None and not part.trial:
            with self._whole:
                self._charge(self._opened_stack())
        return self._whole

    def fail(self) -> None:
        """Let nothing follow."""
        self._failed = True

    def _awaited_by(self, losses: Tensor) -> MicroBatch:
        """The micro-batch that ``losses`` belong to."""
        part = self.awaited()
        if not isinstance(losses, Tensor) or losses.shape != (max(part.rows, 1),):
            raise ParameterError(
                f"losses must hold one loss for each row of the batch, in one dimension, got {_in_words(losses)}"
            )
        if part.rows:
            checked_losses(losses)
            if not self.gradients.was_run:
                raise ParameterError(
                    "losses must come from the model that was attached, and its forward pass was not run since the "
                    "last step: another model was called, or none. Call the model that was given to attach."
                )
        return part

    def _unclipped(self, losses: Tensor) -> Unclipped:
        if not self._losses_seen and check_losses(losses, self.gradients):
            self._losses_seen = True
            self.gradients.keep_no_outputs()
            self._as_checked.note_hooks()
        found = self.gradients.unclipped(losses, self._clipping, self.update.clip_norm, double=self._double)
        if self._rehearsal.waits:
            self._rehearsal.compare(losses, found.factors)
        return found

    def _prepared(self) -> Prepared[Ready]:
        """Everything that comes before the charge."""
        model, options = self.model, self._options
        return prepared(
            self.plan.with_public(model_facts(model)),
            lambda: ready(self.plan, model, self._dataset, options),
            budget=self._budget,
            bits=self._bits,
            resumes=self._checkpoint.resumes,
        )

    def _charge(self, stack: ExitStack) -> None:
        """Charge the budget, once; an error later leaves the charge open if there is a checkpoint to resume from.

        A run that resumes is charged already: it takes over the reservation, and no other run draws from then on.
        """
        if self._run is None:
            check_single_process(self.model)
            charged = self._ready.charged(request_id=self._request_id, resumable=self._checkpoint)
            self._run = stack.enter_context(charged)
            self.update.draws = self._checkpoint.hold(self._run.reservation, self.update.draws)

    def _warn_of_lost_steps(self) -> None:
        """Warn if draws count as made that are in no weights: they cannot be taken again."""
        lost = self.update.draws - self._checkpoint.draws
        if lost > 0:
            warnings.warn(
                f"the resumed training has {self.plan.steps - self.update.draws} of {self.plan.steps} planned steps "
                f"left, and has lost {lost}: the earlier run took them after it wrote the checkpoint, or had leased "
                f"them when it was killed. Save more often to lose fewer.",
                DpermWarning,
                stacklevel=3,
            )

    def _sampled(self, data: Ready) -> Iterator[MicroBatch]:
        """The samples of all steps that are left."""
        sampler = Sampler(
            data.records, data.groups, self.plan.rate, self.plan.method.physical_batch_size, self._ready.stream
        )
        return sampler.batches(self.plan.steps - self.update.draws)

    def _rehearsals(self) -> Rehearsal:
        trained = [(name, value) for name, value in self.model.named_parameters() if value.requires_grad]
        return Rehearsal(
            self.gradients, trained, self.plan.method.clip_norm, self.plan.steps, enabled=self._options.rehearsal
        )

    @property
    def _request_id(self) -> str:
        return self._checkpoint.request_id(self._options.request_id)

    def _entered(self) -> None:
        if not self._was_entered:
            raise ParameterError(OUTSIDE)

    def _opened_stack(self) -> ExitStack:
        if self._open is None:
            raise ParameterError(OUTSIDE)
        if self._process != this_process():
            raise ParameterError("a training run belongs to the process that entered it: a fork of it draws no noise.")
        if self._thread != get_ident():
            raise ParameterError(
                "a training run belongs to the thread that entered it: enter and step in the same one."
            )
        return self._open
