# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of clipped per-example gradients in one forward and one backward pass, by bookkeeping (T46).

Inside the ``with`` block, hooks record the input of each layer and the location of its output gradient. One backward
pass through the activations computes the output gradients. Norms follow from pairs of inputs and gradients, weights
follow from norms, and one weighted product per layer gives the clipped sum. The number of products is the same as in
ordinary training.
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
from dperm.torch.gradients.layers import SITES_REMEDY
from dperm.torch.gradients.precision import plain_arithmetic
from dperm.torch.gradients.sites import Site, sites_of
from dperm.torch.gradients.tape import Tape, collect_factors
from dperm.torch.gradients.unsupported_layers import ParameterGuard, check_compiled, watched_layers

Sums = dict[nn.Parameter, Tensor]
"""Clipped sum of gradients for each parameter."""
WeightedFactor = tuple[nn.Parameter, GradientFactor, Tensor]
"""Parameter, gradients of the examples, and their weights."""


class UnclippedGradients(NamedTuple):
    """Gradients of a micro-batch before clipping, with the clipping options.

    Attributes
    ----------
    factors
        Parameters with the gradients of the examples.
    examples
        Number of losses, equal to the number of gradients.
    layers
        Layer number of each parameter.
    clipping, clip_norm
        Kind of clipping (flat, per_layer or normalized), and clipping norm C.
    double
        Whether norms and sums use double precision.
    device
        Device type of the gradients.
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
        """Return the factors of each parameter with the clipping weights of the examples."""
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
    """Context manager that computes per-example gradients of a model and their clipped sums.

    The model is not changed, except for hooks that are removed at the end of the ``with`` block.

    Parameters
    ----------
    model
        Any module. Frozen parameters are ignored.
    sites
        Gradient method of each layer, as returned by ``check_model(model, inputs)`` from `dperm.torch.model_checks`. If
        None, the gradients of layers without a specific rule are computed by a second run of the layer under
        ``torch.func.vmap``, and the model is not tested for mixing of examples.

    Attributes
    ----------
    outputs
        Model outputs of the forward passes since the last call of `clipped_sum`.
    layers
        Layer number of each trained parameter.

    Notes
    -----
    *Guarantees.* For a model accepted by ``check_model``, each example contributes a vector of norm at most 1 (in
    single precision, at most 1 + 2^-11) to the sums of `clipped_sum` (T46, T46b). The sums contain no noise, so they
    are not private by themselves.
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
        """Register the hooks of all layers."""
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
        """Remove all hooks and forget recorded passes."""
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
        """Return the sum of the clipped per-example gradients, in units of the clipping norm.

        Parameters
        ----------
        losses
            One loss per example, from forward passes since the last call.
        clip_norm
            Clipping norm C, between 1e-15 and 1e15.
        clipping
            Kind of clipping: flat, per_layer or normalized.
        keep
            Mask of the examples to include; False marks padding.
        double
            Whether norms and sums use double precision, with the error bound of T46b.
        observe
            Callback that receives the clipping weights of the examples; with per_layer, the weights in the first
            layer only.

        Returns
        -------
        dict[nn.Parameter, Tensor]
            Clipped sum for each parameter used by the losses.

        Raises
        ------
        ParameterError
            If ``losses`` has the wrong shape or no gradient, or ``clip_norm`` is out of range.
        AssumptionError
            If the number of rows in the input of a layer differs from the number of losses.

        Notes
        -----
        *Guarantees.* Each example contributes a vector of norm at most 1 over all parameters together; in single
        precision, at most 1 + 2^-11 (T46b). ``clip_norm`` may depend on earlier releases (T46a).

        *Edge cases.*

        =====================================================  ================
        example or argument                                    result
        =====================================================  ================
        zero gradient                                          adds zeros
        infinite or NaN gradient, or squared norm above 2^126  adds zeros
        ``keep`` is False                                      adds zeros
        no examples                                            zeros
        no parameter used by the losses                        empty dictionary
        ``clip_norm`` 0, infinite or NaN                       `ParameterError`
        =====================================================  ================
        """
        found = self.unclipped(checked_losses(losses), Clipping.of(clipping), clip_norm, double=double)
        return dict(sum_weighted(found.weigh(keep=keep, observe=observe)))

    def unclipped(
        self, losses: Tensor, clipping: Clipping, clip_norm: float = 1.0, *, double: bool = False
    ) -> UnclippedGradients:
        """Return the unclipped gradients of losses that `checked_losses` has accepted.

        Parameters
        ----------
        losses
            One loss per example.
        clipping
            Kind of clipping: flat, per_layer or normalized.
        clip_norm
            Clipping norm C, stored in the result.
        double
            Whether to use double precision.

        Returns
        -------
        UnclippedGradients
            Gradients before clipping, with the clipping options.
        """
        device = losses.device.type
        with plain_arithmetic(device):
            factors = self._factors(losses, double=double)
        return UnclippedGradients(
            factors,
            examples=losses.shape[0],
            layers=self.layers,
            clipping=clipping,
            clip_norm=clip_norm,
            double=double,
            device=device,
        )

    @property
    def was_run(self) -> bool:
        """Whether a forward pass with gradients has been recorded and not yet used."""
        return bool(self.tape.entries)

    def lifted(self) -> set[int]:
        """Return the ids of the parameters that were replaced by copies in the recorded forward passes.

        backward() does not reach these parameters.
        """
        rules = [entry.rule for entry in self.tape.entries if isinstance(entry.edge, Tensor)]
        return {id(getattr(rule, "parameter", None)) for rule in rules}

    def keep_no_outputs(self) -> None:
        """Discard the stored model outputs and store no further ones: only the check of the losses needs them."""
        self._outputs_kept.remove()
        self.outputs = []

    def forget(self) -> None:
        """Discard all recorded forward passes and outputs."""
        self.tape.take()
        self.outputs = []

    def factors(self, losses: Tensor, *, double: bool = False) -> list[tuple[nn.Parameter, GradientFactor]]:
        """Return the per-example gradients of all parameters that the losses depend on.

        Parameters
        ----------
        losses
            One loss per example.
        double
            Whether to use double precision.

        Returns
        -------
        list[tuple[nn.Parameter, GradientFactor]]
            Parameters with their gradients in factored form.
        """
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
    """Return each factor with the clipping weights of its examples.

    Parameters
    ----------
    factors
        Parameters with the gradients of the examples.
    layers
        Layer number of each parameter, for per-layer clipping.
    clip_norm, clipping
        Clipping norm C between 1e-15 and 1e15, and the norm to bound.
    keep
        Mask of the examples to include.
    double
        Whether to bound rounding errors by the spread (T46b).
    observe
        Function that is called with the weights of the first layer.
    examples
        Number of losses; must equal the number of gradients.

    Raises
    ------
    ParameterError
        If ``clip_norm`` is out of range.
    AssumptionError
        If the number of rows in a layer differs from ``examples``.

    Notes
    -----
    *Guarantees.* Each weighted gradient has norm at most 1, or 1 + 2^-11 in single precision, for every ``clip_norm``
    (T46a, T46b). Gradients with infinite or NaN entries are replaced by zeros.

    *Edge cases.*

    ================================  ==================================================
    input                             result
    ================================  ==================================================
    no factors                        empty list
    zero gradient                     weight 1/C (flat, per layer) or 100/C (normalized)
    infinite or NaN gradient          weight 0 and a masked factor
    ``keep`` is False                 weight 0
    ``clip_norm`` 0, infinite or NaN  `ParameterError`
    ================================  ==================================================
    """
    if not SHORTEST_CLIP <= clip_norm <= LONGEST_CLIP:
        checks.between("clip_norm", clip_norm, SHORTEST_CLIP, LONGEST_CLIP, "Start with 1.")
    if not factors:
        return []
    found = _weights(factors, layers, clip_norm, clipping, double=double, examples=examples)
    kept = _kept(found.layers, keep)
    if observe is not None:
        observe(kept[0])
    if found.finite is not None:  # NaN and infinity would survive a product with 0
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
    """Return the clipping weights of each example, for each parameter."""
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
            "a layer received another number of rows than there are losses, so its gradients are not per-example "
            "gradients.",
            remedy="Keep the examples as the first dimension of every layer's input, without flattening sequences into "
            f"rows. {SITES_REMEDY}",
        )
    if clipping is Clipping.PER_LAYER:
        return _layer_weights(clip_norm, lengths, [layers[parameter] for parameter, _ in factors])
    found = clipping_weights(clipping, clip_norm, lengths)
    return ClippingWeights(found.layers[:1] * len(factors), found.finite)


