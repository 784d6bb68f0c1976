# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Overlapping patches of images. Windows are views; most of the time goes into copying them.

A copy consists of contiguous runs. With positions last, a run is a row of positions. With patches last, it is a row of
a patch with all channels, if channels are last in the image too. If both are short, the windows of the last dimension
are copied first; then a run covers several rows of a patch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from dperm.errors import AssumptionError

SHORT = 16
"""Length of a run below which an additional copy is faster (measured)."""


@dataclass(frozen=True)
class Windows:
    """Layout of patches in a padded image with ``channels``, one entry per spatial dimension."""

    channels: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def long_places(self) -> bool:
        """Whether rows of positions are the longer runs, or no copy is needed."""
        return math.prod(self.sizes) == 1 or self.places[-1] >= self.strides[-1] * self.sizes[-1] * self.channels

    @property
    def short_rows(self) -> bool:
        """Whether rows of patches are short enough for an additional copy."""
        return len(self.sizes) > 1 and self.sizes[-1] * self.channels < SHORT

    @property
    def order(self) -> tuple[int, ...]:
        """Order of the entries in `patches`, as dimensions of (channels, ...)."""
        dims = len(self.sizes)
        if self.long_places:
            return tuple(range(dims + 1))
        return (*range(1, dims + 1), 0)

    def check(self, images: Tensor, margins: Sequence[int] = ()) -> None:
        """Refuse images that are too small, with their margins: strided views would run into the next image."""
        pairs = [*zip(margins[::2], margins[1::2], strict=True)] or [(0, 0)] * len(self.sizes)
        lengths = [size + sum(pair) for size, pair in zip(images.shape[2:], reversed(pairs), strict=True)]
        ends = [
            (places - 1) * step + (size - 1) * dilation
            for places, step, size, dilation in zip(self.places, self.strides, self.sizes, self.dilations, strict=True)
        ]
        if any(end >= length for end, length in zip(ends, lengths, strict=True)):
            raise AssumptionError(
                "the output of a convolution has more positions than its input has patches, so its gradient is lost.",
                remedy="Use the layers of torch.nn unchanged.",
            )

    def patches(self, padded: Tensor) -> Tensor:
        """Return patches (examples, positions, patch entries) of images (examples, channels, ...)."""
        if self.long_places:
            return self.places_last(padded).transpose(1, 2)
        image = padded.movedim(1, -1)
        windows = self._by_two_copies(image) if self.short_rows else self._by_one_copy(image.contiguous())
        return windows.reshape(len(padded), math.prod(self.places), self.channels * math.prod(self.sizes))

    def places_last(self, padded: Tensor) -> Tensor:
        """Return patches (examples, patch entries, positions) of images (examples, channels, ...)."""
        (first, channel, *_), (places, within) = padded.stride(), self._steps(padded.stride()[2:])
        shape = (len(padded), self.channels, *self.sizes, *self.places)
        windows = padded.as_strided(shape, (first, channel, *within, *places))
        return windows.reshape(len(padded), self.channels * math.prod(self.sizes), math.prod(self.places))

    def _by_one_copy(self, image: Tensor) -> Tensor:
        """Return a view of (examples, ..., channels) with rows of patches as runs."""
        (first, *_, channel), (places, within) = image.stride(), self._steps(image.stride()[1:-1])
        shape = (len(image), *self.places, *self.sizes, self.channels)
        return image.as_strided(shape, (first, *places, *within, channel))

    def _by_two_copies(self, image: Tensor) -> Tensor:
        """Return a view of copied windows in the last dimension, with several rows of patches as runs."""
        (first, *space, channel), lengths = image.stride(), image.shape[1:-2]
        shape = (len(image), self.places[-1], *lengths, self.sizes[-1], self.channels)
        places, within = self._steps(space)
        copy = image.as_strided(shape, (first, places[-1], *space[:-1], within[-1], channel)).contiguous()
        (first, place, *space, entry, channel) = copy.stride()
        places, within = self._steps(space)
        shape = (len(image), *self.places, *self.sizes, self.channels)
        return copy.as_strided(shape, (first, *places, place, *within, entry, channel))

    def _steps(self, strides: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the strides between positions and between patch entries, given the spatial strides."""
        places = [own * step for own, step in zip(strides, self.strides, strict=False)]
        return places, [own * step for own, step in zip(strides, self.dilations, strict=False)]
