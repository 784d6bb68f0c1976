# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the record of a training says of its model: public, and known before any data are read."""

from torch import nn


def model_facts(model: nn.Module) -> dict[str, object]:
    """The name of its class, and the number of its trained parameters."""
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    return {"model": type(model).__name__, "trained_parameters": trained}
