# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random numbers in a rehearsal: states of generators, and equal numbers for rows alone and in a full batch.

Random numbers belong to places of a batch, so a row on its own would get different numbers. A rehearsal records the
numbers drawn by the loop or the model for a full batch, and gives single rows the numbers of their own places. Dropout
functions return their input. Draws of other kinds (``randperm``, ``randint``, ``multinomial``, ...) stay unchanged.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Generator, Tensor
from torch.overrides import TorchFunctionMode

DROPOUT = frozenset(
    {
        *("dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "feature_dropout_"),
        *("alpha_dropout", "alpha_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_"),
    }
)
MOST_OF_A_ROW = 3
"""Largest number of draws for each row in `RecordedNumbers.row_orders`."""
MOST_SHARED = 16
"""Largest number of draws for the whole batch in `RecordedNumbers.row_orders`."""
MOST_ORDERS = 4
"""Largest number of orders returned by `RecordedNumbers.row_orders`."""


class RandomStates(TorchFunctionMode):
    """States of torch's default generator, and of generators passed by the loop to functions of torch.

    A generator of the loop is tracked from its first use inside the ``with`` block.
    """

    def __init__(self) -> None:
        super().__init__()
        self._default = torch.default_generator
        self._initial = {self._default: self._default.get_state()}
        self._used: list[Generator] = []
        self._begin, self._seed = self._initial[self._default], -1

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Record the function's generator, and call the function."""
        generator = (kwargs or {}).get("generator")
        if isinstance(generator, Generator) and generator is not self._default and generator not in self._used:
            self._used.append(generator)
            if generator not in self._initial:
                self._initial[generator] = generator.get_state()
                if self._seed >= 0:
                    generator.manual_seed(self._seed)
        return func(*args, **(kwargs or {}))

    def rewind(self, seed: int = -1) -> None:
        """Reset all tracked generators to their initial states, or seed them if ``seed`` is 0 or more."""
        self._seed = seed
        for generator, state in self._initial.items():
            if seed < 0:
                generator.set_state(state)
            else:
                generator.manual_seed(seed)
        self._used, self._begin = [], self._default.get_state()

    def snapshot(self) -> list[Tensor]:
        """Return the states of the default generator and of generators used since `rewind`, in order of first use."""
        return [generator.get_state() for generator in (self._default, *self._used)]

    @property
    def changed(self) -> bool:
        """Whether random numbers were drawn since `rewind`."""
        return bool(self._used) or not torch.equal(self._default.get_state(), self._begin)


def same_states(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Return whether two snapshots are equal: two runs from equal states then drew equally many numbers."""
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


class RecordedNumbers:
    """Record of the numbers drawn for a full batch of ``rows`` rows, in order."""

    def __init__(self, rows: int, seed: int) -> None:
        self._rows, self._kept = rows, list[tuple[str, Tensor]]()
        self._generator = Generator().manual_seed(seed)
        self._chosen: Sequence[int] | None = None
        self._order: Sequence[int] = ()
        self._drawn: list[tuple[str, torch.Size]] = []
        self._found = True

    @property
    def matches(self) -> bool:
        """Whether rows alone drew exactly their recorded numbers since `replay`."""
        return self._found and len(self._drawn) == len(self._order)

    def replay(self, chosen: Sequence[int], order: Sequence[int] | None = None) -> None:
        """Let later draws return the recorded numbers of these rows, in recorded order or in one of `row_orders`."""
        self._chosen, self._drawn, self._found = list(chosen), [], True
        self._order = range(len(self._kept)) if order is None else order

    def row_orders(self) -> list[list[int]]:
        """Return possible orders of draws for rows alone if each row has draws of its own: ``[randn(d) for row in x]``.

        Numbers and shapes of the draws leave several orders open, such as row by row, or draw by draw over all rows.
        The list is empty if no order fits, or more than `MOST_ORDERS` do.
        """
        chosen = self._chosen or ()
        each, rest = divmod(len(self._kept) - len(self._drawn), self._rows - len(chosen))
        shared = len(self._kept) - self._rows * each
        if rest or not 1 <= each <= MOST_OF_A_ROW or not 0 <= shared <= MOST_SHARED:
            return []
        found: list[list[int]] = []
        for before in range(shared + 1):
            for sizes in _compositions(each):
                order, start = list(range(before)), before
                fits = True
                for size in sizes:
                    fits &= self._repeats(start, size)
                    order += [start + row * size + place for row in chosen for place in range(size)]
                    start += self._rows * size
                order += range(start, len(self._kept))
                if fits and order not in found and self._fits(order):
                    found.append(order)
        return found if len(found) <= MOST_ORDERS else []

    def draw(self, kind: str, shape: torch.Size) -> Tensor:
        """Return standard normal or uniform numbers of a shape, in double precision."""
        if self._chosen is not None:
            place = len(self._drawn)
            self._drawn.append((kind, shape))
            values = self._values(self._order[place], kind, shape) if place < len(self._order) else None
            if values is not None:
                return values
            self._found = False
        drawn, generator = torch.empty(shape, dtype=torch.float64), self._generator
        with torch._C.DisableTorchFunction():  # not a generator of the loop
            drawn = drawn.normal_(generator=generator) if kind == "normal" else drawn.uniform_(generator=generator)
        if self._chosen is None:
            self._kept.append((kind, drawn))
        return drawn

    def _values(self, place: int, kind: str, shape: torch.Size) -> Tensor | None:
        """Recorded numbers of a draw, whole or for the chosen rows; None if kind or shape differ."""
        chosen, (found, values) = list(self._chosen or ()), self._kept[place]
        if found != kind:
            return None
        if values.shape == shape:
            return values.clone()
        of_rows = values.dim() and len(values) == self._rows and (len(chosen), *values.shape[1:]) == tuple(shape)
        return values[chosen] if of_rows else None

    def _repeats(self, start: int, size: int) -> bool:
        """Whether the draws from ``start`` on repeat for each row, in blocks of ``size`` draws."""
        specs = [(kind, values.shape) for kind, values in self._kept[start : start + self._rows * size]]
        return specs == specs[:size] * self._rows

    def _fits(self, order: Sequence[int]) -> bool:
        """Whether the draws of rows alone match the recorded kinds and shapes in this order."""
        return len(order) == len(self._drawn) and all(
            self._values(place, kind, shape) is not None
            for place, (kind, shape) in zip(order, self._drawn, strict=True)
        )


def _compositions(total: int) -> Iterator[list[int]]:
    """Yield the ordered lists of positive integers with the given sum."""
    if not total:
        yield []
    for first in range(1, total + 1):
        for rest in _compositions(total - first):
            yield [first, *rest]


class SharedRandomNumbers(TorchFunctionMode):
    """Replace random draws of the loop and of the model with recorded numbers."""

    def __init__(self, numbers: RecordedNumbers) -> None:
        super().__init__()
        self._numbers = numbers

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function; normal and uniform draws return recorded numbers."""
        given, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name in DROPOUT:
            return args[0] if args else given["input"]
        if name == "scaled_dot_product_attention":
            if len(args) > 4:
                return func(*args[:4], 0.0, *args[5:], **given)
            return func(*args, **given | {"dropout_p": 0.0})
        replaced = _REPLACED.get(name)
        if replaced is None or "out" in given:
            return func(*args, **given)
        try:
            options = {key: value for key, value in given.items() if key != "generator"}
            return replaced(self._numbers, func, *args, **options)
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
