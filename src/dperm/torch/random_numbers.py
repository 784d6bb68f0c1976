# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs of a training loop without torch's random numbers, so that rows can be compared with rows alone.

Random numbers belong to places of a batch: the same row gets others when it is alone. Dropout functions return their
input here, and noise is replaced by its mean. Draws that choose rows (``randperm``, ``randint``, ``multinomial``) stay
random, because a constant choice could hide that rows are mixed.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DROPOUT = frozenset(
    {
        *("dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "feature_dropout_"),
        *("alpha_dropout", "alpha_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_"),
    }
)


class WithoutRandomNumbers(TorchFunctionMode):
    """Replaces dropout and noise by their means, in code of the loop and of the model."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function, or its mean."""
        given, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name in DROPOUT:
            return args[0] if args else given["input"]
        if name == "scaled_dot_product_attention":
            return (
                func(*args[:4], 0.0, *args[5:], **given) if len(args) > 4 else func(*args, **given | {"dropout_p": 0.0})
            )
        mean = _MEANS.get(name)
        if mean is None:
            return func(*args, **given)
        given.pop("generator", None)
        return mean(*args, **given)


def _normal(mean: Any, std: Any = 1.0, size: Any = None, **options: Any) -> Any:
    if size is not None:
        return torch.full(size, float(mean), **options)
    return mean + 0 * std if isinstance(mean, torch.Tensor) else torch.full_like(std, float(mean))


_MEANS: dict[str, Callable[..., Any]] = {
    "randn": torch.zeros,
    "randn_like": torch.zeros_like,
    "rand": lambda *size, **options: torch.zeros(*size, **options) + 0.5,
    "rand_like": lambda like, **options: torch.zeros_like(like, **options) + 0.5,
    "normal": _normal,
    "normal_": lambda tensor, mean=0.0, std=1.0: tensor.fill_(mean),
    "uniform_": lambda tensor, start=0.0, stop=1.0, **ends: tensor.fill_(
        (ends.get("from", start) + ends.get("to", stop)) / 2
    ),
    "bernoulli": lambda chance, p=None: (chance if p is None else torch.full_like(chance, p)).ge(0.5).to(chance.dtype),
    "bernoulli_": lambda tensor, p=0.5: tensor.copy_(torch.as_tensor(p).ge(0.5)),
}
