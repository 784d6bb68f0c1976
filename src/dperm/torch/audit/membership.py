# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Membership inference against PyTorch classifiers: a loss threshold, and LiRA with shadow models (A9).

What these attacks find is computed from the records that they are about, and is covered by no guarantee.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from dperm import checks
from dperm.audit.arrays import truths
from dperm.audit.membership.likelihood_ratio import ratios_against
from dperm.audit.membership.lira import lira_on_scores
from dperm.audit.membership.pairs import paired_coins
from dperm.audit.membership.result import MembershipResult
from dperm.audit.membership.roc import Roc
from dperm.audit.membership.verdict import TrialDependence
from dperm.data.arrays import Floats, Mask
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency
from dperm.torch.audit.arguments import attempted, function, of_type, progress_of
from dperm.torch.audit.canaries import Pairs

MakeModel = Callable[[], nn.Module]
Train = Callable[[nn.Module, Pairs], object]
"""Trains a model in place on (inputs, labels)."""
Progress = Callable[[float], None]
ROWS = 4096
"""Records that are scored at a time."""


def logit_scores(model: nn.Module, records: Pairs) -> Floats:
    """log(p_y / (1 - p_y)) of each record's own class y, in evaluation mode: an increasing function of -loss.

    From the outputs z, as z_y minus the log-sum-exp of the others, so that no probability is rounded to 1. One output
    is the logit of class 1 against class 0.
    """
    inputs, labels = checked_records("records", records)
    was_training = of_type("model", model, nn.Module).training
    model.eval()
    try:
        with torch.no_grad():
            parts = [_scored(model, x, y) for x, y in zip(inputs.split(ROWS), labels.split(ROWS), strict=True)]
    finally:
        model.train(was_training)
    scores: Floats = torch.cat(parts).double().cpu().numpy()
    if np.isnan(scores).any():
        raise ParameterError("model must give scores that are not NaN: its training diverged. Train it anew.")
    return scores


def loss_threshold(model: nn.Module, members: Pairs, non_members: Pairs) -> MembershipResult:
    """One threshold on the loss for all records (Yeom, Giacomelli, Fredrikson & Jha 2018).

    Parameters
    ----------
    model
        Trained, with one output for each class.
    members, non_members
        (inputs, labels) of records that it was trained on, and of others of the same kind.
    """
    found = [logit_scores(model, members), logit_scores(model, non_members)]
    bits = np.repeat([True, False], [len(found[0]), len(found[1])])
    return MembershipResult("loss threshold", Roc.of(np.concatenate(found), bits))


def lira(
    make_model: MakeModel,
    train: Train,
    *,
    records: Pairs,
    models: int = 64,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    seed: int | None = None,
    progress: Progress | None = None,
) -> MembershipResult:
    """How well LiRA attacks models that ``train`` trains, each on a random half of these records.

    Each model in turn is the target, and the others, without its complement, are the attacker's.

    Parameters
    ----------
    make_model
        Gives a fresh model.
    train
        Trains a model in place on a pair (inputs, labels); for a private training with `dperm.torch.fit`.
    records
        (inputs, labels).
    models
        How many to train, an even number. With fewer than 64 all records share one variance.
    adjacency
        "add_remove": an independent coin for each record. "replace_one": every model has exactly half of them.
    seed
        Of the halves.
    progress
        Called with the share of the models that are trained.
    """
    checked_records("records", records)
    kind = Adjacency.of(adjacency)
    mask = paired_coins(len(records[0]), models, adjacency=kind, seed=seed)
    return lira_on_scores(_shadow_scores(make_model, train, records, mask, progress), mask, adjacency=kind)


