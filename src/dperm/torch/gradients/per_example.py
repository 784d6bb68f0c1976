# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of clipped per-example gradients in one forward and one backward pass: book-keeping (T46).

While it is on, hooks note what goes into every layer and where the gradient at its output will arrive. One backward
pass through activations finds these gradients; norms follow from pairs of inputs and gradients, weights from norms, and
one weighted product for each layer is the clipped sum. The products are as many as in ordinary training.
"""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from dperm import checks
from dperm.errors import AssumptionError, ParameterError
from dperm.torch.gradients.clipping import (
    LONGEST_CLIP,
    SHORTEST_CLIP,
    Clipping,
    ClippingWeights,
    GradientNorms,
    clipping_weights,
    combine_norms,
)
from dperm.torch.gradients.factors import GradientFactor, Outer
from dperm.torch.gradients.fused_clipping import kernel_weights, with_biases
from dperm.torch.gradients.precision import plain_arithmetic
from dperm.torch.gradients.sites import Site, sites_of
from dperm.torch.gradients.tape import Tape, collect_factors
from dperm.torch.gradients.unsupported_layers import ParameterGuard, check_compiled, watched_layers

Sums = dict[nn.Parameter, Tensor]
WeightedFactor = tuple[nn.Parameter, GradientFactor, Tensor]
"""A parameter, the gradients of the examples, and their weights."""


class UnclippedGradients(NamedTuple):
    """The gradients of the examples of a micro-batch, and how they are to be clipped.

    Attributes
    ----------
    examples
        The number of losses, and of gradients.
    layers
        The number of the layer that each parameter belongs to.
    double
        Whether norms and sums are in double precision.
    device
        Where they are.
    """

    factors: list[tuple[nn.Parameter, GradientFactor]]
    examples: int
    layers: dict[nn.Parameter, int]
    clipping: Clipping
    clip_norm: float
    double: bool = False
    device: str = "cpu"

    def weigh(
        self, *, keep: Tensor | None = None, observe: Callable[[Tensor], None] | None = None
    ) -> list[WeightedFactor]:
        """The gradients with their weights: of each parameter, what is added up."""
        with plain_arithmetic(self.device):
            return weigh(
                self.factors,
                self.layers,
                clip_norm=self.clip_norm,
                clipping=self.clipping,
                keep=keep,
                double=self.double,
                observe=observe,
                examples=self.examples,
            )


class PerExampleGradients:
    """Per-example gradients of a model, which is not changed beyond hooks that `close` takes away again.

    Parameters
    ----------
    model
        Any module; parameters that do not require gradients are left alone.
    sites
        How its layers are treated, as found by `check_model`; without it, layers that dperm does not know are
        differentiated once more under vmap, and nothing is checked.

    Attributes
    ----------
    outputs
        What the model has returned since the last call of `clipped_sum`.
    layers
        The number of the layer that each trained parameter belongs to.
    """

    def __init__(self, model: nn.Module, *, sites: Sequence[Site] | None = None) -> None:
        check_compiled(model)
        self.model = model
        self.tape = Tape()
        self.sites = list(sites_of(model) if sites is None else sites)
        self.outputs: list[object] = []
        self._checked = sites is not None
        self.layers = _layers(model)
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        """Hook the layers."""
        for site in self.sites:
            self._undo.append(site.install(self.tape))
        self._outputs_kept = self.model.register_forward_hook(self._keep_output)
        self._undo.append(self._outputs_kept.remove)
        self._undo.append(watched_layers(self.model))
        if not self._checked:
            self._undo.append(ParameterGuard(self.model, [site.module for site in self.sites]).remove)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the hooks away."""
        while self._undo:
            self._undo.pop()()
        self.forget()

    def clipped_sum(
        self,
        losses: Tensor,
        *,
        clip_norm: float = 1.0,
        clipping: Clipping | str = Clipping.FLAT,
        keep: Tensor | None = None,
        double: bool = False,
        observe: Callable[[Tensor], None] | None = None,
    ) -> Sums:
        """The sum of clipped gradients, in units of the clip norm: each example adds a vector of norm 1 at most.

        Parameters
        ----------
        losses
            One loss for each example, from forward passes since the last call.
        clip_norm
            C.
        clipping
            Which norm is bounded.
        keep
            For each example whether it counts; padding does not.
        double
            Whether norms and sums are in double precision, with the error bound of T46b.
        observe
            Called with the weights of the examples, of flat clipping.
        """
        found = self.unclipped(checked_losses(losses), Clipping.of(clipping), clip_norm, double=double)
        return dict(sum_weighted(found.weigh(keep=keep, observe=observe)))

    def unclipped(
        self, losses: Tensor, clipping: Clipping, clip_norm: float = 1.0, *, double: bool = False
    ) -> UnclippedGradients:
        """The gradients of examples whose ``losses`` were checked, before they are clipped."""
        device = losses.device.type
        with plain_arithmetic(device):
            factors = self._factors(losses, double=double)
        return UnclippedGradients(factors, losses.shape[0], self.layers, clipping, clip_norm, double, device)

    @property
    def was_run(self) -> bool:
        """Whether a forward pass with gradients was noted since the last call."""
        return bool(self.tape.entries)

    def lifted(self) -> set[int]:
        """The ids of parameters that were replaced by copies since the last call: backward() does not reach them."""
        rules = [entry.rule for entry in self.tape.entries if isinstance(entry.edge, Tensor)]
        return {id(getattr(rule, "parameter", None)) for rule in rules}

    def keep_no_outputs(self) -> None:
        """Stop to note what the model returns, once the losses have been looked at."""
        self._outputs_kept.remove()
        self.outputs = []

    def forget(self) -> None:
        """Forget the forward passes since the last call."""
        self.tape.take()
        self.outputs = []

    def factors(self, losses: Tensor, *, double: bool = False) -> list[tuple[nn.Parameter, GradientFactor]]:
        """The per-example gradients of every parameter that the losses depend on."""
        with plain_arithmetic(checked_losses(losses).device.type):
            return self._factors(losses, double=double)

    def _factors(self, losses: Tensor, *, double: bool) -> list[tuple[nn.Parameter, GradientFactor]]:
        self.outputs = []
        return collect_factors(self.tape.take(), losses, double=double)

    def _keep_output(self, module: nn.Module, inputs: object, output: object) -> None:
        if torch.is_grad_enabled() and not self.tape.paused:
            self.outputs.append(output)


