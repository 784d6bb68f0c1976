# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How the per-example gradients of a model's layers are found, as a table."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torch import nn

from dperm.torch.gradients.sites import UNSEEN, Site, is_opaque, sites_of
from dperm.torch.gradients.unsupported_layers import refusal_of
from dperm.torch.model_checks.check import check_model
from dperm.torch.model_checks.synthetic_inputs import Inputs

HEADER = ("layer", "type", "parameters", "trained", "method", "why")
NUMBERS = HEADER[2:4]


@dataclass(frozen=True)
class LayerDescription:
    """One layer that holds parameters, or is refused.

    Attributes
    ----------
    layer
        Its name; "(model)" for the model itself.
    kind
        Its class.
    parameters, trained
        How many numbers it holds, and how many of them are trained.
    method
        "rule", "substitute", "lifted", "vmap", "loop", "whole model vmap", "whole model loop", "frozen", "refused", or
        "known with inputs" where only a run of the model can show it.
    why
        The reason, if it is not that dperm knows the layer.
    """

    layer: str
    kind: str
    parameters: int
    trained: int
    method: str
    why: str = ""

    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        return (self.layer, self.kind, f"{self.parameters:,}", f"{self.trained:,}", self.method, self.why)


@dataclass(frozen=True)
class Description:
    """The layers of a model and the methods for their per-example gradients.

    ``kernels`` says whether native kernels take part in a training, if it is one that is described.
    """

    rows: tuple[LayerDescription, ...]
    kernels: str = ""

    @property
    def methods(self) -> dict[str, str]:
        """The method of each layer."""
        return {row.layer: row.method for row in self.rows}

    def __str__(self) -> str:
        """A table in plain text."""
        lines = [HEADER, *(row.cells() for row in self.rows), self._total()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
        lines.insert(1, tuple("-" * width for width in widths))
        table = [_line(line, widths) for line in lines]
        return "\n".join([*table, self.kernels] if self.kernels else table)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head = "".join(f"<th>{cell}</th>" for cell in HEADER)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in [*(row.cells() for row in self.rows), self._total()]
        )
        below = f"<p>{html.escape(self.kernels)}</p>" if self.kernels else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    def _total(self) -> tuple[str, ...]:
        parameters, trained = (sum(getattr(row, side) for row in self.rows) for side in ("parameters", "trained"))
        return ("total", "", f"{parameters:,}", f"{trained:,}", "", "")


def describe(model: nn.Module, inputs: Inputs | None = None, *, sites: Sequence[Site] | None = None) -> Description:
    """How the per-example gradients of each layer are found.

    Parameters
    ----------
    model
        Any module.
    inputs
        A batch as the model is called with, of which shapes and types are used: the model is checked, and what the
        check finds is shown. Without it nobody knows how modules use bare parameters, nor whether examples are mixed.
    sites
        The result of a check, instead of ``inputs``.
    """
    if sites is None:
        sites = [_unprobed(site) for site in sites_of(model)] if inputs is None else check_model(model, inputs)
    return Description(tuple(_rows(model, sites)))


def _unprobed(site: Site) -> Site:
    """A site of which no run was seen: what is run again for want of a probe might be lifted."""
    if site.method != "vmap" or site.why != UNSEEN:
        return site
    return replace(site, method="known with inputs", why="it uses parameters itself: describe(model, inputs) tells how")


def _rows(model: nn.Module, sites: Sequence[Site]) -> Iterator[LayerDescription]:
    by_module = {site.module: site for site in sites}
    again = [site for site in sites if site.method == "vmap"]
    seen: set[int] = set()
    inside: set[nn.Module] = set()
    for name, module in model.named_modules():
        if module in inside:
            continue
        own = list(module.parameters(recurse=not _is_open(module)))
        new = [parameter for parameter in own if id(parameter) not in seen]
        if not _is_open(module):
            inside.update(module.modules())
        refusal = refusal_of(name, module)
        if not own and not refusal:
            continue
        seen.update(id(parameter) for parameter in own)
        method, why = _method(model, module, by_module, again)
        tied = "" if len(new) == len(own) else "shares parameters with a layer above"
        if not any(parameter.requires_grad for parameter in own):
            method, why = "frozen", ""
        if refusal:
            method, why = "refused", refusal
        counts = (sum(p.numel() for p in new), sum(p.numel() for p in new if p.requires_grad))
        yield LayerDescription(
            name or "(model)", type(module).__name__, *counts, method, "; ".join(filter(None, (why, tied)))
        )


def _method(
    model: nn.Module, module: nn.Module, by_module: dict[nn.Module, Site], again: Sequence[Site]
) -> tuple[str, str]:
    """Of a layer: that of the module around it that is run again, or its own."""
    for site in again:
        if module in set(site.module.modules()):
            word = "loop" if site.manner is not None and site.manner.looped else "vmap"
            why = f"{site.why}; vmap cannot run it" if word == "loop" else site.why
            if site.module is not module:
                why = f"inside {repr(site.name) if site.name else 'the model'}: {why}"
            return (f"whole model {word}" if site.module is model else word), why
    site_of = by_module.get(module)
    if site_of is None:
        return "lifted", "another module uses its parameters"
    return site_of.method, site_of.why


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right, words to the left."""
    found = [
        cell.rjust(width) if name in NUMBERS else cell.ljust(width)
        for name, cell, width in zip(HEADER, cells, widths, strict=True)
    ]
    return "  ".join(found).rstrip()


def _is_open(module: nn.Module) -> bool:
    """Whether the children of a module are layers of their own."""
    return not is_opaque(module)
