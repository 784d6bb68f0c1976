# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The engine's per-example gradients against an ordinary backward pass.

Both have the same forward pass, with the same dropout; the loss of an example is a sum of its outputs with fixed
weights. Every example has another weight in the sum that is compared, so that a gradient which is wrong, or that of
another example, makes the sum wrong. Errors of rounding are some 1e-6 of a gradient in single precision, and larger for
long sums that cancel; a gradient that is wrong is wrong by far more than 1e-3. What is below a millionth of the whole
gradient is rounding (biases before a softmax).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError, ParameterError
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.sites import Site
from dperm.torch.engine.synthetic import Call, is_large, pattern
from dperm.torch.engine.trials import Trial
from dperm.torch.engine.untouched import seeded

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
        if trial.elsewhere or examples.varied:
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
    seeded()
    args, kwargs = call
    leaves = tree_leaves(model(*args, **kwargs))
    trained = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
    parts = [torch.where(leaf.isfinite(), leaf, 0) * _weights(leaf, rows) for leaf in trained]
    return torch.stack([part.reshape(len(rows), -1).sum(1) for part in parts]).sum(0)


def _weights(output: Tensor, rows: Sequence[int]) -> Tensor:
    return pattern((EXAMPLES, *output.shape[1:]), output, shift=2)[list(rows)]
