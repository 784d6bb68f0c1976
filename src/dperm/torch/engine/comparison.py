# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The engine's per-example gradients against one backward pass for each example.

Both have the same forward pass, with the same dropout; the loss is a sum of the outputs with fixed weights. Errors of
rounding are some 1e-6 of a gradient in single precision, and larger for long sums that cancel; a gradient that is wrong
is wrong by far more than 1e-3. What is below a millionth of the whole gradient is rounding (biases before a softmax).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import ParameterError
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.sites import Site
from dperm.torch.engine.synthetic import Call, pattern
from dperm.torch.engine.trials import Trial
from dperm.torch.engine.untouched import seeded

EXAMPLES = 6
"""More than elsewhere: a model that sorts its examples, or sends them to different layers, should show it."""
RELATIVE = 1e-3
WHOLE = 1e-3


def wrong_parameters(model: nn.Module, sites: Sequence[Site], trial: Trial) -> list[str]:
    """The names of the parameters whose gradients differ."""
    examples = trial.examples
    names = {parameter: name for name, parameter in model.named_parameters() if parameter.requires_grad}
    losses = losses_of(model, examples.batch(EXAMPLES))
    expected = _expected(losses, list(names))
    with PerExampleGradients(model, sites=sites) as gradients:
        factors = gradients.factors(losses_of(model, examples.batch(EXAMPLES)))
        found = {parameter: factor.dense() for parameter, factor in factors}
    total = torch.stack([value.double().norm() for value in expected.values()]).norm()
    if not bool(torch.isfinite(total)):
        if trial.elsewhere or examples.varied:
            return []  # this trial shows nothing
        raise ParameterError(
            "the model cannot be checked: on made-up inputs its gradients are not finite. Give public or invented ones "
            "on which they are as example_inputs, and public_inputs=True (for check_model: inputs, and public=True)."
        )
    return [names[p] for p, value in expected.items() if _differ(found.get(p), value, WHOLE * float(total))]


def _differ(found: Tensor | None, expected: Tensor, whole: float) -> bool:
    value = torch.zeros_like(expected) if found is None else found
    if value.shape != expected.shape:
        return True
    error = float((value - expected).double().norm())
    return not error <= RELATIVE * (float(expected.double().norm()) + whole)


def _expected(losses: Tensor, parameters: list[nn.Parameter]) -> dict[nn.Parameter, Tensor]:
    rows = [torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True) for loss in losses]
    return {
        parameter: torch.stack([torch.zeros_like(parameter) if row[i] is None else row[i] for row in rows]).detach()
        for i, parameter in enumerate(parameters)
    }


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
