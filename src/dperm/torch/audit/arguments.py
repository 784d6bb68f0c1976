# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the functions of an audit are given, checked before anything is trained."""

from collections.abc import Callable
from typing import TypeVar

from torch import nn

from dperm.checks import shown
from dperm.errors import ParameterError

T = TypeVar("T")


def of_type(name: str, value: object, kind: type[T], *, remedy: str = "") -> T:
    """``value``, if it is of this kind."""
    if isinstance(value, kind):
        return value
    article = "an" if kind.__name__[0] in "AEIO" else "a"
    raise ParameterError(f"{name} must be {article} {kind.__name__}, got {shown(value)}.{' ' * bool(remedy)}{remedy}")


def trainable(model: object) -> nn.Module:
    """``model``, if it is a module with parameters to be trained."""
    found = of_type("model", model, nn.Module)
    if not any(value.requires_grad for value in found.parameters()):
        raise ParameterError("model must have parameters to be trained, got none with requires_grad=True.")
    return found


def function(name: str, value: object, does: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value) or isinstance(value, nn.Module):
        raise ParameterError(f"{name} must be a function that {does}, got {shown(value)}.")


def progress_of(progress: object) -> None:
    """Refuse what cannot be told the share that is done; None is told nothing."""
    if progress is not None:
        function("progress", progress, "takes the share that is done")


def attempted(run: Callable[[], T], message: str) -> T:
    """What ``run`` gives; where PyTorch refuses, the error says ``message``, and repeats no data."""
    try:
        return run()
    except (RuntimeError, IndexError, TypeError) as error:
        raise ParameterError(f"{message} PyTorch raised {type(error).__name__}.") from error