def lira_against(
    target: nn.Module,
    member: Mask,
    *,
    make_model: MakeModel,
    train: Train,
    records: Pairs,
    models: int = 64,
    independent_coins: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
) -> MembershipResult:
    """Attack one trained model, with shadow models of the attacker's own.

    A private ``target`` may be attacked with shadow models that are not: they are quicker, and bounds stay valid.

    Parameters
    ----------
    target
        The trained model.
    member
        Which of the records it was trained on.
    make_model, train, records, models, seed, progress
        As for `lira`.
    independent_coins
        Whether each of ``member`` was decided by a fair coin of its own: then the attack is a one-run audit (A6), and
        may contradict a guarantee under add_remove. A split into two halves is not that.
    """
    checked_records("records", records)
    bits, kind = truths("member", member), _trials(independent_coins)
    if len(bits) != len(records[0]):
        raise ParameterError(f"member must be True or False for each of {len(records[0])} records, got {len(bits)}.")
    mask = paired_coins(len(bits), models, seed=seed)
    own = logit_scores(target, records)
    ratios = ratios_against(own, _shadow_scores(make_model, train, records, mask, progress), mask)
    return MembershipResult(
        "LiRA",
        Roc.of(ratios, bits, trials=kind),
        baseline=Roc.of(own, bits, trials=kind),
        adjacency=Adjacency.ADD_REMOVE if independent_coins else None,
        facts={"models": models, "records": len(bits)},
    )


def checked_records(name: str, records: object) -> Pairs:
    """``records``, if they are inputs with a class each."""
    fits = isinstance(records, tuple) and len(records) == 2 and all(isinstance(part, Tensor) for part in records)
    if not fits or records[1].dim() != 1 or records[1].is_floating_point() or len(records[0]) != len(records[1]):  # type: ignore[index]
        raise ParameterError(f"{name} must be a pair (inputs, labels) of tensors, with one whole number as label each.")
    found: Pairs = records  # type: ignore[assignment]
    if not len(found[1]) or found[1].is_complex():
        raise ParameterError(f"{name} must hold one record at least, with a whole number as label each.")
    return found


def _shadow_scores(
    make_model: MakeModel, train: Train, records: Pairs, mask: Mask, progress: Progress | None
) -> Floats:
    """Scores (records x models) of models that were trained on the halves in the columns of ``mask``."""
    function("make_model", make_model, "makes a new model, such as lambda: nn.Linear(20, 2)")
    function("train", train, "trains a model in place on (inputs, labels)")
    progress_of(progress)
    scores = np.empty(mask.shape)
    for place, member in enumerate(mask.T):
        chosen, model = torch.from_numpy(member.copy()), make_model()
        of_type("what make_model returns", model, nn.Module)
        train(model, (records[0][chosen], records[1][chosen]))
        scores[:, place] = logit_scores(model, records)
        if progress is not None:
            progress((place + 1) / mask.shape[1])
    return scores


def _trials(independent_coins: bool) -> TrialDependence:
    return (
        TrialDependence.ONE_RUN if checks.truth("independent_coins", independent_coins) else TrialDependence.DEPENDENT
    )


def _scored(model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
    outputs = attempted(lambda: model(inputs), "model must take the inputs of records.")
    if outputs.dim() not in (1, 2) or len(outputs) != len(labels):
        raise ParameterError(
            f"model must give one output for each record and class, got the shape {tuple(outputs.shape)} for "
            f"{len(labels)} records."
        )
    return _margins(outputs, labels)


def _margins(outputs: Tensor, labels: Tensor) -> Tensor:
    if outputs.dim() == 1 or outputs.shape[1] == 1:
        if not bool(((labels == 0) | (labels == 1)).all()):
            raise ParameterError("labels must be 0 or 1 for a model of one output. Give it an output for each class.")
        return torch.where(labels == 1, outputs.reshape(-1), -outputs.reshape(-1))
    if not bool(((labels >= 0) & (labels < outputs.shape[1])).all()):
        raise ParameterError(f"labels must be whole numbers from 0 to {outputs.shape[1] - 1}, one output each.")
    places = labels[:, None].long()
    others = outputs.scatter(1, places, -torch.inf)
    return outputs.gather(1, places)[:, 0] - others.logsumexp(1)
