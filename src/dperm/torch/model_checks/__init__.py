# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of a model before private training, on synthetic inputs.

`check_model` accepts a model only if each example has its own gradient and `dperm.torch.gradients` computes it.
`check_losses` does the same for the losses of a step. `describe` lists the method used for each layer.
"""

from dperm.torch.model_checks.check import check_losses as check_losses
from dperm.torch.model_checks.check import check_model as check_model
from dperm.torch.model_checks.description import Description as Description
from dperm.torch.model_checks.description import describe as describe
