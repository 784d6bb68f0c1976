# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether an example has the same gradient in any company: alone, with others, whatever their losses are.

The outputs of a model may be those of each example alone, and the gradients not: a gradient that is scaled by a number
of the batch, or cut by the norm of the gradients of all examples.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.torch.gradients.factors import GradientFactor
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.sites import Site
from dperm.torch.model_checks.model_state import reseed, without_dropout
from dperm.torch.model_checks.synthetic_inputs import Call, is_large, pattern
from dperm.torch.model_checks.trials import Trial

EXAMPLES = 6
"""More than elsewhere: a model that sorts its examples, or sends them to different layers, should show it."""
FEW = 4
"""Examples for large models."""
RELATIVE = 1e-3
WHOLE = 1e-3


def wrong_parameters(model: nn.Module, sites: Sequence[Site], trial: Trial) -> list[str] | None:
    """The names of the parameters whose gradients differ; None if they are not finite, and the trial shows nothing."""
    examples, rows = trial.examples, range(FEW if is_large(model) else EXAMPLES)
    names = {parameter: name for name, parameter in model.named_parameters() if parameter.requires_grad}
    losses = losses_of(model, examples.batch(len(rows)), rows)
    expected = _expected(losses, list(names))
    with PerExampleGradients(model, sites=sites) as gradients:
        losses = losses_of(model, examples.batch(len(rows)), rows)
        factors = gradients.factors(losses)
        with torch.no_grad():
            found = {parameter: factor.weighted(_importance(parameter, len(losses))) for parameter, factor in factors}
    if any(len(factor.squared_norms()) != len(losses) for _, factor in factors):
        raise AssumptionError("a layer has seen another number of rows than there are examples.")
    total = torch.stack([value.norm().double() for value in expected.values()]).norm()
    if not bool(torch.isfinite(total)):
        if trial.replaces_parameters or examples.varied:
            return None
        raise ParameterError(
            "the model cannot be checked: on made-up inputs its gradients are not finite. Give public or invented ones "
            "on which they are as example_inputs, and public_inputs=True (for check_model: inputs, and public=True)."
        )
    return [names[p] for p, value in expected.items() if _differ(found.get(p), value, WHOLE * float(total))]


def _differ(found: Tensor | None, expected: Tensor, whole: float) -> bool:
    value = torch.zeros_like(expected) if found is None else found
    if value.shape != expected.shape:
        return True
    error = float((value - expected).norm())
    return not error <= RELATIVE * (float(expected.norm()) + whole)


def _expected(losses: Tensor, parameters: list[nn.Parameter]) -> dict[nn.Parameter, Tensor]:
    """The gradient of the weighted sum of the losses."""
    total = (losses * _importance(losses, len(losses))).sum()
    found = torch.autograd.grad(total, parameters, allow_unused=True)
    pairs = zip(parameters, found, strict=True)
    return {parameter: torch.zeros_like(parameter) if grad is None else grad for parameter, grad in pairs}


def _importance(like: Tensor, rows: int) -> Tensor:
    """The weight of each example in the sum: between 0.5 and 1.5, all of them different."""
    return 1 + 0.5 * pattern((rows,), like.detach(), shift=5)


def losses_of(model: nn.Module, call: Call, rows: Sequence[int] = range(EXAMPLES)) -> Tensor:
    """A loss for each example: its outputs with weights of a fixed pattern, of rows of a batch of six.

    What is infinite is left out.
    """
    reseed()
    args, kwargs = call
    leaves = tree_leaves(model(*args, **kwargs))
    trained = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
    parts = [torch.where(leaf.isfinite(), leaf, 0) * _weights(leaf, rows) for leaf in trained]
    return torch.stack([part.reshape(len(rows), -1).sum(1) for part in parts]).sum(0)


def _weights(output: Tensor, rows: Sequence[int]) -> Tensor:
    return pattern((EXAMPLES, *output.shape[1:]), output, shift=2)[list(rows)]


FACTOR = 2.0**14
"""Losses are also tried this much larger: a gradient that is cut shows it."""
OTHER, ALONE = (4, 2, 1, 3), (2,)
"""Rows in other company: the first of them is replaced too."""
FEW_OTHER = (3, 1, 2)
"""The same for large models, with larger losses in the same run."""
Gradients = dict[nn.Parameter, GradientFactor]


