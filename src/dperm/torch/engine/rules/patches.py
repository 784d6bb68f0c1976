# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Patches of images, which overlap: windows are views, and what takes time is to copy them, in short or in long runs.

With places last, a run is a row of places; with patches last, it is a row of a patch with all channels, if channels
come last in the image too. Where both are short, windows of the last dimension are copied first, and then a run is
several rows of a patch.
"""

import math
from dataclasses import dataclass

from torch import Tensor

SHORT = 16
"""Numbers of a run below which a copy more pays (measured)."""


@dataclass(frozen=True)
class Windows:
    """How patches lie in a padded image with ``channels``: an entry for each dimension of space."""

    channels: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def long_places(self) -> bool:
        """Whether rows of places are the longer runs, or there is nothing to copy."""
        return math.prod(self.sizes) == 1 or self.places[-1] >= self.strides[-1] * self.sizes[-1] * self.channels

    @property
    def short_rows(self) -> bool:
        """Whether rows of patches are so short that a copy more pays."""
        return len(self.sizes) > 1 and self.sizes[-1] * self.channels < SHORT

    @property
    def order(self) -> tuple[int, ...]:
        """The order of the entries in `patches`, by dimensions of (channels, ...)."""
        dims = len(self.sizes)
        if self.long_places:
            return tuple(range(dims + 1))
        return (*range(1, dims + 1), 0)

    def patches(self, padded: Tensor) -> Tensor:
        """(examples, places, entries of a patch) of (examples, channels, ...)."""
        if self.long_places:
            return self.places_last(padded).transpose(1, 2)
        image = padded.movedim(1, -1)
        windows = self._by_two_copies(image) if self.short_rows else self._by_one_copy(image.contiguous())
        return windows.reshape(len(padded), math.prod(self.places), -1)

    def places_last(self, padded: Tensor) -> Tensor:
        """(examples, entries of a patch, places) of (examples, channels, ...)."""
        dims = len(self.sizes)
        for number in range(dims):
            padded = self._along(padded, number, 2 + number)
        windows = padded.permute(0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))
        return windows.reshape(len(padded), self.channels * math.prod(self.sizes), math.prod(self.places))

    def _by_one_copy(self, image: Tensor) -> Tensor:
        """A view of (examples, ..., channels) whose runs are rows of patches."""
        dims = len(self.sizes)
        for number in range(dims):
            image = self._along(image, number, 1 + number)
        return image.movedim(dims + 1, -1)

    def _by_two_copies(self, image: Tensor) -> Tensor:
        """A view of a copy of windows in the last dimension: its runs are rows of patches, one after the other."""
        dims = len(self.sizes)
        copy = self._along(image, dims - 1, dims).transpose(-1, -2).movedim(dims, 1).contiguous()
        for number in range(dims - 1):
            copy = self._along(copy, number, 2 + number)
        return copy.movedim(1, dims).movedim((dims + 1, dims + 2), (-2, -1))

    def _along(self, values: Tensor, number: int, dim: int) -> Tensor:
        """Dimension ``number`` of space, ``dim`` of ``values``, becomes that of places; entries of patches are last."""
        size, step = self.sizes[number], self.dilations[number]
        windows = values.unfold(dim, step * (size - 1) + 1, self.strides[number])
        windows = windows[..., ::step] if step > 1 else windows
        # A transposed convolution with output padding has room for more.
        return windows.narrow(dim, 0, self.places[number])
