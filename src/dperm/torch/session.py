# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A private training run: dperm owns sampling, clipping, noise and accounting, and the user writes the loop (T46).

The order is the same as for every release. On entering the block: check the budget, the model and the data. In the
first step: reserve, after the checks of the first losses and before any noise. Each step draws its noise once, after
the last micro-batch of its sample. On leaving the block: commit the digest of the model. The guarantee covers all
planned steps, even if fewer were taken: a guarantee for only the steps taken would be false if the data decided when to
stop.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor, nn
from torch.optim import Optimizer

from dperm.accounting.budget import Budget
from dperm.errors import AssumptionError, DpermWarning, ParameterError
from dperm.mechanisms.run import PreparedRelease, Run, prepare_release
from dperm.noise.bits import Bits, this_process
from dperm.privacy import Release
from dperm.torch.batch_loop import COMMITTED, ENDED, LEFT_EARLY, BatchLoop, ended_refusal
from dperm.torch.checkpoint import open_checkpoint
from dperm.torch.gradients.per_example import PerExampleGradients, UnclippedGradients, checked_losses, sum_weighted
from dperm.torch.gradients.scratch import keep_freed_memory
from dperm.torch.loss_functions import check_loss_shape
from dperm.torch.model_checks.check import check_losses, check_no_penalty
from dperm.torch.model_checks.description import Description, describe
from dperm.torch.model_structure import ModelStructure
from dperm.torch.native.kernels import describe_kernels, kernels
from dperm.torch.optimizers import checked_optimizer
from dperm.torch.options import Options
from dperm.torch.progress import check_progress, step_progress
from dperm.torch.records import Batch
from dperm.torch.rehearsal import Rehearsal
from dperm.torch.released_model import model_digest, model_facts, warn_of_divergence
from dperm.torch.sampling import MicroBatch, Sampler
from dperm.torch.single_process import check_single_process
from dperm.torch.training_data import TrainingData, training_data
from dperm.torch.update import Draw, NoisyUpdate

if TYPE_CHECKING:
    from dperm.torch.compiled.training import CompiledTraining
    from dperm.torch.plan import DPSGDPlan


OUTSIDE = "a training run works only in its with block: with plan.attach(...) as private: ..."
FAILED = (
    "a step of this training failed in the middle, so it cannot continue or be released. Leave the block. Then resume "
    "from a checkpoint, or attach again."
)