def check_gradient_independence(model: nn.Module, sites: Sequence[Site], trial: Trial) -> None:
    """Refuse a model in which an example's gradient depends on others, or is not in proportion to its loss."""
    examples, brief = trial.examples, is_large(model)
    rows = range(FEW if brief else EXAMPLES)
    call = examples.batch(len(rows))
    with without_dropout(model):
        reseed()
        before = torch.get_rng_state()
        base = _gradients(model, sites, call, rows)
        is_steady = torch.equal(torch.get_rng_state(), before)  # else random numbers belong to places in the batch
        if brief and is_steady:
            other = _gradients_with_other_row(model, sites, trial, call, FEW_OTHER, factor=FACTOR)
            _compare(model, base, other, FEW_OTHER, first=1, factor=FACTOR)
            return
        _compare(model, base, _gradients(model, sites, call, rows, factor=FACTOR), rows, first=0, factor=FACTOR)
        if is_steady:
            _compare(model, base, _gradients(model, sites, examples.select_rows(call, ALONE), ALONE), ALONE, first=0)
            _compare(model, base, _gradients_with_other_row(model, sites, trial, call, OTHER), OTHER, first=1)


def _gradients_with_other_row(
    model: nn.Module, sites: Sequence[Site], trial: Trial, call: Call, rows: Sequence[int], *, factor: float = 1.0
) -> Gradients:
    """Gradients of ``rows``, with another example in place of the first, if the model runs on it."""
    examples, size = trial.examples, len(tree_leaves(call)[0])
    kinds = [other.batch(size) for other in trial.others]
    for kind in (*kinds, examples.batch(size, shift=1)):
        changed = examples.select_rows(examples.replace_row(call, rows[0], kind), rows)
        try:
            return _gradients(model, sites, changed, rows, factor=factor)
        except DpermError:
            raise
        except Exception:  # such a row is not for this model
            continue
    return _gradients(model, sites, examples.select_rows(call, rows), rows, factor=factor)


def _gradients(
    model: nn.Module, sites: Sequence[Site], call: Call, rows: Sequence[int], *, factor: float = 1.0
) -> Gradients:
    """The examples' gradients of losses times a factor, in double precision."""
    with PerExampleGradients(model, sites=sites) as gradients:
        return dict(gradients.factors(factor * losses_of(model, call, rows), double=True))


def _compare(
    model: nn.Module, base: Gradients, other: Gradients, rows: Sequence[int], *, first: int, factor: float = 1.0
) -> None:
    """Refuse gradients that differ, from the ``first`` row on: in their norms, and for small models in their sum."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    norms = {parameter: _norms(own) for parameter, own in base.items()}
    total = float(torch.stack([own.nan_to_num(0, 0, 0).norm() for own in norms.values()]).norm()) if norms else 0.0
    for parameter in {**base, **other}:
        mine = norms[parameter][list(rows)] if parameter in base else torch.zeros(len(rows), dtype=torch.float64)
        its = _norms(other[parameter]) / factor if parameter in other else torch.zeros_like(mine)
        counts = mine.isfinite()
        counts[:first] = False
        tolerance = 2 * RELATIVE * (mine + WHOLE * total)
        same = bool(((mine - its).abs() <= tolerance)[counts].all())
        if same and not is_large(model) and bool(counts.any()):
            apart = _weighted_total(base.get(parameter), rows, counts, parameter)
            apart = apart - _weighted_total(other.get(parameter), range(len(rows)), counts, parameter) / factor
            same = float(apart.norm()) <= float(tolerance[counts].sum())
        if not same:
            raise AssumptionError(
                f"the gradient of an example for {names[parameter]!r} depends on other examples of the batch, on their "
                f"number, or is not in proportion to its loss: clipping would not bound what it adds. Scale and cut no "
                f"gradients by numbers of the batch (hooks of tensors, x.numel(), maxima)."
            )


def _norms(gradients: GradientFactor) -> Tensor:
    return gradients.squared_norms().detach().double().clamp(min=0).sqrt().cpu()


def _weighted_total(
    gradients: GradientFactor | None, rows: Sequence[int], counts: Tensor, parameter: nn.Parameter
) -> Tensor:
    """The sum of the gradients of ``rows`` that count, each with a weight of its own."""
    if gradients is None:
        return torch.zeros_like(parameter, dtype=torch.float64)
    squares = gradients.squared_norms()
    weights = torch.zeros_like(squares)
    weights[list(rows)] = ((1 + torch.arange(len(rows)) / len(rows)) * counts).to(weights)
    return gradients.masked(weights > 0).weighted(weights)
