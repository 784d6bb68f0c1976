# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a model has per-example gradients, and whether the engine finds them: asked on synthetic inputs.

DP-SGD bounds what one example contributes. This means something only if the loss of an example depends on no other one,
and if the gradients that are clipped are those of the examples. Both are tried out before any private example is seen.
"""

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.sites import ParameterUses, Site, is_opaque, sites_of, whole_model
from dperm.torch.gradients.tape import PARTS, refuse_second_backward
from dperm.torch.gradients.unsupported_layers import check_layers, check_parameters
from dperm.torch.model_checks.batch_independence import (
    SIZES,
    check_batch_size_independence,
    check_independent_outputs,
    describe_shared_lookup,
    outputs,
)
from dperm.torch.model_checks.gradient_agreement import check_gradient_independence, wrong_parameters
from dperm.torch.model_checks.model_state import (
    ModelSnapshot,
    check_no_retained_data,
    check_unchanged_buffers,
    preserve_state,
    reseed,
    without_dropout,
)
from dperm.torch.model_checks.parameter_uses import probe_parameter_uses
from dperm.torch.model_checks.synthetic_inputs import EXAMPLES, Examples, Inputs, is_large
from dperm.torch.model_checks.trials import Trial, trials

OPEN = "its layers alone do not show how it uses its parameters"
LONGEST = 300
"""Letters of an error of torch that are shown."""


def check_model(model: nn.Module, inputs: Inputs, *, public: bool = False) -> list[Site]:
    """Refuse a model whose per-example gradients cannot be had, and say how those of its layers are found.

    The model is tried in the mode in which it is, training or evaluation of each layer, and is not changed; neither are
    torch's random numbers.

    Parameters
    ----------
    model
        What will be trained.
    inputs
        A batch as the model is called with: a tensor, a tuple of positional arguments, or a mapping of keyword
        arguments, the examples first. Only shapes and types are used.
    public
        Whether ``inputs`` are public, and the model is tried on them instead of synthetic inputs: for models that
        cannot run on others.

    Returns
    -------
    list[Site]
        For ``PerExampleGradients(model, sites=...)``.

    Raises
    ------
    AssumptionError
        Names the layer or the parameter, and the remedy.
    """
    check_parameters(model)
    check_layers(model)
    brief = is_large(model)
    with preserve_state(model) as start, torch.enable_grad():
        examples = _usable_examples(model, Examples(inputs, public), start)
        check_no_retained_data(model, examples, start)
        _check_run(model, examples, EXAMPLES, start)
        tried = trials(model, examples)
        check_independent_outputs(model, tried[0])
        for size in SIZES[2:] if brief else SIZES[1:]:
            _check_run(model, examples, size, start)
        check_batch_size_independence(model, examples)
        for trial in tried[1:]:
            with trial.applied_to(model):
                check_independent_outputs(model, trial)
                if not brief:
                    check_batch_size_independence(model, trial.examples)
        return _sites(model, tried)


def check_losses(losses: Tensor, gradients: PerExampleGradients) -> bool:
    """Refuse losses of which one depends on what the model says of another example.

    The gradient of the first loss must vanish at all rows of the outputs but its own; numbers that are not finite do
    not count, for a product with 0 makes them. What reaches a loss without gradient (``detach``) cannot be seen.

    Parameters
    ----------
    losses
        One for each example.
    gradients
        Under which the model was run for them, before its `clipped_sum`.

    Returns
    -------
    bool
        Whether there were examples enough, two, to find out.
    """
    leaves = [leaf for leaf in tree_leaves(gradients.outputs) if isinstance(leaf, Tensor) and leaf.requires_grad]
    if len(losses) < 2 or not leaves:
        return False
    if len({leaf.shape[:1] for leaf in leaves}) > 1 and all(leaf.dim() for leaf in leaves):
        raise AssumptionError(PARTS)
    if any(leaf.dim() == 0 or len(leaf) != len(losses) for leaf in leaves):
        raise ParameterError(
            "losses must be as many as the rows of the model's output, one loss for each example. For several losses "
            "of an example take their mean: losses.flatten(1).mean(1). If the model was run on something else since "
            "the last step, as for an evaluation, do that under torch.no_grad()."
        )
    try:
        found = torch.autograd.grad(losses[0], leaves, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        refuse_second_backward(error)
        raise
    if any(grad is not None and bool(((grad[1:] != 0) & grad[1:].isfinite()).any()) for grad in found):
        raise AssumptionError(
            "the loss of one example depends on the model's output for other examples, so that no example has a "
            'gradient of its own. Use a loss of each example alone, with reduction="none": no contrast between '
            "examples, no statistics of the batch."
        )
    return True


def _usable_examples(model: nn.Module, examples: Examples, start: ModelSnapshot) -> Examples:
    """Examples on which the model runs: integers may be indices, lengths or anything."""
    if examples.public and not examples.has_distinct_rows(EXAMPLES):
        raise ParameterError(
            "example_inputs that are public must hold two or more rows, each of them another one than the next: from "
            "equal ones nothing can be seen."
        )
    tried = [examples] if examples.public else [Examples(examples.inputs, integers=k) for k in (2, 1, 0)]
    found: Exception | None = None
    for one in tried:
        try:
            if found is not None:
                start.restore()
            reseed()
            args, kwargs = one.batch(EXAMPLES)
            model(*args, **kwargs)
        except DpermError:
            raise
        except Exception as error:  # anything that a forward pass may raise
            found = found or error
            continue
        return one
    raise ParameterError(
        f"the model cannot be checked: it does not run on {_describe_inputs(examples)} ({_format_error(found)}). If it needs "
        f"others, give public or invented ones on which it runs as example_inputs, and public_inputs=True (for "
        f"check_model: inputs, and public=True)."
    ) from found


def _describe_inputs(examples: Examples) -> str:
    return "the public inputs" if examples.public else "made-up inputs of the shapes and types of the given ones"


def _format_error(error: Exception | None) -> str:
    """What was raised on public or made-up inputs, which holds nothing private."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words if len(words) <= LONGEST else words[:LONGEST] + ' ...'}"


