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

from dperm.errors import AssumptionError, DpermError
from dperm.torch.engine.comparison import EXAMPLES, FEW, RELATIVE, WHOLE, losses_of
from dperm.torch.engine.factors import Factor
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.sites import Site
from dperm.torch.engine.synthetic import Call, is_large
from dperm.torch.engine.trials import Trial
from dperm.torch.engine.untouched import seeded, without_dropout

FACTOR = 2.0**14
"""Losses are also tried this much larger: a gradient that is cut shows it."""
OTHER, ALONE = (4, 2, 1, 3), (2,)
"""Rows in other company: the first of them is replaced too."""
FEW_OTHER = (3, 1, 2)
"""The same for large models, with larger losses in the same run."""

Gradients = dict[nn.Parameter, Factor]


def check_company(model: nn.Module, sites: Sequence[Site], trial: Trial) -> None:
    """Refuse a model in which an example's gradient depends on others, or is not in proportion to its loss."""
    examples, brief = trial.examples, is_large(model)
    rows = range(FEW if brief else EXAMPLES)
    call = examples.batch(len(rows))
    with without_dropout(model):
        seeded()
        before = torch.get_rng_state()
        base = _gradients(model, sites, call, rows)
        is_steady = torch.equal(torch.get_rng_state(), before)  # else random numbers belong to places in the batch
        if brief and is_steady:
            other = _beside_another(model, sites, trial, call, FEW_OTHER, factor=FACTOR)
            _check(model, base, other, FEW_OTHER, first=1, factor=FACTOR)
            return
        _check(model, base, _gradients(model, sites, call, rows, factor=FACTOR), rows, first=0, factor=FACTOR)
        if is_steady:
            _check(model, base, _gradients(model, sites, examples.picked(call, ALONE), ALONE), ALONE, first=0)
            _check(model, base, _beside_another(model, sites, trial, call, OTHER), OTHER, first=1)


def _beside_another(
    model: nn.Module, sites: Sequence[Site], trial: Trial, call: Call, rows: Sequence[int], *, factor: float = 1.0
) -> Gradients:
    """Gradients of ``rows``, with another example in place of the first, if the model runs on it."""
    examples, size = trial.examples, len(tree_leaves(call)[0])
    kinds = [other.batch(size) for other in trial.others]
    for kind in (*kinds, examples.batch(size, shift=1)):
        changed = examples.picked(examples.put(call, rows[0], kind), rows)
        try:
            return _gradients(model, sites, changed, rows, factor=factor)
        except DpermError:
            raise
        except Exception:  # such a row is not for this model
            continue
    return _gradients(model, sites, examples.picked(call, rows), rows, factor=factor)


def _gradients(
    model: nn.Module, sites: Sequence[Site], call: Call, rows: Sequence[int], *, factor: float = 1.0
) -> Gradients:
    """The examples' gradients of losses times a factor, in double precision."""
    with PerExampleGradients(model, sites=sites) as gradients:
        return dict(gradients.factors(factor * losses_of(model, call, rows), double=True))


def _check(
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
            apart = _combined(base.get(parameter), rows, counts, parameter)
            apart = apart - _combined(other.get(parameter), range(len(rows)), counts, parameter) / factor
            same = float(apart.norm()) <= float(tolerance[counts].sum())
        if not same:
            raise AssumptionError(
                f"the gradient of an example for {names[parameter]!r} depends on other examples of the batch, on their "
                f"number, or is not in proportion to its loss: clipping would not bound what it adds. Scale and cut no "
                f"gradients by numbers of the batch (hooks of tensors, x.numel(), maxima)."
            )


def _norms(gradients: Factor) -> Tensor:
    return gradients.squared_norms().detach().double().clamp(min=0).sqrt().cpu()


def _combined(gradients: Factor | None, rows: Sequence[int], counts: Tensor, parameter: nn.Parameter) -> Tensor:
    """The sum of the gradients of ``rows`` that count, each with a weight of its own."""
    if gradients is None:
        return torch.zeros_like(parameter, dtype=torch.float64)
    squares = gradients.squared_norms()
    weights = torch.zeros_like(squares)
    weights[list(rows)] = ((1 + torch.arange(len(rows)) / len(rows)) * counts).to(weights)
    return gradients.masked(weights > 0).weighted(weights)
