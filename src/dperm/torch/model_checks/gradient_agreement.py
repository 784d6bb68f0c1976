# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Agreement of per-example gradients with ordinary backward passes, and between different batches.

*With autograd.* Both passes have the same forward pass and dropout. The loss of an example is a sum of its outputs with
fixed weights. Each example has a different weight in the compared sum, so a wrong or exchanged gradient makes the sum
wrong. Rounding errors are about 1e-6 of a gradient in single precision, more for long sums with cancellation; a wrong
gradient differs by far more than 1e-3. Parts below a millionth of the whole gradient are rounding (biases before a
softmax).

*Between batches.* An example must have the same gradient alone and beside others, for any size of their losses. Outputs
may be independent while gradients are not: a gradient may be scaled by a batch statistic, or clipped by the norm over
all examples.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.presentation.spelling import arg
from dperm.torch.gradients.factors import GradientFactor
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.sites import Site
from dperm.torch.model_checks.model_state import reseed, without_dropout
from dperm.torch.model_checks.synthetic_inputs import Call, is_large, pattern
from dperm.torch.model_checks.trials import Trial

EXAMPLES = 6
"""Examples in a batch. More than in other checks, to expose models with sorting or routing of examples."""
FEW = 4
"""Examples in a batch for large models."""
RELATIVE = 1e-3
"""Tolerance relative to the gradient of a parameter."""
WHOLE = 1e-3
"""Weight of the norm of the whole gradient in the tolerance."""


def wrong_parameters(model: nn.Module, sites: Sequence[Site], trial: Trial) -> list[str] | None:
    """Return the names of parameters whose gradients differ from autograd.

    None means an inconclusive trial: the gradients are not finite.
    """
    examples, rows = trial.examples, range(FEW if is_large(model) else EXAMPLES)
    names = {parameter: name for name, parameter in model.named_parameters() if parameter.requires_grad}
    losses = losses_of(model, examples.batch(len(rows)), rows)
    expected = _expected(losses, list(names))
    with PerExampleGradients(model, sites=sites) as gradients:
        losses = losses_of(model, examples.batch(len(rows)), rows)
        factors = dict(gradients.factors(losses))
    if any(len(factor.squared_norms()) != len(losses) for factor in factors.values()):
        raise AssumptionError("a layer received another number of rows than there are examples.")
    total = torch.stack([value.norm().double() for value in expected.values()]).norm()
    if not bool(torch.isfinite(total)):
        if trial.replaces_parameters or examples.varied:
            return None
        raise ParameterError(
            "the model cannot be checked: on synthetic inputs its gradients are not finite.",
            remedy=f"Give public or invented inputs with finite gradients as {arg('example_inputs')}, and "
            f"{arg('public_inputs', True)} (for check_model: inputs, and public=True).",
        )
    # One parameter at a time: first use of memory is the largest part of the cost for a large model.
    return [names[p] for p, value in expected.items() if _differ(factors.get(p), value, WHOLE * float(total))]


@torch.no_grad()
def _differ(factor: GradientFactor | None, expected: Tensor, whole: float) -> bool:
    """Return whether the weighted sum of an example's gradients differs from the sum of autograd."""
    tolerance = RELATIVE * (float(expected.norm()) + whole)
    if factor is None:
        return not float(expected.norm()) <= tolerance
    value = factor.weighted(_importance(expected, len(factor.squared_norms())))
    return value.shape != expected.shape or not float((value - expected).norm()) <= tolerance


def _expected(losses: Tensor, parameters: list[nn.Parameter]) -> dict[nn.Parameter, Tensor]:
    """Return the gradient of the weighted sum of the losses, by autograd."""
    total = (losses * _importance(losses, len(losses))).sum()
    found = torch.autograd.grad(total, parameters, allow_unused=True)
    pairs = zip(parameters, found, strict=True)
    return {parameter: torch.zeros_like(parameter) if grad is None else grad for parameter, grad in pairs}


def _importance(like: Tensor, rows: int) -> Tensor:
    """Return a different weight between 0.5 and 1.5 for each example."""
    return 1 + 0.5 * pattern((rows,), like.detach(), shift=5)


def losses_of(model: nn.Module, call: Call, rows: Sequence[int] = range(EXAMPLES)) -> Tensor:
    """Return one loss per example: its outputs with weights of a fixed pattern, for rows of a batch of six.

    Infinite outputs are left out.
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
"""Factor for enlarged losses, to expose clipped gradients."""
OTHER, ALONE = (4, 2, 1, 3), (2,)
"""Rows beside other examples, with the first row replaced, and one row alone."""
FEW_OTHER = (3, 1, 2)
"""Rows for large models, with enlarged losses in the same run."""
Gradients = dict[nn.Parameter, GradientFactor]
"""Gradients of the examples by parameter."""


def check_gradient_independence(model: nn.Module, sites: Sequence[Site], trial: Trial) -> None:
    """Refuse a model in which an example's gradient depends on other examples.

    The gradient must also be proportional to the example's loss.
    """
    examples, brief = trial.examples, is_large(model)
    rows = range(FEW if brief else EXAMPLES)
    call = examples.batch(len(rows))
    with without_dropout(model):
        reseed()
        before = torch.get_rng_state()
        base = _gradients(model, sites, call, rows)
        is_steady = torch.equal(
            torch.get_rng_state(), before
        )  # otherwise random numbers depend on the position in the batch
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
    """Return the gradients of ``rows`` with another example in the first row, if the model accepts it."""
    examples, size = trial.examples, len(tree_leaves(call)[0])
    kinds = [other.batch(size) for other in trial.others]
    for kind in (*kinds, examples.batch(size, shift=1)):
        changed = examples.select_rows(examples.replace_row(call, rows[0], kind), rows)
        try:
            return _gradients(model, sites, changed, rows, factor=factor)
        except DpermError:
            raise
        except Exception:  # the model does not accept such a row
            continue
    return _gradients(model, sites, examples.select_rows(call, rows), rows, factor=factor)


def _gradients(
    model: nn.Module, sites: Sequence[Site], call: Call, rows: Sequence[int], *, factor: float = 1.0
) -> Gradients:
    """Return the gradients of the losses times a factor, in double precision."""
    with PerExampleGradients(model, sites=sites) as gradients:
        return dict(gradients.factors(factor * losses_of(model, call, rows), double=True))


def _compare(
    model: nn.Module, base: Gradients, other: Gradients, rows: Sequence[int], *, first: int, factor: float = 1.0
) -> None:
    """Refuse gradients that differ in row ``first`` or later: in their norms, and for small models in their sum."""
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
                f"the gradient of an example for {names[parameter]!r} depends on other examples of the batch or on "
                f"their number, or is not proportional to its loss, so clipping would not bound its contribution.",
                remedy="Do not scale or clip gradients by batch statistics (tensor hooks, x.numel(), maxima).",
            )


def _norms(gradients: GradientFactor) -> Tensor:
    return gradients.squared_norms().detach().double().clamp(min=0).sqrt().cpu()


def _weighted_total(
    gradients: GradientFactor | None, rows: Sequence[int], counts: Tensor, parameter: nn.Parameter
) -> Tensor:
    """Return the sum of the counted gradients of ``rows``, each with its own weight."""
    if gradients is None:
        return torch.zeros_like(parameter, dtype=torch.float64)
    squares = gradients.squared_norms()
    weights = torch.zeros_like(squares)
    weights[list(rows)] = ((1 + torch.arange(len(rows)) / len(rows)) * counts).to(weights)
    return gradients.masked(weights > 0).weighted(weights)
