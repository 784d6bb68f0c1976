# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of a model and its losses: per-example gradients exist, and dperm computes them correctly.

DP-SGD bounds the contribution of each example. The bound holds only if the loss of an example depends on no other
example, and if the clipped gradients are the gradients of the examples. Both conditions are tested on synthetic inputs,
before any private example is used.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.presentation.spelling import arg
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

OPEN = "its layers do not account for all uses of its parameters"
"""Reason for running the whole model again."""
TWICE = ("BackwardBackward", "BackwardDataBackward", "autograd::Error")
"""Parts of the names of graph nodes that exist only after a backward pass with ``create_graph=True``."""
LONGEST = 300
"""Largest number of characters shown of an error message of torch."""


def check_model(model: nn.Module, inputs: Inputs, *, public: bool = False) -> list[Site]:
    """Refuse a model without usable per-example gradients, and return the method for each layer.

    The model is tested in its current mode (training or evaluation, for each layer). The model and torch's random
    number generators are left unchanged.

    Parameters
    ----------
    model
        Model to train.
    inputs
        A batch in the form of a model call: a tensor, a tuple of positional arguments, or a mapping of keyword
        arguments, with the examples first. Only shapes and types are used.
    public
        Whether ``inputs`` are public. Then the model is tested on them instead of synthetic inputs, for models with
        other requirements on their inputs.

    Returns
    -------
    list[Site]
        Argument for ``PerExampleGradients(model, sites=...)``.

    Raises
    ------
    AssumptionError
        If the model mixes examples, keeps data of the examples, or uses parameters in an unsupported way. The message
        names the layer or parameter and the remedy.
    ParameterError
        If the model does not run on the inputs, or has no finite gradients on them.

    Notes
    -----
    *Guarantees.* An accepted model behaved on synthetic inputs as T46b requires: outputs and gradients of an example
    did not depend on the other examples, on their number, or on their order. The check is a test, not a proof: a model
    may behave differently on other inputs.

    *Edge cases.*

    =============================================  ======================================================
    input                                          result
    =============================================  ======================================================
    an empty batch, or no tensor in ``inputs``     `ParameterError`
    all parameters frozen                          `AssumptionError`
    gradients infinite or NaN on synthetic inputs  `ParameterError` with the advice to pass public inputs
    =============================================  ======================================================
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
    """Refuse losses that depend on the model's output for other examples.

    The gradient of the first loss must be zero at all other rows of the outputs. Values that are not finite are
    ignored, because 0 times infinity gives NaN in the backward pass. A dependence without gradient (``detach``) is not
    detected.

    Parameters
    ----------
    losses
        One loss per example.
    gradients
        Recorder of the forward pass, before its `clipped_sum`.

    Returns
    -------
    bool
        Whether the check was possible: it needs two examples.

    Raises
    ------
    AssumptionError
        If a loss depends on the output for another example, or contains a penalty (`check_no_penalty`).
    ParameterError
        If the number of losses differs from the number of output rows.
    """
    check_no_penalty(losses, gradients)
    leaves = [leaf for leaf in tree_leaves(gradients.outputs) if isinstance(leaf, Tensor) and leaf.requires_grad]
    if len(losses) < 2 or not leaves:
        return False
    if len({leaf.shape[:1] for leaf in leaves}) > 1 and all(leaf.dim() for leaf in leaves):
        raise AssumptionError(PARTS)
    if any(leaf.dim() == 0 or len(leaf) != len(losses) for leaf in leaves):
        raise ParameterError(
            argument="losses",
            rule="must have as many entries as the model's output has rows, one loss for each example",
            remedy="For several losses per example, take their mean: losses.flatten(1).mean(1). If the model was run "
            "on other data since the last step, for example for an evaluation, do so under torch.no_grad().",
        )
    try:
        found = torch.autograd.grad(losses[0], leaves, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        refuse_second_backward(error)
        raise
    if any(grad is not None and bool(((grad[1:] != 0) & grad[1:].isfinite()).any()) for grad in found):
        raise AssumptionError(
            "the loss of one example depends on the model's output for other examples, so that no example has a "
            "gradient of its own.",
            remedy='Use a loss of each example alone, with reduction="none": no contrastive losses and no batch '
            "statistics.",
        )
    return True


def check_no_penalty(losses: Tensor, gradients: PerExampleGradients) -> None:
    """Refuse losses with a penalty on the weights or on gradients.

    Such a penalty uses trained parameters outside of the recorded layers, or the backward pass of a backward pass.
    Per-example gradients do not contain this part, so it would have no effect.

    Parameters
    ----------
    losses
        One loss per example.
    gradients
        Recorder of the forward pass, before its `clipped_sum`.

    Raises
    ------
    AssumptionError
        If a loss uses a trained parameter directly, or contains gradients. The message names the parameter.
    """
    if not gradients.tape.entries:  # nothing is recorded since the last sum
        return
    names = {id(value): name for name, value in gradients.model.named_parameters() if value.requires_grad}
    above = gradients.tape.graph_above(losses)
    if any(mark in node.name() for node in above for mark in TWICE):
        raise AssumptionError(
            "the loss contains gradients (create_graph=True), for example in a gradient penalty: per-example gradients "
            "do not contain the gradient of this part, and it would have no effect.",
            remedy="Leave the gradient penalty out, or detach the gradients.",
        )
    leaves = (id(getattr(node, "variable", None)) for node in above)
    used = [names[leaf] for leaf in leaves if leaf in names]
    if used:
        raise AssumptionError(
            f"the loss uses the parameter {min(used)!r} outside of the model, for example in a penalty on the weights: "
            f"this part belongs to no example, and would have no effect.",
            remedy="Put penalties into the optimizer (weight_decay), and use parameters only in the forward pass of "
            "the model.",
        )


def _usable_examples(model: nn.Module, examples: Examples, start: ModelSnapshot) -> Examples:
    """Return examples on which the model runs. Integers may be indices, lengths or anything else."""
    if examples.public and not examples.has_distinct_rows(EXAMPLES):
        raise ParameterError(
            argument="example_inputs",
            rule="must hold two or more different rows if they are public",
            remedy="Add rows: equal rows cannot show whether the model mixes examples.",
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
        except Exception as error:  # a forward pass may raise any exception
            found = found or error
            continue
        return one
    start.restore()
    _refuse_other_precision(model, tried)
    raise ParameterError(
        f"the model cannot be checked: it does not run on {_describe_inputs(examples)} ({_format_error(found)}).",
        remedy=f"If the model needs other inputs, give public or invented ones as {arg('example_inputs')}, and "
        f"{arg('public_inputs', True)} (for check_model: inputs, and public=True).",
    ) from found


def _refuse_other_precision(model: nn.Module, tried: Sequence[Examples]) -> None:
    """Refuse inputs of another floating type than the parameters, if the model runs on converted ones."""
    needed = {value.dtype for value in model.parameters() if value.is_floating_point()}
    leaves = [leaf for leaf in tree_leaves(tried[0].inputs) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
    found = {leaf.dtype for leaf in leaves} - needed
    if len(needed) != 1 or not found:
        return
    dtype = needed.pop()
    for one in tried:
        inputs = tree_map_only(Tensor, lambda leaf: leaf.to(dtype) if leaf.is_floating_point() else leaf, one.inputs)
        args, kwargs = replace(one, inputs=inputs).batch(EXAMPLES)
        try:
            reseed()
            model(*args, **kwargs)
        except Exception:  # a forward pass may raise any exception
            continue
        convert = "inputs.double()" if dtype is torch.float64 else "inputs.float()"
        raise ParameterError(
            f"the inputs have the type {', '.join(sorted(map(str, found)))}, and the parameters of the model have the "
            f"type {dtype}.",
            remedy=f"Convert the data to the type of the parameters: {convert}.",
        )


def _describe_inputs(examples: Examples) -> str:
    return "the public inputs" if examples.public else "synthetic inputs with the shapes and types of the given ones"


def _format_error(error: Exception | None) -> str:
    """Return an error in one line. It was raised on public or synthetic inputs and contains nothing private."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words if len(words) <= LONGEST else words[:LONGEST] + ' ...'}"