def weigh(
    factors: list[tuple[nn.Parameter, GradientFactor]],
    layers: dict[nn.Parameter, int],
    *,
    clip_norm: float,
    clipping: Clipping,
    keep: Tensor | None = None,
    double: bool = False,
    observe: Callable[[Tensor], None] | None = None,
    examples: int | None = None,
) -> list[WeightedFactor]:
    """Norms and weights; ``examples`` is the number of losses, and must be that of the gradients."""
    if not SHORTEST_CLIP <= clip_norm <= LONGEST_CLIP:
        checks.between("clip_norm", clip_norm, SHORTEST_CLIP, LONGEST_CLIP, "1 is a good start.")
    if not factors:
        return []
    found = _weights(factors, layers, clip_norm, clipping, double=double, examples=examples)
    kept = _kept(found.layers, keep)
    if observe is not None:
        observe(kept[0])
    if found.finite is not None:  # what is not finite would survive a product with 0
        factors = [(parameter, factor.masked(found.finite)) for parameter, factor in factors]
    return [(parameter, factor, weight) for (parameter, factor), weight in zip(factors, kept, strict=True)]


def _weights(
    factors: list[tuple[nn.Parameter, GradientFactor]],
    layers: dict[nn.Parameter, int],
    clip_norm: float,
    clipping: Clipping,
    *,
    double: bool,
    examples: int | None,
) -> ClippingWeights:
    """A weight for every example, for each of the parameters."""
    if not double and examples is not None:
        fused = kernel_weights([factor for _, factor in factors], clipping, clip_norm, examples)
        if fused is not None:
            return ClippingWeights([fused] * len(factors), None)
    if double or clipping is Clipping.PER_LAYER:
        lengths = [GradientNorms(factor.squared_norms(), factor.spread() if double else None) for _, factor in factors]
    else:
        lengths = [GradientNorms(squares) for squares in _squares(factors)]
    if examples is not None and any([length[0].shape[0] != examples for length in lengths]):
        raise AssumptionError(
            "a layer has seen another number of rows than there are losses, so that its gradients are not those of "
            "examples. Keep the examples as the first dimension of every layer's input (no flattening of sequences "
            "into rows), or give PerExampleGradients(model, sites=check_model(model, inputs))."
        )
    if clipping is Clipping.PER_LAYER:
        return _layer_weights(clip_norm, lengths, [layers[parameter] for parameter, _ in factors])
    found = clipping_weights(clipping, clip_norm, lengths)
    return ClippingWeights(found.layers[:1] * len(factors), found.finite)


