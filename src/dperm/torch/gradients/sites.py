# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sites: the places where a model uses its parameters, each with a method for per-example gradients.

A module with a known forward pass has a *rule*, or a *substitute* forward pass if the original does not expose the
inputs of a rule. Bare parameters of other modules are *lifted* if a probe has shown only supported uses. Otherwise the
whole module is differentiated once more under *vmap*. The last resort is vmap of the whole model.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from dperm.torch.gradients.lifting import LiftScript, lifted_site
from dperm.torch.gradients.recompute import BatchedArguments, RecomputeMode, vmap_site
from dperm.torch.gradients.rules import RULES, SUBSTITUTES
from dperm.torch.gradients.tape import LayerRule, Tape


@dataclass(frozen=True)
class ParameterUses:
    """Uses of bare parameters, as determined by a probe.

    Attributes
    ----------
    scripts
        Scripts of the modules supported by lifting.
    recomputed
        Modules with a second run, and the reason.
    rows
        For each module, its arguments with one row per example.
    bare_parameters
        Ids of the parameters with bare uses.
    """

    scripts: dict[nn.Module, LiftScript] = field(default_factory=dict)
    recomputed: dict[nn.Module, str] = field(default_factory=dict)
    rows: dict[nn.Module, BatchedArguments] = field(default_factory=dict)
    bare_parameters: frozenset[int] = frozenset()


Undo = Callable[[], None]
"""Function that removes installed hooks."""
UNSEEN = "it has parameters, but no rule"
"""Reason for recomputing a module without a probe of its bare parameters."""


@dataclass(frozen=True)
class Site:
    """A module and the method for its per-example gradients.

    Attributes
    ----------
    name
        Name of the module in the model; "" for the model itself.
    method
        "rule", "substitute", "lifted" or "vmap".
    install
        Function that starts recording on a tape, and returns a function that stops the recording.
    why
        Reason for the method; empty for layers known to dperm.
    mode
        Options for the second run of a module without a rule.
    """

    name: str
    module: nn.Module
    method: str
    install: Callable[[Tape], Undo]
    why: str = ""
    mode: RecomputeMode | None = None


def sites_of(model: nn.Module, findings: ParameterUses | None = None) -> list[Site]:
    """Return the sites of all trained parameters. Without ``findings`` nothing is lifted.

    A recomputed module precedes its children. The sites of the children apply if they are called from outside the
    module.
    """
    findings = findings or ParameterUses()
    found = list(_below("", model, findings, set()))
    return [_shielded(site, findings, found) for site in found]


def whole_model(model: nn.Module, why: str, *, findings: ParameterUses | None = None) -> list[Site]:
    """Return the last resort: the model as one site."""
    mode = RecomputeMode(None if findings is None else findings.rows.get(model))
    return [Site("", model, "vmap", vmap_site("", model, mode), why=why, mode=mode)]


def is_opaque(module: nn.Module) -> bool:
    """Return whether a module handles its own parameters, so its children are not inspected."""
    forward = known_forward(module)
    return forward in SUBSTITUTES or forward in RULES or has_computed_weights(module)


def known_forward(module: nn.Module) -> Callable[..., Any] | None:
    """Return the forward function of the module's class, or None.

    None means that the instance overrides the function, or that its weights are computed.
    """
    if "forward" in vars(module) or has_computed_weights(module):
        return None
    return type(module).forward


def has_computed_weights(module: nn.Module) -> bool:
    """Return whether weights are functions of parameters: parametrizations, weight norm, pruning."""
    own = [(name, value) for name, value in vars(module).items() if isinstance(value, Tensor)]
    names = tuple(module._parameters)
    return "parametrizations" in module._modules or any(
        value.requires_grad or any(other.startswith(f"{name}_") for other in names) for name, value in own
    )


def _below(name: str, module: nn.Module, findings: ParameterUses, seen: set[nn.Module]) -> Iterator[Site]:
    if module in seen or not any(parameter.requires_grad for parameter in module.parameters()):
        return
    seen.add(module)
    yield from _sites(name, module, findings)
    if not is_opaque(module):
        for child, inner in module.named_children():
            yield from _below(f"{name}.{child}" if name else child, inner, findings, seen)


def _sites(name: str, module: nn.Module, findings: ParameterUses) -> Iterator[Site]:
    forward = known_forward(module)
    if forward in SUBSTITUTES:
        yield Site(name, module, "substitute", _substituted(module, SUBSTITUTES[forward]))
    elif forward in RULES:
        yield Site(name, module, "rule", _hooked(module, RULES[forward]))
    elif module in findings.recomputed:
        yield _recompute_site(name, module, findings.recomputed[module], findings)
    elif module in findings.scripts:
        yield Site(name, module, "lifted", lifted_site(name, module, findings.scripts[module], ()))
    elif has_computed_weights(module):
        yield _recompute_site(name, module, "its weights are computed from parameters", findings)
    elif any(p.requires_grad and id(p) not in findings.bare_parameters for p in module.parameters(recurse=False)):
        yield _recompute_site(name, module, UNSEEN, findings)


def _recompute_site(name: str, module: nn.Module, why: str, findings: ParameterUses) -> Site:
    mode = RecomputeMode(findings.rows.get(module))
    return Site(name, module, "vmap", vmap_site(name, module, mode), why=why, mode=mode)


def _shielded(site: Site, findings: ParameterUses, found: list[Site]) -> Site:
    """Return a lifted site with other sites of its parameters excluded."""
    if site.method != "lifted":
        return site
    script = findings.scripts[site.module]
    own = {id(parameter) for parameter in script.parameters}
    others = [one.module for one in found if own & {id(parameter) for parameter in one.module.parameters()}]
    below = set(site.module.modules())
    apart = [other for other in others if other in below or site.module not in set(other.modules())]
    install = lifted_site(site.name, site.module, script, apart)
    return Site(site.name, site.module, site.method, install, "it uses parameters directly, in supported ways")


def _hooked(module: nn.Module, rule: LayerRule) -> Callable[[Tape], Undo]:
    def install(tape: Tape) -> Undo:
        def hook(layer: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
            if named or len(inputs) != 1:
                inputs = tuple([value for value in (*inputs, *named.values()) if isinstance(value, Tensor)])
            tape.record(rule, layer, inputs, output)

        # Before all other hooks, because they may replace the output.
        return module.register_forward_hook(hook, prepend=True, with_kwargs=True).remove

    return install


def _substituted(module: nn.Module, substitute: Callable[[Any, Tape], Callable[..., Any]]) -> Callable[[Tape], Undo]:
    def install(tape: Tape) -> Undo:
        original, changed = module.forward, substitute(module, tape)

        def forward(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs) if tape.paused else changed(*args, **kwargs)

        module.forward = forward

        def undo() -> None:
            del module.forward

        return undo

    return install
