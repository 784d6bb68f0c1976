# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Something else in the place of the noise of a step, whichever way it is added: to sums, or before them (at once)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from dperm.torch.noise import ExactNoise, FastNoise

Added = Callable[[Any, list[torch.Tensor], Any], list[torch.Tensor]]
"""From a law, the sums and a stream to noisy sums."""


def fused_class() -> Any:
    """Looked up as it is now: a mutant may be in its place."""
    return sys.modules["dperm.torch.update"].FusedNoisyGradient


def replace_noise(patch: pytest.MonkeyPatch, added: Added, *, laws: tuple[type, ...] = (FastNoise, ExactNoise)) -> None:
    """Let ``added`` make noisy sums; the sums themselves are made as they always are."""
    for law in laws:
        patch.setattr(law, "add", added)
    one_way = fused_class()
    real = one_way.__call__

    def fused(own: Any, found: Any, stream: Any, factor: float) -> list[torch.Tensor]:
        with silent():
            sums = [grad / factor for grad in real(own, found, stream, factor)]
        return [noisy * factor for noisy in added(own._noise, sums, stream)]

    patch.setattr(one_way, "__call__", fused)


def watch_noise(patch: pytest.MonkeyPatch, before: Callable[[Any, list[torch.Tensor], Any], None]) -> None:
    """Call ``before`` with the sums before each draw, which is the real one."""
    for law in (FastNoise, ExactNoise):

        def added(noise: Any, sums: Any, stream: Any, add: Any = law.add) -> Any:
            before(noise, sums, stream)
            return add(noise, sums, stream)

        patch.setattr(law, "add", added)
    one_way = fused_class()
    real = one_way.__call__

    def fused(own: Any, found: Any, stream: Any, factor: float) -> list[torch.Tensor]:
        with silent():
            before(own._noise, [grad / factor for grad in real(own, found, stream, factor)], stream)
        return real(own, found, stream, factor)

    patch.setattr(one_way, "__call__", fused)


@contextmanager
def silent() -> Iterator[None]:
    """Draws of grade "fast" are zeros."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastNoise, "standard", lambda noise, size, stream, scratch: torch.zeros(size))
        yield
