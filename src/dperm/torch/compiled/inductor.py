# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Graphs to machine code, by torch's inductor, and what to say where that does not work."""

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
"""From a list of inputs, which it empties, to the outputs; to be called without gradients."""


def compile_graph(graph: GraphModule, inputs: Sequence[Tensor]) -> Compiled:
    """The graph as machine code, for inputs of the shapes, strides and types of ``inputs``."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            # torch warns of its own old parts, also as they are imported
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

    copied = GraphModule(graph, copy.deepcopy(graph.graph))  # torch changes what it compiles
    outer: Any = compile_fx(copied, inputs, inner_compile=noted)
    outer(*inputs)
    # What torch puts around the code makes Python slower afterwards: a fifth of a small step. It is needed only where
    # the inputs of the code are not those of the graph.
    if len(inner) == 1 and inner[0][1] == len(inputs):
        code: Compiled = inner[0][0]
        return getattr(code, "current_callable", None) or code  # around it times are taken
    return lambda values: outer(*values)


def _translate_error(error: Exception) -> DpermError:
    from torch._inductor.exc import CppCompileError, InvalidCxxCompiler

    causes = list(_causes(error))
    if any(isinstance(cause, DynamicOutputShapeException | DataDependentOutputException) for cause in causes):
        return data_dependence_error()
    if any(isinstance(cause, InvalidCxxCompiler | CppCompileError) for cause in causes):
        return AssumptionError(
            "a compiled step needs a C++ compiler that works, and torch has found none or it failed. Install g++ or "
            "clang++, or name one in the environment variable CXX, or leave compilation off."
        )
    return AssumptionError(
        f"torch could not compile this model ({type(causes[-1]).__name__}). Leave compilation off; torch.compile on "
        f"the model alone shows what torch cannot do."
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = getattr(following, "inner_exception", None) or following.__cause__ or following.__context__