def _check_run(model: nn.Module, examples: Examples, size: int, start: ModelSnapshot) -> None:
    """Check one run: buffers are unchanged, and outputs have the examples first."""
    try:
        leaves = outputs(model, examples, size)
    except Exception:  # it has run with another size
        raise AssumptionError(
            "the model does not run on batches of any size, but samples have random sizes, down to a single example.",
            remedy="Take the number of examples from the input.",
        ) from None
    check_unchanged_buffers(model, start)
    trained = [leaf for leaf in leaves if leaf.requires_grad]
    if not trained:
        raise AssumptionError(
            "no output of the model depends on a trained parameter.",
            remedy="Return tensors with gradient, not detached, in tuples, lists or dicts.",
        )
    if any(leaf.dim() == 0 or len(leaf) != size for leaf in trained):
        raise AssumptionError(
            "the outputs of the model must have the examples as their first dimension: one row for each example, also "
            "for a batch of one.",
            remedy="Use batch_first=True, or transpose; return no sums or means over the batch, and name the dimension "
            "of a squeeze.",
        )


def _sites(model: nn.Module, tries: Sequence[Trial]) -> list[Site]:
    """Return sites whose gradients agree with autograd: layer by layer, or else the whole model."""
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
        except Exception:  # sizes do not fit: a layer did not receive the examples first
            continue
        if not found:
            return sites
        wrong = wrong or found
    if refusal is not None:
        raise refusal
    raise AssumptionError(
        f"per-example gradients of {', '.join(repr(name) for name in wrong[:5]) or 'the model'} cannot be computed: "
        f"dperm does not recognize how the model uses them.",
        remedy="Use parameters only in the forward pass of the model, in the same way in each call, and put penalties "
        "(weight decay) into the optimizer.",
    )


def _whole_model_sites(model: nn.Module, examples: Examples, findings: ParameterUses) -> list[Site]:
    return whole_model(model, describe_shared_lookup(model, examples) or OPEN, findings=findings)


def _wrong_parameters(model: nn.Module, sites: list[Site], tries: Sequence[Trial]) -> list[str]:
    """Return the names of parameters whose gradients are wrong.

    Substitutes may draw other random numbers, so dropout is turned off for them. For a large model one trial is enough:
    the last trial with a result.
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
