# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old module paths of the engine: they work, with a warning."""

import importlib
import pickle

import pytest

from dperm.torch import PerExampleGradients, describe
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.model_checks import Description, check_losses, check_model
from dperm.torch.model_checks.description import LayerDescription

OLD = [
    ("check", "check_model", check_model),
    ("check", "check_losses", check_losses),
    ("clipping", "Clipping", Clipping),
    ("describe", "describe", describe),
    ("describe", "Description", Description),
    ("describe", "Row", LayerDescription),
    ("gradients", "PerExampleGradients", PerExampleGradients),
]


@pytest.mark.parametrize(("module", "name", "expected"), OLD)
def test_old_paths_give_the_same_objects_and_a_warning(module: str, name: str, expected: object) -> None:
    old = importlib.import_module(f"dperm.torch.engine.{module}")
    with pytest.warns(DeprecationWarning, match=f"engine.{module}.{name} is deprecated"):
        assert getattr(old, name) is expected


def test_enums_pickled_under_the_old_path_can_be_read() -> None:
    pickled = pickle.dumps(Clipping.FLAT, protocol=0).replace(b"torch.gradients.clipping", b"torch.engine.clipping")
    assert b"engine" in pickled
    with pytest.warns(DeprecationWarning):
        assert pickle.loads(pickled) is Clipping.FLAT
