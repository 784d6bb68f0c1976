# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of an audit, before anything is trained."""

from collections.abc import Callable
from typing import TypeVar

from torch import nn

from dperm.checks import shown
from dperm.errors import ParameterError

T = TypeVar("T")


def of_type(name: str, value: object, kind: type[T], *, remedy: str = "") -> T:
    """Return ``value`` if it is an instance of ``kind``, or raise ParameterError."""
    if isinstance(value, kind):
        return value
    article = "an" if kind.__name__[0] in "AEIO" else "a"
    raise ParameterError(argument=name, rule=f"must be {article} {kind.__name__}", got=shown(value), remedy=remedy)


def trainable(model: object) -> nn.Module:
    """Return ``model`` if it is a module with trained parameters, or raise ParameterError."""
    found = of_type("model", model, nn.Module)
    if not any(value.requires_grad for value in found.parameters()):
        raise ParameterError(
            argument="model", rule="must have parameters to be trained", got="none with requires_grad=True"
        )
    return found


def check_function(name: str, value: object, does: str) -> None:
    """Refuse a value that is not callable, and modules; ``does`` describes the expected function."""
    if not callable(value) or isinstance(value, nn.Module):
        raise ParameterError(argument=name, rule=f"must be a function that {does}", got=shown(value))


def check_progress_function(progress: object) -> None:
    """Refuse a progress argument that is neither None nor a function of the completed fraction."""
    if progress is not None:
        check_function("progress", progress, "takes the share that is done")


def attempted(run: Callable[[], T], message: str) -> T:
    """Return the result of ``run``; errors of PyTorch become a ParameterError with ``message``, without any data."""
    try:
        return run()
    except (RuntimeError, IndexError, TypeError) as error:
        raise ParameterError(f"{message} PyTorch raised {type(error).__name__}.") from error