def sum_weighted(found: list[WeightedFactor]) -> list[tuple[nn.Parameter, Tensor]]:
    """The clipped sums."""
    if not found:
        return []
    with plain_arithmetic(found[0][2].device.type):
        return [(parameter, factor.weighted(weight)) for parameter, factor, weight in found]


def _squares(factors: list[tuple[nn.Parameter, GradientFactor]]) -> Iterator[Tensor]:
    """Squared norms that add up to those of the whole gradients: of a matrix and its bias at once, if it has one."""
    for factor, bias in with_biases([factor for _, factor in factors]):
        if isinstance(factor, Outer) and bias is not None:
            yield factor.squared_norms_with_bias()
        else:
            yield factor.squared_norms()


def _kept(found: list[Tensor], keep: Tensor | None) -> list[Tensor]:
    """The weights of examples that count; where all layers have the same weights, they are made once."""
    if keep is None:
        return found
    if all(weight is found[0] for weight in found):
        return [torch.where(keep, found[0], 0)] * len(found)
    return [torch.where(keep, weight, 0) for weight in found]


def checked_losses(losses: object) -> Tensor:
    """``losses``, if it is one number for each example that depends on trained parameters."""
    if not isinstance(losses, Tensor) or losses.dim() != 1 or not losses.requires_grad:
        raise ParameterError(
            f"losses must be a tensor with one loss for each example, shape (batch,), from a forward pass with "
            f'gradients, got {_describe_losses(losses)}. Use reduction="none", and for several losses of an example their '
            f"mean: losses.flatten(1).mean(1)."
        )
    return losses


def _describe_losses(losses: object) -> str:
    if not isinstance(losses, Tensor):
        return checks.shown(losses)
    if losses.dim() == 0:
        return "one number for the whole batch"
    return f"{losses.dim()} dimensions" if losses.dim() > 1 else "losses without gradient"


def _layer_weights(clip_norm: float, lengths: list[GradientNorms], layers: list[int]) -> ClippingWeights:
    """Weights by layer, for each of the parameters."""
    order = sorted(set(layers))
    members = [[length for length, own in zip(lengths, layers, strict=True) if own == layer] for layer in order]
    found = clipping_weights(Clipping.PER_LAYER, clip_norm, [combine_norms(own) for own in members])
    by_layer = dict(zip(order, found.layers, strict=True))
    return ClippingWeights([by_layer[layer] for layer in layers], found.finite)


def _layers(model: nn.Module) -> dict[nn.Parameter, int]:
    """The number of the layer that each trained parameter belongs to: of the first module that holds it."""
    found: dict[nn.Parameter, int] = {}
    for number, module in enumerate(model.modules()):
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                found.setdefault(parameter, number)
    return found