def sum_weighted(found: list[WeightedFactor]) -> list[tuple[nn.Parameter, Tensor]]:
    """Return the clipped sum of each parameter, in units of the clipping norm.

    The sums obey the bounds of `weigh` and, in double precision, the rounding bound of T46b. An empty list gives an
    empty list.
    """
    if not found:
        return []
    with plain_arithmetic(found[0][2].device.type):
        return [(parameter, factor.weighted(weight)) for parameter, factor, weight in found]


def _squares(factors: list[tuple[nn.Parameter, GradientFactor]]) -> Iterator[Tensor]:
    """Yield squared norms with the squared norm of the whole gradient as their sum.

    A matrix and its bias count together.
    """
    for factor, bias in with_biases([factor for _, factor in factors]):
        if isinstance(factor, Outer) and bias is not None:
            yield factor.squared_norms_with_bias()
        else:
            yield factor.squared_norms()


def _kept(found: list[Tensor], keep: Tensor | None) -> list[Tensor]:
    """Return the weights of the included examples. Weights shared by all layers are masked once."""
    if keep is None:
        return found
    if all(weight is found[0] for weight in found):
        return [torch.where(keep, found[0], 0)] * len(found)
    return [torch.where(keep, weight, 0) for weight in found]


def checked_losses(losses: object) -> Tensor:
    """Return ``losses`` if it contains one number with gradient per example.

    Raises
    ------
    ParameterError
        If the shape or type is wrong, or the losses have no gradient.
    """
    if not isinstance(losses, Tensor) or losses.dim() != 1 or not losses.requires_grad:
        raise ParameterError(
            argument="losses",
            rule="must be a tensor with one loss for each example, shape (batch,), from a forward pass with gradients",
            got=_describe_losses(losses),
            remedy='Use reduction="none"; for several losses per example, take their mean: losses.flatten(1).mean(1).',
        )
    return losses


def _describe_losses(losses: object) -> str:
    if not isinstance(losses, Tensor):
        return checks.shown(losses)
    if losses.dim() == 0:
        return "one number for the whole batch"
    return f"{losses.dim()} dimensions" if losses.dim() > 1 else "losses without gradient"


def _layer_weights(clip_norm: float, lengths: list[GradientNorms], layers: list[int]) -> ClippingWeights:
    """Return the per-layer weights of each parameter."""
    order = sorted(set(layers))
    members = [[length for length, own in zip(lengths, layers, strict=True) if own == layer] for layer in order]
    found = clipping_weights(Clipping.PER_LAYER, clip_norm, [combine_norms(own) for own in members])
    by_layer = dict(zip(order, found.layers, strict=True))
    return ClippingWeights([by_layer[layer] for layer in layers], found.finite)


def _layers(model: nn.Module) -> dict[nn.Parameter, int]:
    """Return the layer number of each trained parameter: the number of the first module with this parameter."""
    found: dict[nn.Parameter, int] = {}
    for number, module in enumerate(model.modules()):
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                found.setdefault(parameter, number)
    return found
