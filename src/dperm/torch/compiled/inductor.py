# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of graphs to machine code by torch's inductor, with messages for failures."""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx import GraphModule

from dperm.errors import AssumptionError, DpermError
from dperm.torch.compiled.tracing import data_dependence_error

Compiled = Callable[[list[Tensor]], Sequence[Tensor]]
"""Function from a list of inputs, emptied by the call, to the outputs. Call it without gradients."""


def compile_graph(graph: GraphModule, inputs: Sequence[Tensor]) -> Compiled:
    """Return the graph as machine code, for inputs with the shapes, strides and types of ``inputs``.

    Raises
    ------
    AssumptionError
        If torch cannot compile the graph, or finds no C++ compiler.
    """
    try:
        with torch.no_grad(), warnings.catch_warnings():
            # torch warns about its own deprecated modules at import
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            return _compiled(graph, [value.detach() for value in inputs])
    except Exception as error:
        raise _translate_error(error) from None


def _compiled(graph: GraphModule, inputs: list[Tensor]) -> Compiled:
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    inner: list[Any] = []

    def noted(*arguments: Any, **options: Any) -> Any:
        inner.append((compile_fx_inner(*arguments, **options), len(arguments[1])))
        return inner[-1][0]

    copied = GraphModule(graph, copy.deepcopy(graph.graph))  # torch changes the graph during compilation
    outer: Any = compile_fx(copied, inputs, inner_compile=noted)
    outer(*inputs)
    # torch's wrapper around the code costs a fifth of a small step. It is needed only if the inputs of the code differ
    # from the inputs of the graph.
    if len(inner) == 1 and inner[0][1] == len(inputs):
        code: Compiled = inner[0][0]
        return getattr(code, "current_callable", None) or code  # the wrapper measures times
    return lambda values: outer(*values)


def _translate_error(error: Exception) -> DpermError:
    from torch._inductor.exc import CppCompileError, InvalidCxxCompiler

    causes = list(_causes(error))
    if any(isinstance(cause, DynamicOutputShapeException | DataDependentOutputException) for cause in causes):
        return data_dependence_error()
    if any(isinstance(cause, InvalidCxxCompiler | CppCompileError) for cause in causes):
        return AssumptionError(
            "a compiled step needs a working C++ compiler, but torch has found none, or it failed.",
            remedy="Install g++ or clang++, or name one in the environment variable CXX, or leave compilation off.",
        )
    return AssumptionError(
        f"torch could not compile this model ({type(causes[-1]).__name__}).",
        remedy="Leave compilation off; torch.compile on the model alone shows the unsupported operation.",
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = getattr(following, "inner_exception", None) or following.__cause__ or following.__context__
