# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Membership inference against PyTorch classifiers: a loss threshold, and LiRA with shadow models (A9).

The results are computed from the attacked records, and no guarantee covers them.
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
from dperm.torch.audit.arguments import attempted, check_function, check_progress_function, of_type
from dperm.torch.audit.canaries import Pairs

MakeModel = Callable[[], nn.Module]
Train = Callable[[nn.Module, Pairs], object]
"""Function for training a model in place on (inputs, labels)."""
Progress = Callable[[float], None]
ROWS = 4096
"""Number of records per forward pass."""


def logit_scores(model: nn.Module, records: Pairs) -> Floats:
    """Return the logit score log(p_y / (1 - p_y)) of each record, with the model in evaluation mode.

    Here y is the class label of the record, and p_y is its probability under the model. The score is a decreasing
    function of the cross-entropy loss. It is computed from the model outputs z as z_y minus the log-sum-exp of the
    other outputs, so no probability is rounded to 1. If the model has a single output, this output is the logit of
    class 1. The score of a record of class 1 is then this logit, and that of a record of class 0 is its negative.

    Parameters
    ----------
    model
        Trained model with one output for each class, or with a single output for two classes.
    records
        Pair (inputs, labels) of tensors.

    Returns
    -------
    ndarray
        One score per record.

    Raises
    ------
    ParameterError
        If the labels do not match the outputs, or a score is NaN.
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
        raise ParameterError(
            argument="model", rule="must not return NaN scores: its training diverged", remedy="Train the model again."
        )
    return scores


def loss_threshold(model: nn.Module, members: Pairs, non_members: Pairs) -> MembershipResult:
    """Run the loss-threshold attack, with one threshold for all records (Yeom, Giacomelli, Fredrikson & Jha 2018).

    Parameters
    ----------
    model
        Trained model with one output for each class, or with a single output for two classes.
    members, non_members
        Pairs (inputs, labels) of tensors: the training records, and other records from the same population.

    Returns
    -------
    MembershipResult
        ROC curve of the attack.
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
    """Run LiRA, the likelihood-ratio attack, on models trained on random halves of the records.

    Each model in turn is the target. All other models, except the model trained on the complementary half, are the
    attacker's shadow models.

    Parameters
    ----------
    make_model
        Function that returns a new model.
    train
        Function that trains a model in place on a pair (inputs, labels); use `dperm.torch.fit` for private training.
    records
        Pair (inputs, labels) of tensors.
    models
        Number of models to train; an even number, at least 6. With fewer than 64, the attack uses one variance of the
        scores for all records instead of one for each record.
    adjacency
        "add_remove" to include each record by an independent coin flip, or "replace_one" to train every model on
        exactly half of the records.
    seed
        Seed of the random halves of the records on which the models are trained; None draws a seed from the operating
        system.
    progress
        Callback that receives the fraction of the models trained so far, in (0, 1].

    Returns
    -------
    MembershipResult
        ROC curves of the attack and of a single threshold for all records.
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
    """Attack one trained model with the attacker's own shadow models.

    The shadow models of a private ``target`` may be non-private: training is then faster, and the bounds stay valid.

    Parameters
    ----------
    target
        The trained model.
    member
        Whether the target was trained on each record, one boolean per record.
    make_model, train, records, models, seed, progress
        See `lira`; ``models`` is the number of shadow models.
    independent_coins
        Whether an independent fair coin decided each entry of ``member``. If so, the attack is a one-run audit (A6),
        and may refute a guarantee under add_remove. A split into two halves does not qualify.

    Returns
    -------
    MembershipResult
        ROC curves of the attack and of a single threshold for all records.

    Raises
    ------
    ParameterError
        If ``member`` does not have one boolean per record.
    """
    checked_records("records", records)
    bits, kind = truths("member", member), _trials(independent_coins)
    if len(bits) != len(records[0]):
        raise ParameterError(
            argument="member", rule=f"must be True or False for each of {len(records[0])} records", got=str(len(bits))
        )
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
    """Return ``records`` if they are a pair (inputs, class labels), or raise ParameterError."""
    fits = isinstance(records, tuple) and len(records) == 2 and all(isinstance(part, Tensor) for part in records)
    if not fits or records[1].dim() != 1 or records[1].is_floating_point() or len(records[0]) != len(records[1]):  # type: ignore[index]
        raise ParameterError(
            argument=name, rule="must be a pair (inputs, labels) of tensors, with one whole number as label each"
        )
    found: Pairs = records  # type: ignore[assignment]
    if not len(found[1]) or found[1].is_complex():
        raise ParameterError(argument=name, rule="must hold at least one record, with a whole number as label each")
    return found


def _shadow_scores(
    make_model: MakeModel, train: Train, records: Pairs, mask: Mask, progress: Progress | None
) -> Floats:
    """Scores (records x models) of models trained on the halves in the columns of ``mask``."""
    check_function("make_model", make_model, "makes a new model, such as lambda: nn.Linear(20, 2)")
    check_function("train", train, "trains a model in place on (inputs, labels)")
    check_progress_function(progress)
    scores = np.empty(mask.shape)
    for place, member in enumerate(mask.T):
        chosen, model = torch.from_numpy(member.copy()), make_model()
        of_type("result of make_model", model, nn.Module)
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
            argument="model",
            rule="must return one output for each record and class",
            got=f"the shape {tuple(outputs.shape)} for {len(labels)} records",
        )
    return _margins(outputs, labels)


def _margins(outputs: Tensor, labels: Tensor) -> Tensor:
    if outputs.dim() == 1 or outputs.shape[1] == 1:
        if not bool(((labels == 0) | (labels == 1)).all()):
            raise ParameterError(
                argument="labels",
                rule="must be 0 or 1 for a model with one output",
                remedy="Use a model with one output for each class.",
            )
        return torch.where(labels == 1, outputs.reshape(-1), -outputs.reshape(-1))
    if not bool(((labels >= 0) & (labels < outputs.shape[1])).all()):
        raise ParameterError(
            argument="labels", rule=f"must be whole numbers from 0 to {outputs.shape[1] - 1}, one output each"
        )
    places = labels[:, None].long()
    others = outputs.scatter(1, places, -torch.inf)
    return outputs.gather(1, places)[:, 0] - others.logsumexp(1)
