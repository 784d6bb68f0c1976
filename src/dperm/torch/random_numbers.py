# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The same random numbers for rows alone and for the same rows in a full batch.

Random numbers belong to places of a batch: a row gets others when it is alone. In a rehearsal the numbers that the loop
or the model draws for a full batch are kept, and rows alone get those of their own places. Dropout functions return
their input. Draws of other kinds (``randperm``, ``randint``, ``multinomial``, ...) stay as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

DROPOUT = frozenset(
    {
        *("dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "feature_dropout_"),
        *("alpha_dropout", "alpha_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_"),
    }
)


class RecordedNumbers:
    """Numbers drawn for a full batch of ``rows`` rows, in order.

    Attributes
    ----------
    matches
        False once rows alone asked for numbers that were not drawn for the full batch.
    """

    def __init__(self, rows: int, seed: int) -> None:
        self.matches = True
        self._rows, self._kept = rows, list[tuple[str, Tensor]]()
        self._generator = torch.Generator().manual_seed(seed)
        self._chosen: Sequence[int] | None = None
        self._place = 0

    def replay(self, chosen: Sequence[int]) -> None:
        """Give the numbers of these rows from now on, from the first draw."""
        self._chosen, self._place = list(chosen), 0

    def draw(self, kind: str, shape: torch.Size) -> Tensor:
        """Standard normal or uniform numbers of a shape, in double precision."""
        if self._chosen is not None:
            found = self._kept[self._place] if self._place < len(self._kept) else None
            self._place += 1
            if found is not None and found[0] == kind:
                values = found[1]
                if values.shape == shape:
                    return values.clone()
                if (
                    values.dim()
                    and len(values) == self._rows
                    and (len(self._chosen), *values.shape[1:]) == tuple(shape)
                ):
                    return values[list(self._chosen)]
            self.matches = False
        drawn = torch.empty(shape, dtype=torch.float64)
        drawn = (
            drawn.normal_(generator=self._generator) if kind == "normal" else drawn.uniform_(generator=self._generator)
        )
        if self._chosen is None:
            self._kept.append((kind, drawn))
        return drawn


class SharedRandomNumbers(TorchFunctionMode):
    """Draws from recorded numbers, in code of the loop and of the model."""

    def __init__(self, numbers: RecordedNumbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function, with recorded numbers where it draws normal or uniform ones."""
        given, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name in DROPOUT:
            return args[0] if args else given["input"]
        if name == "scaled_dot_product_attention":
            if len(args) > 4:
                return func(*args[:4], 0.0, *args[5:], **given)
            return func(*args, **given | {"dropout_p": 0.0})
        replaced = _REPLACED.get(name)
        if replaced is None or "out" in given or "generator" in given:
            return func(*args, **given)
        try:
            return replaced(self._numbers, func, *args, **given)
        except TypeError:  # arguments of another form: an ordinary draw
            return func(*args, **given)


def _factory(kind: str) -> Callable[..., Tensor]:
    def made(numbers: RecordedNumbers, func: Callable[..., Tensor], *size: Any, **options: Any) -> Tensor:
        like = torch.zeros(*size, **{key: value for key, value in options.items() if key != "requires_grad"})
        return numbers.draw(kind, like.shape).to(like).requires_grad_(bool(options.get("requires_grad")))

    return made


def _alike(kind: str) -> Callable[..., Tensor]:
    def made(numbers: RecordedNumbers, func: Callable[..., Tensor], input: Tensor, **options: Any) -> Tensor:
        like = torch.zeros_like(input, **options)
        return numbers.draw(kind, like.shape).to(like)

    return made


def _normal(numbers: RecordedNumbers, func: Any, mean: Any, std: Any = 1.0, size: Any = None, **options: Any) -> Tensor:
    if size is not None:
        like = torch.zeros(size, **options)
        sized: Tensor = numbers.draw("normal", like.shape).to(like) * std + mean
        return sized
    like = torch.zeros_like(torch.as_tensor(mean) + torch.as_tensor(std))
    shifted: Tensor = mean + std * numbers.draw("normal", like.shape).to(like)
    return shifted


def _normal_in_place(
    numbers: RecordedNumbers, func: Any, tensor: Tensor, mean: float = 0.0, std: float = 1.0
) -> Tensor:
    return tensor.copy_(numbers.draw("normal", tensor.shape).to(tensor) * std + mean)


def _uniform_in_place(numbers: RecordedNumbers, func: Any, tensor: Tensor, *ends: float, **named: float) -> Tensor:
    low, high = (*ends, *(0.0, 1.0)[len(ends) :])
    low, high = named.get("from", low), named.get("to", high)
    return tensor.copy_(numbers.draw("uniform", tensor.shape).to(tensor) * (high - low) + low)


def _bernoulli(numbers: RecordedNumbers, func: Any, input: Tensor, p: float | None = None) -> Tensor:
    chance = input if p is None else torch.full_like(input, p)
    return numbers.draw("uniform", input.shape).to(chance.device).lt(chance).to(input.dtype)


def _bernoulli_in_place(numbers: RecordedNumbers, func: Any, tensor: Tensor, p: float | Tensor = 0.5) -> Tensor:
    return tensor.copy_(numbers.draw("uniform", tensor.shape).to(tensor.device).lt(p))


_REPLACED: dict[str, Callable[..., Tensor]] = {
    "randn": _factory("normal"),
    "rand": _factory("uniform"),
    "randn_like": _alike("normal"),
    "rand_like": _alike("uniform"),
    "normal": _normal,
    "normal_": _normal_in_place,
    "uniform_": _uniform_in_place,
    "bernoulli": _bernoulli,
    "bernoulli_": _bernoulli_in_place,
}
