# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether an example has the same gradient in any company: alone, with others, whatever their losses are.

The outputs of a model may be those of each example alone, and the gradients not: a gradient that is scaled by a number
of the batch, or cut by the norm of the gradients of all examples.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dperm.errors import AssumptionError, DpermError
from dperm.torch.engine.comparison import EXAMPLES, RELATIVE, WHOLE, losses_of
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.sites import Site
from dperm.torch.engine.synthetic import Call, pattern
from dperm.torch.engine.trials import Trial
from dperm.torch.engine.untouched import seeded, without_dropout

FACTOR = 2.0**14
"""Losses are also tried this much larger: a gradient that is cut shows it."""
OTHER, ALONE = (4, 2, 1, 3), (2,)
"""Rows in other company: the first of them is replaced too."""

Sketches = dict[nn.Parameter, Tensor]
"""For each parameter, (examples, 2): norms of gradients, and their products with a vector of norm 1."""


def check_company(model: nn.Module, sites: Sequence[Site], trial: Trial) -> None:
    """Refuse a model in which an example's gradient depends on others, or is not in proportion to its loss."""
    examples = trial.examples
    call = examples.batch(EXAMPLES)
    with without_dropout(model):
        is_steady = _is_steady(model, call)
        base = _sketched(model, sites, call)
        larger = _sketched(model, sites, call, factor=FACTOR)
        _check(model, base, larger, range(EXAMPLES), first=0)
        if not is_steady:
            return  # random numbers, which belong to places in the batch
        _check(model, base, _sketched(model, sites, examples.picked(call, ALONE), ALONE), ALONE, first=0)
        _check(model, base, _beside_another(model, sites, trial, call), OTHER, first=1)


def _is_steady(model: nn.Module, call: Call) -> bool:
    """Whether a run draws no random numbers."""
    losses_of(model, call)
    after = torch.get_rng_state()
    seeded()
    return torch.equal(after, torch.get_rng_state())


def _beside_another(model: nn.Module, sites: Sequence[Site], trial: Trial, call: Call) -> Sketches:
    """The rows of `OTHER`, with another example in place of the first, if the model runs on it."""
    examples = trial.examples
    kinds = [other.batch(EXAMPLES) for other in trial.others]
    for kind in (*kinds, examples.batch(EXAMPLES, shift=1)):
        changed = examples.picked(examples.put(call, OTHER[0], kind), OTHER)
        try:
            return _sketched(model, sites, changed, OTHER)
        except DpermError:
            raise
        except Exception:  # such a row is not for this model
            continue
    return _sketched(model, sites, examples.picked(call, OTHER), OTHER)


def _sketched(
    model: nn.Module, sites: Sequence[Site], call: Call, rows: Sequence[int] = range(EXAMPLES), *, factor: float = 1.0
) -> Sketches:
    """Sketches of the gradients of losses times a factor, divided by it."""
    found: Sketches = {}
    with PerExampleGradients(model, sites=sites) as gradients:
        for parameter, values in gradients.factors(factor * losses_of(model, call, rows)):
            dense = (values.dense().double() / factor).reshape(len(rows), -1)
            way = pattern((dense.shape[1],), dense, shift=3)
            found[parameter] = torch.stack([dense.norm(dim=1), dense @ (way / way.norm().clamp(min=1e-30))], 1)
    return found


def _check(model: nn.Module, base: Sketches, other: Sketches, rows: Sequence[int], *, first: int) -> None:
    """Refuse sketches that differ, from the ``first`` row on."""
    total = torch.stack([sketch[:, 0].nan_to_num(0, 0, 0).norm() for sketch in base.values()]).norm() if base else 0.0
    names = {parameter: name for name, parameter in model.named_parameters()}
    for parameter in {**base, **other}:
        one, two = (found.get(parameter) for found in (base, other))
        mine = torch.zeros(len(rows), 2, dtype=torch.float64) if one is None else one[list(rows)].cpu()
        its = torch.zeros(len(rows), 2, dtype=torch.float64) if two is None else two.cpu()
        counts = mine.isfinite().all(1)
        counts[:first] = False
        tolerance = 2 * RELATIVE * (mine[:, :1].abs() + WHOLE * float(total))
        if not bool(((mine - its).abs() <= tolerance).all(1)[counts].all()):
            raise AssumptionError(
                f"the gradient of an example for {names[parameter]!r} depends on other examples of the batch, on their "
                f"number, or is not in proportion to its loss: clipping would not bound what it adds. Scale and cut no "
                f"gradients by numbers of the batch (hooks of tensors, x.numel(), maxima)."
            )
