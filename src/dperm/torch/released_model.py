# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A trained model at its release: public facts for the release record, the digest, and warnings of divergence."""

import hashlib
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.errors import DpermWarning
from dperm.torch.model_checks.model_state import preserve_state, reseed
from dperm.torch.model_checks.synthetic_inputs import Examples

HUGE = 1e5
"""Absolute parameter values above this number cause a warning."""
PROBES = 3
"""Number of synthetic inputs for the released model."""
REMEDY = (
    "The guarantee holds, but the model is probably useless: the training diverged, or the data or the loss are not "
    "finite. Lower the learning rate, scale the inputs, and try the loop on public or invented data first."
)


def model_facts(model: nn.Module) -> dict[str, object]:
    """Return class name and number of trained parameters: public facts, known before any data are read."""
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    return {"model": type(model).__name__, "trained_parameters": trained}


def model_digest(model: nn.Module) -> str:
    """Return the SHA-256 of all tensors in the model's state: names, types, shapes and bytes, in order of the names."""
    sha = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, Tensor):
            sha.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
            sha.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return f"sha256:{sha.hexdigest()}"


def warn_of_divergence(model: nn.Module, inputs: tuple[Any, ...]) -> None:
    """Warn if trained parameters, or outputs for synthetic inputs, are not finite, or parameters are huge.

    The warnings follow from the released parameters alone, so they cost no privacy.

    Parameters
    ----------
    model
        The released model.
    inputs
        Inputs with the shapes and types of a record, without any data in them.
    """
    trained = [(name, value.detach()) for name, value in model.named_parameters() if value.requires_grad]
    broken = [name for name, value in trained if not bool(value.isfinite().all())]
    if broken:
        _warn(f"released parameters are not finite: {', '.join(broken[:5])}.")
        return
    huge = [name for name, value in trained if value.numel() and float(value.abs().max()) > HUGE]
    if huge:
        _warn(f"released parameters are larger than {HUGE:g}: {', '.join(huge[:5])}.")
    elif not _has_finite_outputs(model, inputs):
        _warn("outputs of the released model are not finite for synthetic inputs between -1 and 1.")


def _has_finite_outputs(model: nn.Module, inputs: tuple[Any, ...]) -> bool:
    """Whether outputs for synthetic inputs have finite entries; True if the model does not run on them."""
    try:
        with preserve_state(model), torch.no_grad():
            reseed()
            args, kwargs = Examples(inputs).batch(PROBES)
            leaves = [leaf for leaf in tree_leaves(model(*args, **kwargs)) if isinstance(leaf, Tensor)]
    except Exception:  # not every model accepts synthetic inputs
        return True
    return all(bool(leaf.isfinite().any()) for leaf in leaves if leaf.is_floating_point() and leaf.numel())


def _warn(finding: str) -> None:
    warnings.warn(f"{finding} {REMEDY}", DpermWarning, stacklevel=4)
