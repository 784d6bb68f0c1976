# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Table of the layers of a model, with the method for their per-example gradients."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torch import nn

from dperm.presentation.tables import TextTable
from dperm.torch.gradients.sites import UNSEEN, Site, is_opaque, sites_of
from dperm.torch.gradients.unsupported_layers import refusal_of
from dperm.torch.model_checks.check import check_model
from dperm.torch.model_checks.synthetic_inputs import Inputs

HEADER = ("layer", "type", "parameters", "trained", "method", "why")
"""Column headings of the table."""
NUMBERS = HEADER[2:4]
"""Right-aligned columns."""


@dataclass(frozen=True)
class LayerDescription:
    """One layer with parameters, or a refused layer.

    Attributes
    ----------
    layer
        Name of the layer; "(model)" for the model itself.
    kind
        Class name.
    parameters, trained
        Number of parameters, and number of trained parameters.
    method
        Method for the per-example gradients: "rule", "substitute", "lifted", "vmap", "loop", "whole model vmap" or
        "whole model loop" (see the table in docs/torch.md). Other values are "frozen" for a layer that is not trained,
        "refused", and "known with inputs" if only a run of the model can determine the method.
    why
        Reason for the method; empty for layers known to dperm.
    """

    layer: str
    kind: str
    parameters: int
    trained: int
    method: str
    why: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the table row as text."""
        return (self.layer, self.kind, f"{self.parameters:,}", f"{self.trained:,}", self.method, self.why)


@dataclass(frozen=True)
class Description:
    """Layers of a model and the methods for their per-example gradients.

    ``kernels`` describes the native kernels used by a training run; outside a training run, it is empty.
    """

    rows: tuple[LayerDescription, ...]
    kernels: str = ""

    @property
    def methods(self) -> dict[str, str]:
        """Method of each layer, keyed by layer name."""
        return {row.layer: row.method for row in self.rows}

    def __str__(self) -> str:
        """Return the table as plain text."""
        lines = _align_numbers([HEADER, *self._lines()])
        table = TextTable(lines[0], lines[1:]).terminal()
        return f"{table}\n{self.kernels}" if self.kernels else table

    def _repr_html_(self) -> str:
        """Return the table as HTML for notebooks."""
        below = f"<p>{html.escape(self.kernels)}</p>" if self.kernels else ""
        return TextTable(HEADER, self._lines()).html() + below

    def _lines(self) -> list[tuple[str, ...]]:
        """Return the cells of all layers, then the totals."""
        parameters, trained = (sum(getattr(row, side) for row in self.rows) for side in ("parameters", "trained"))
        return [*(row.cells() for row in self.rows), ("total", "", f"{parameters:,}", f"{trained:,}", "", "")]


def describe(model: nn.Module, inputs: Inputs | None = None, *, sites: Sequence[Site] | None = None) -> Description:
    """Return a table of the layers of a model, with the method for the per-example gradients of each layer.

    Parameters
    ----------
    model
        Any module.
    inputs
        A batch, as passed to the model; only shapes and types are used. If a batch is given, the model is run and
        checked, and the table shows the result. Without a batch, the table cannot show direct uses of parameters, and
        the model is not tested for mixing of examples.
    sites
        Result of an earlier call of ``check_model``. If given, ``inputs`` is not used.

    Returns
    -------
    Description
        Table of the layers, to print or to show in a notebook.

    Raises
    ------
    AssumptionError
        If a batch is given, and the check rejects the model.
    ParameterError
        If the model does not run on the batch.
    """
    if sites is None:
        sites = [_unprobed(site) for site in sites_of(model)] if inputs is None else check_model(model, inputs)
    return Description(tuple(_rows(model, sites)))


def _unprobed(site: Site) -> Site:
    """Return a site for a model without a run: a module recomputed for lack of a probe might be lifted."""
    if site.method != "vmap" or site.why != UNSEEN:
        return site
    return replace(
        site, method="known with inputs", why="it uses parameters directly; describe(model, inputs) shows how"
    )


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
    """Return method and reason of a layer: those of a recomputed module around it, or its own."""
    for site in again:
        if module in set(site.module.modules()):
            word = "loop" if site.mode is not None and site.mode.looped else "vmap"
            why = f"{site.why}; vmap cannot run it" if word == "loop" else site.why
            if site.module is not module:
                why = f"inside {repr(site.name) if site.name else 'the model'}: {why}"
            return (f"whole model {word}" if site.module is model else word), why
    site_of = by_module.get(module)
    if site_of is None:
        return "lifted", "another module uses its parameters"
    return site_of.method, site_of.why


def _align_numbers(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the lines with all cells of number columns padded on the left to one width."""
    columns = [HEADER.index(name) for name in NUMBERS]
    widths = {column: max(len(line[column]) for line in lines) for column in columns}
    return [[cell.rjust(widths.get(column, 0)) for column, cell in enumerate(line)] for line in lines]


def _is_open(module: nn.Module) -> bool:
    """Return whether the children of a module are layers of their own."""
    return not is_opaque(module)
