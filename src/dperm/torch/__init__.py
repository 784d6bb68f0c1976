# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Differentially private training of PyTorch models (T46)."""

import importlib.util
from typing import TYPE_CHECKING, Any

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError('dperm.torch needs PyTorch. Run: pip install "dperm[torch]".', name="torch")

from dperm.torch.adam import AdamBC as AdamBC
from dperm.torch.fit import fit as fit
from dperm.torch.gradients.per_example import PerExampleGradients as PerExampleGradients
from dperm.torch.model_checks.description import describe as describe
from dperm.torch.plan import DPSGD as DPSGD
from dperm.torch.plan import DPSGDPlan as DPSGDPlan
from dperm.torch.quantile import QuantileClipping as QuantileClipping
from dperm.torch.session import PrivateTraining as PrivateTraining
from dperm.torch.svrg import DPSVRG as DPSVRG
from dperm.torch.svrg import DPSVRGPlan as DPSVRGPlan

if TYPE_CHECKING:
    from dperm.torch.classifier import PrivateTorchClassifier as PrivateTorchClassifier


def __getattr__(name: str) -> Any:
    """Import the classifier on first use, because it needs scikit-learn."""
    if name == "PrivateTorchClassifier":
        from dperm.torch.classifier import PrivateTorchClassifier

        return PrivateTorchClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
