# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a model has per-example gradients, and whether the engine finds them: asked on synthetic inputs.

DP-SGD bounds what one example contributes. This means something only if the loss of an example depends on no other one,
and if the gradients that are clipped are those of the examples. Both are tried out before any private example is seen.
"""

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.torch.engine.comparison import wrong_parameters
from dperm.torch.engine.findings import probed
from dperm.torch.engine.gradients import PerExampleGradients
from dperm.torch.engine.influence import EXAMPLES, SIZES, check_influence, check_sizes, outputs
from dperm.torch.engine.refusals import check_layers, check_parameters
from dperm.torch.engine.sites import Site, opaque, sites_of, whole_model
from dperm.torch.engine.synthetic import Examples, Inputs
from dperm.torch.engine.untouched import buffers_of, changed_buffer, seeded, untouched, without_dropout


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
    with untouched(model), torch.enable_grad():
        examples = _usable(model, Examples(inputs, public))
        _check_run(model, examples, EXAMPLES)
        check_influence(model, examples)
        for size in SIZES:
            _check_run(model, examples, size)
        check_sizes(model, examples)
        return _sites(model, examples)


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
    if any(leaf.dim() == 0 or len(leaf) != len(losses) for leaf in leaves):
        raise ParameterError(
            "losses must be as many as the rows of the model's output, one loss for each example. For several losses "
            "of an example take their mean: losses.flatten(1).mean(1)."
        )
    found = torch.autograd.grad(losses[0], leaves, retain_graph=True, allow_unused=True)
    if any(grad is not None and bool(((grad[1:] != 0) & grad[1:].isfinite()).any()) for grad in found):
        raise AssumptionError(
            "the loss of one example depends on the model's output for other examples, so that no example has a "
            'gradient of its own. Use a loss of each example alone, with reduction="none": no contrast between '
            "examples, no statistics of the batch."
        )
    return True


def _usable(model: nn.Module, examples: Examples) -> Examples:
    """Examples on which the model runs: integers may be indices, lengths or anything."""
    tried = [examples] if examples.public else [Examples(examples.inputs, integers=k) for k in (2, 1, 0)]
    for one in tried:
        try:
            seeded()
            args, kwargs = one.batch(EXAMPLES)
            model(*args, **kwargs)
        except DpermError:
            raise
        except Exception:  # anything that a forward pass may raise
            continue
        return one
    raise ParameterError(
        "the model cannot be checked: it does not run on inputs of the shapes and types of the given ones with made-up "
        "values. Give public or invented examples on which it runs, and public=True."
    )


def _check_run(model: nn.Module, examples: Examples, size: int) -> None:
    """Buffers stay, and outputs have the examples first."""
    before = buffers_of(model)
    try:
        leaves = outputs(model, examples, size)
    except Exception:  # it ran with another size
        raise AssumptionError(
            "the model does not run on batches of any size: samples are of random sizes, and may be a single example. "
            "Take the number of examples from the input."
        ) from None
    buffer = changed_buffer(model, before)
    if buffer is not None:
        raise AssumptionError(
            f"the buffer or parameter {buffer!r} is changed by the forward pass: it would hold private data, without "
            f"noise, and carry examples from one batch into the next. Use a layer without running statistics "
            f"(track_running_stats=False, nn.GroupNorm), or put it into eval mode."
        )
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


def _sites(model: nn.Module, examples: Examples) -> list[Site]:
    """The sites whose gradients are those of a loop: by layers, or else by the whole model."""
    seeded()
    tried = [sites_of(model, probed(model, examples.batch, opaque))]
    tried.append(whole_model(model, "its layers alone do not show how it uses its parameters"))
    refusal: DpermError | None = None
    wrong: list[str] = []
    for sites in tried:
        try:
            found = _wrong(model, sites, examples)
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


def _wrong(model: nn.Module, sites: list[Site], examples: Examples) -> list[str]:
    """Parameters whose gradients are wrong; substitutes may draw other random numbers, so dropout is left out then."""
    found = wrong_parameters(model, sites, examples)
    if not found or all(site.method != "substitute" for site in sites):
        return found
    with without_dropout(model):
        return wrong_parameters(model, sites, examples)