def _check_run(model: nn.Module, examples: Examples, size: int, start: ModelSnapshot) -> None:
    """Buffers stay, and outputs have the examples first."""
    try:
        leaves = outputs(model, examples, size)
    except Exception:  # it ran with another size
        raise AssumptionError(
            "the model does not run on batches of any size: samples are of random sizes, and may be a single example. "
            "Take the number of examples from the input."
        ) from None
    check_unchanged_buffers(model, start)
    trained = [leaf for leaf in leaves if leaf.requires_grad]
    if not trained:
        raise AssumptionError(
            "no output of the model depends on a trained parameter. Return tensors with gradient, not detached, in "
            "tuples, lists or dicts."
        )
    if any(leaf.dim() == 0 or len(leaf) != size for leaf in trained):
        raise AssumptionError(
            "the outputs of the model must have the examples as their first dimension: one row for each example, also "
            "for a batch of one. Use batch_first=True, or transpose; return no sums or means over the batch, and name "
            "the dimension of a squeeze."
        )


def _sites(model: nn.Module, tries: Sequence[Trial]) -> list[Site]:
    """The sites whose gradients are those of a loop: by layers, or else by the whole model."""
    reseed()
    examples = tries[0].examples
    findings = probe_parameter_uses(model, examples.batch, is_opaque)
    refusal: DpermError | None = None
    wrong: list[str] = []
    for by_layer in (True, False):
        sites = sites_of(model, findings) if by_layer else _whole_model_sites(model, examples, findings)
        try:
            found = _wrong_parameters(model, sites, tries)
        except DpermError as error:
            refusal = refusal or error
            continue
        except Exception:  # sizes that do not fit: a layer did not see the examples first
            continue
        if not found:
            return sites
        wrong = wrong or found
    if refusal is not None:
        raise refusal
    raise AssumptionError(
        f"per-example gradients of {', '.join(repr(name) for name in wrong[:5]) or 'the model'} cannot be found: it is "
        f"used in a way that dperm does not see. Use parameters in the forward pass of the model only, in each call in "
        f"the same way, and put penalties (weight decay) into the optimizer."
    )


def _whole_model_sites(model: nn.Module, examples: Examples, findings: ParameterUses) -> list[Site]:
    return whole_model(model, describe_shared_lookup(model, examples) or OPEN, findings=findings)


def _wrong_parameters(model: nn.Module, sites: list[Site], tries: Sequence[Trial]) -> list[str]:
    """Parameters whose gradients are wrong; substitutes may draw other random numbers, so dropout is left out then.

    Of a large model one trial is enough, the last one that shows something.
    """
    is_substituted, brief = any(site.method == "substitute" for site in sites), is_large(model)
    for trial in reversed(tries) if brief else tries:
        with trial.applied_to(model), without_dropout(model) if is_substituted else nullcontext():
            found = wrong_parameters(model, sites, trial)
            if not found:
                check_gradient_independence(model, sites, trial)
        if found or (brief and found is not None):
            return found
    return []