class FailOnError:
    """Context manager that fails the training run on an error inside it, since the state is then unknown."""

    def __init__(self, training: "PrivateTraining") -> None:
        self._training = training

    def __enter__(self) -> None:
        """Enter without effect."""

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Mark the training run as failed after an error."""
        if kind is not None:
            self._training.fail()


class PrivateTraining:
    """Training run of a plan, for use in a ``with`` block: ``for batch in private: private.step(losses)``.

    *Guarantees.* The released model satisfies the plan's guarantee under two conditions: each loss must depend only on
    its own record, and nothing else computed from batches may enter the training run. Before the charge, tests of the
    model, the loss and the loop look for violations of these conditions, but cannot detect all of them. The loop is
    tested in *rehearsals*: the loop receives additional trial batches, and their losses and gradients are compared, but
    never enter the model. Further rehearsals run at random later steps. The budget is charged once, in the first step,
    after its losses are checked and before noise is drawn. Failures after the charge are not refunded.

    Attributes
    ----------
    plan
        Plan of the run.
    model
        Model to train; it is not wrapped.
    steps_taken
        Number of steps so far, for information only; the guarantee covers all planned steps.
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
        self._run: Run[TrainingData] | None = None
        self._release: Release[nn.Module] | None = None
        self._whole = FailOnError(self)
        self._clipping, self._double = plan.clipping, plan.noise.double  # properties, computed once

    def __enter__(self) -> Self:
        """Check the budget, the data and the model, and add hooks to the model.

        The first step charges the budget. A resumed run is already charged, and takes over this charge on entry.

        Raises
        ------
        ParameterError
            If the run was entered before, or the checkpoint does not match the plan, the model or the optimizer.
        AssumptionError, DataError, BudgetError
            If model, data or budget do not fit the plan.
        """
        if self._was_entered:  # the draws of the earlier block would be forgotten
            raise ParameterError(
                "a training run can be entered once.", remedy="Call plan.attach again for another one."
            )
        check_single_process(self.model)  # a process group may have begun since attach
        keep_freed_memory()
        if not self._double:
            kernels()  # compile them now if necessary: nothing is charged yet
        with ExitStack() as stack:
            self._checkpoint = stack.enter_context(open_checkpoint(self._options.resume, self.plan))
            with check_progress(self._options.progress):
                self._ready = self._prepared()
            self._checkpoint.check_bits(self._ready.record.seeded)
            self._checkpoint.check_budget(self._budget is not None)
            data = self._ready.value
            self.gradients = stack.enter_context(PerExampleGradients(self.model, sites=data.sites))
            self.update = stack.enter_context(NoisyUpdate(self.plan, self._optimizer, self.model, self._ready.stream))
            self._rehearsal = self._rehearsals()
            self.steps_taken = self._checkpoint.restore(self.model, self._optimizer, self.update)
            if self._checkpoint.resumes:  # take over now: draws leased by other runs are not steps of this one
                self._charge(stack)
                self._warn_of_lost_steps()
            self._structure = ModelStructure(self.model)
            bar = step_progress(self.plan.steps, self._options.progress, done=self.update.draws)
            self._progress = stack.enter_context(bar)
            self._loop = BatchLoop(
                self._sampled(data),
                self._rehearsal,
                self.update,
                records=data.records,
                size=self.plan.method.physical_batch_size,
                check=self._check_usable,
                was_charged=lambda: self.was_charged,
            )
            self._process, self._thread = this_process(), get_ident()
            self._open, self._was_entered = stack.pop_all(), True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the hooks, and commit the charge with the digest of the model."""
        stack, self._open = self._opened_stack(), None
        loop, refusal = self._loop, self._rehearsal.refusal
        with stack:
            ended = loop.in_rehearsal and error is None  # by break or return
            loop.close()
            failed = self._failed or bool(refusal) or error is not None
            misused, loop.misuse = error is not None and error is loop.misuse, None
            self._checkpoint.settle(self.update.draws, failed=failed)
            if ended and not self.was_charged:
                raise ended_refusal(refusal)
            if refusal and (error is None or (isinstance(error, Exception) and not misused)):
                raise AssumptionError(refusal) from error
            if error is not None:
                raise error
            if self._failed:
                raise ParameterError(FAILED)
            if self._run is not None:
                self._release = self._run.released(self.model, model_digest)
        if ended:
            warnings.warn(f"{ENDED} All planned steps are charged.", DpermWarning, stacklevel=2)
        elif self._release is not None and self._has_unused_steps():
            text = LEFT_EARLY.format(planned=self.plan.steps)
            warnings.warn(text + COMMITTED * (self._budget is not None), DpermWarning, stacklevel=2)
        self._structure.warn_of_buffers()
        if self._release is not None:
            warn_of_divergence(self.model, self._ready.value.inputs)

    def __iter__(self) -> Iterator[Batch]:
        """Return an iterator over the micro-batches of the remaining steps; call `step` once for each.

        A micro-batch is a part of a Poisson sample, with at most ``physical_batch_size`` records.
        """
        self._opened_stack()
        if self.plan.steps == self.update.draws:
            restored = self._checkpoint.resumes and self.steps_taken == self._checkpoint.steps_taken
            kept = f" The model is that of the checkpoint, step {self.steps_taken}." if restored else ""
            warnings.warn(
                f"all planned steps of this training were taken, so the loop has no batches.{kept}",
                DpermWarning,
                stacklevel=2,
            )
        return self._loop.begin()

    def step(self, losses: Tensor) -> bool:
        """Add the clipped gradients of a micro-batch; after the last one of a sample, add noise and take a step.

        Parameters
        ----------
        losses
            One loss for each row of the most recent batch, from a forward pass with gradients.

        Returns
        -------
        bool
            Whether the optimizer took a step; if True, a scheduler may take a step too. The result is False for the
            trial batches of a rehearsal, and for all micro-batches except the last one of a sample.

        Raises
        ------
        ParameterError
            If ``losses`` has the wrong shape or comes from a different model, or if no batch is pending. In the first
            step, these errors are raised before the charge.

        Notes
        -----
        *Edge cases.*

        =============================  ==============================================================
        loss or gradient of a row      contribution
        =============================  ==============================================================
        0                              0
        infinity or NaN                0; the other rows are not affected
        row of padding (empty sample)  0; the step draws its noise like any other
        =============================  ==============================================================
        """
        part, draw = self._awaited_by(losses), None
        with self._whole:  # refuse losses before the charge
            if part.trial:
                self._rehearsal.note(losses)
            found = self._unclipped(losses) if part.rows and not part.trial else None
        with self.whole(part):
            if found is not None:
                draw = self.update.draw_of(found) if part.last else None
                if draw is None:
                    self.update.add(sum_weighted(found.weigh(observe=self.update.observer)))
            return self.finished(part, draw)

    def compiled(self, loss: Callable[..., Tensor]) -> "CompiledTraining":
        """Return a function ``step(x, y)`` to replace ``private.step(loss(model(x), y))``, compiled on its first call.

        The compiled step is faster for small models. It needs a C++ compiler and a plan of grade "fast".

        Parameters
        ----------
        loss
            Function that takes the model's output and the other parts of a batch, and returns one loss for each
            example.

        Returns
        -------
        CompiledTraining
            The compiled step function.
        """
        from dperm.torch.compiled.training import CompiledTraining  # importing inductor takes a second

        self._opened_stack()
        self._rehearsal.sees_steps = False
        return CompiledTraining(self, loss)

    @property
    def release(self) -> Release[nn.Module]:
        """The model with its guarantee, profile, event and record; available once the block has exited cleanly.

        Raises
        ------
        ParameterError
            If the block has not exited yet, an error occurred, or no step was taken.
        """
        if self._release is None:
            raise ParameterError(
                "release is available once the with block of the training has exited cleanly, after at least one "
                "step: before the first step nothing was charged and nothing learnt."
            )
        return self._release

    @property
    def was_charged(self) -> bool:
        """Whether the run has been charged, either in its first step or when it was resumed.

        Without a budget, the property also becomes True in the first step.
        """
        return self._run is not None

    @property
    def clip_norm(self) -> float:
        """Clipping norm of the next step: the norm of the plan, or the current norm of `QuantileClipping`."""
        self._entered()
        return self.update.clip_norm

    def so_far(self) -> str:
        """Describe the privacy loss of a plan with only the steps taken so far; not a guarantee for this run."""
        self._entered()
        return self.plan.so_far(self.update.draws)

    def describe(self) -> Description:
        """Return the gradient method of each layer, and whether native kernels are used (grade "fast" only)."""
        self._entered()
        found = describe(self.model, sites=self._ready.value.sites)
        return replace(found, kernels="no native kernels: grade exact" if self._double else describe_kernels())

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write a checkpoint for ``plan.attach(..., resume=path)``, between two steps.

        Parameters
        ----------
        path
            Path of the checkpoint. A journal of the steps is written to the same folder. Both files are needed to
            resume.
        extra
            Additional data to store: tensors, numbers, strings, lists and dictionaries, such as
            ``scheduler.state_dict()``.

        Raises
        ------
        ParameterError
            If `step` has not been called for every micro-batch of the current sample, if a rehearsal is under way, or
            if ``extra`` cannot be stored.
        SupersededError
            If another run has resumed from a checkpoint of this run.
        """
        self._opened_stack()
        self._loop.refuse_within_a_sample("save can be called", seen=self._loop.in_rehearsal)
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
        """Additional data in the checkpoint of a resumed run, from the argument ``extra`` of `save`; else empty."""
        self._entered()
        return self._checkpoint.extra

    def awaited(self) -> MicroBatch:
        """Return the micro-batch for the next step; for internal use by `step` and compiled steps.

        Raises
        ------
        ParameterError
            If no batch is pending, the training run failed, or the structure of the model changed.
        """
        self._check_usable()
        if self._loop.pending is None:
            raise ParameterError("Call private.step(losses) once for every batch of the loop over the training run.")
        self._structure.check()
        return self._loop.pending

    def finished(self, part: MicroBatch, draw: Draw | None = None) -> bool:
        """Finish a micro-batch; after the last one of a sample, add noise to the gradient sum and take a step.

        For internal use by `step` and compiled steps. The clipped gradients of the micro-batch must already be in the
        sum of the sample, or be computed by ``draw``.

        Parameters
        ----------
        part
            Micro-batch to finish.
        draw
            Function that returns the noisy gradients of a whole sample; None adds noise to the sum.

        Returns
        -------
        bool
            Whether the optimizer took a step.
        """
        if self.gradients.was_run or self.gradients.outputs:
            self.gradients.forget()
        self._loop.pending = None
        if not part.last:
            return False
        self._checkpoint.before_draw(self.update.draws)
        self.update.finish(draw)
        self.steps_taken += 1
        self._progress.advance()
        return True

    def whole(self, part: MicroBatch) -> FailOnError:
        """Charge the run if it is not charged yet, and return a context manager for the step.

        A micro-batch of a rehearsal charges nothing.

        Parameters
        ----------
        part
            Micro-batch of the step.

        Returns
        -------
        FailOnError
            Context manager that marks the run as failed if an error is raised.
        """
        if self._run is None and not part.trial:
            with self._whole:
                self._charge(self._opened_stack())
        return self._whole

    def fail(self) -> None:
        """Mark the training run as failed, so it can neither take another step nor release the model."""
        self._failed = True

    def _has_unused_steps(self) -> bool:
        """Return whether planned steps are lost: no checkpoint continues with them, or the ledger closed the run."""
        draws = self.update.draws
        resumable = self._budget is None and self._checkpoint.is_current(draws)
        return draws < self.plan.steps and not resumable

    def _awaited_by(self, losses: Tensor) -> MicroBatch:
        """Return the micro-batch of ``losses``, after checks of their shape and origin."""
        part = self.awaited()
        check_loss_shape(losses, max(part.rows, 1))
        if part.rows:
            checked_losses(losses)
            if not self.gradients.was_run:
                raise ParameterError(
                    argument="losses",
                    rule="must come from the model that was attached; its forward pass was not run since the last step",
                    remedy="Call the model that was passed to attach.",
                )
            if part.trial:
                check_no_penalty(losses, self.gradients)
        return part

    def _unclipped(self, losses: Tensor) -> UnclippedGradients:
        if not self._losses_seen and check_losses(losses, self.gradients):
            self._losses_seen = True
            self.gradients.keep_no_outputs()
            self._structure.note_hooks()
        found = self.gradients.unclipped(losses, self._clipping, self.update.clip_norm, double=self._double)
        if self._rehearsal.waits:
            self._rehearsal.compare(losses, found.factors)
        return found

    def _prepared(self) -> PreparedRelease[TrainingData]:
        """Run all checks that precede the charge."""
        model, options = self.model, self._options
        return prepare_release(
            self.plan.with_public(model_facts(model)),
            lambda: training_data(self.plan, model, self._dataset, options),
            budget=self._budget,
            bits=self._bits,
            resumes=self._checkpoint.resumes,
        )

    def _charge(self, stack: ExitStack) -> None:
        """Charge the budget, once; after a checkpoint, a later error leaves the charge open.

        A resumed run is charged already. It takes over the reservation, and no other run may draw afterwards.
        """
        if self._run is None:
            check_single_process(self.model)
            charged = self._ready.charged(request_id=self._request_id, resumable=self._checkpoint)
            self._run = stack.enter_context(charged)
            self.update.draws = self._checkpoint.hold(self._run.reservation, self.update.draws)

    def _warn_of_lost_steps(self) -> None:
        """Warn if draws count as made without a step behind the restored weights: they cannot be taken again."""
        lost = self.update.draws - self._checkpoint.draws
        if lost > 0:
            warnings.warn(
                f"the resumed training has {self.plan.steps - self.update.draws} of {self.plan.steps} planned steps "
                f"left, and has lost {lost}: the earlier run took them after it wrote the checkpoint, or had leased "
                f"them when it was killed. Save more often to lose fewer.",
                DpermWarning,
                stacklevel=3,
            )

    def _sampled(self, data: TrainingData) -> Iterator[MicroBatch]:
        """Return the samples of all remaining steps."""
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

    def _check_usable(self) -> None:
        """Raise if the block is not open here, or a step failed."""
        self._opened_stack()
        if self._failed:
            raise ParameterError(FAILED)

    def _entered(self) -> None:
        if not self._was_entered:
            raise ParameterError(OUTSIDE)

    def _opened_stack(self) -> ExitStack:
        if self._open is None:
            raise ParameterError(OUTSIDE)
        if self._process != this_process():
            raise ParameterError("a training run belongs to the process that entered it: a fork draws no noise.")
        if self._thread != get_ident():
            raise ParameterError(
                "a training run belongs to the thread that entered it.", remedy="Enter and step in the same thread."
            )
        return self._open
