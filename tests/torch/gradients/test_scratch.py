# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reused memory: no buffer is handed out while a view of it exists."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from dperm.errors import AssumptionError
from dperm.torch.gradients.per_example import PerExampleGradients
from dperm.torch.gradients.rules.patches import Windows
from dperm.torch.gradients.scratch import Scratch

pytestmark = pytest.mark.usefixtures("both_ways")


def test_memory_that_nobody_holds_is_used_again():
    scratch = Scratch(1)
    first = scratch.empty(3, 4).data_ptr()
    assert scratch.empty(4, 3).data_ptr() == first


@pytest.mark.parametrize(
    "hold",
    [
        lambda value: value,
        lambda value: value[1:],
        lambda value: value.numpy(),
        lambda value: nn.Parameter(value),
        lambda value: value.untyped_storage(),
    ],
    ids=["itself", "a_part", "an_array", "a_parameter", "storage"],
)
def test_memory_that_somebody_holds_is_not(hold):
    scratch = Scratch(2)
    held = hold(scratch.empty(3, 4))
    others = [scratch.empty(3, 4) for _ in range(4)]
    places = {value.data_ptr() for value in others}
    assert len(places) == 4
    assert (held.ctypes.data if hasattr(held, "ctypes") else held.data_ptr()) not in places


def test_memory_that_other_processes_may_see_is_not_used_again():
    scratch = Scratch(1)
    value = scratch.empty(3, 4)
    value.share_memory_()
    place = value.data_ptr()
    del value
    assert scratch.empty(3, 4).data_ptr() != place


def test_sizes_and_types_are_apart():
    scratch = Scratch(4)
    held = {scratch.empty(6).data_ptr(), scratch.empty(5).data_ptr(), scratch.empty(6, dtype=torch.float64).data_ptr()}
    assert len(held) == 3
    assert scratch.empty(6, dtype=torch.float64).dtype is torch.float64


def test_no_more_pieces_are_kept_than_asked_for():
    scratch = Scratch(2)
    for size in range(1, 9):
        scratch.empty(size)
    assert [value.numel() for value in scratch._held] == [7, 8]
    nothing = Scratch(0)
    nothing.empty(3)
    assert not nothing._held


def test_a_thread_has_its_own():
    scratch = Scratch(2)
    here = scratch.empty(5)
    with ThreadPoolExecutor(1) as other:
        there = other.submit(scratch.empty, 5).result()
    assert here.data_ptr() != there.data_ptr()


def test_gradients_that_are_kept_stay_as_they_are():
    """The factors of two passes through one convolution, and of one that is used twice."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 5), nn.Flatten())
    with PerExampleGradients(model) as gradients:
        kept = []
        for _ in range(3):
            losses = model(torch.randn(6, 1, 9, 9)).square().mean(1)
            (_, factor), *_ = gradients.factors(losses)
            kept.append((factor, factor.dense().clone()))
        for factor, values in kept:
            assert torch.equal(factor.dense(), values)


def test_patches_beyond_the_image_are_refused():
    windows = Windows(1, (3, 3), (2, 2), (1, 1), (4, 4))
    windows.check(torch.zeros(2, 1, 9, 9))
    with pytest.raises(AssumptionError, match="more positions than its input has patches"):
        windows.check(torch.zeros(2, 1, 9, 8))
