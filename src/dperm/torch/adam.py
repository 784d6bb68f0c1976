# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Adam without the bias of the noise (Tang et al. 2023, DP-AdamBC), as post-processing (T3), at no privacy cost.

A noisy gradient is g + N(0, Phi I), so the running mean of its squares estimates E g^2 + Phi. If the noise dominates,
Adam divides all coordinates by about the same number, and reduces to momentum. Phi is public, so it can be subtracted.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from dperm import checks

BETA = "It is the weight of the past in a running mean."
STABLE = "It keeps quotients finite if gradients are 0."
FLOOR = "It is the least corrected second moment, as a share of the noise's variance."


class AdamBC(Optimizer):
    """Adam with bias correction for the noise: the divisor is sqrt(max(v - Phi, floor * Phi)) + eps.

    Here v is the running mean of the squared gradients, and Phi is the variance of the noise on each coordinate of a
    gradient. For Phi = 0, the optimizer is equivalent to ``torch.optim.Adam``. A private training run sets Phi before
    every step, as ``noise_variance`` of each parameter group. The initial value is 0.

    Parameters
    ----------
    params
        ``model.parameters()``, or parameter groups.
    lr
        Learning rate, at least 0.
    betas
        Decay rates of the running means of the gradients and of their squares, in [0, 1).
    eps
        Constant added to the divisor, at least 0.
    floor
        Lower limit for v - Phi as a multiple of Phi, positive. For gradients of noise alone, the standard error of v is
        about sqrt(2 (1 - b) / (1 + b)) Phi, where b is the second of the betas. This is 0.03 Phi for b = 0.999. Values
        of v - Phi below this error are not significant.

    Examples
    --------
    >>> import torch
    >>> from dperm.torch import AdamBC
    >>> AdamBC(torch.nn.Linear(2, 1).parameters(), lr=1e-3).param_groups[0]["noise_variance"]
    0.0
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        floor: float = 0.03,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": checks.nonnegative("lr", lr, "It is the step size."),
                "betas": tuple(checks.between("betas", beta, 0.0, 1 - 1e-12, BETA) for beta in betas),
                "eps": checks.nonnegative("eps", eps, STABLE),
                "floor": checks.between("floor", floor, 1e-12, 1e12, FLOOR),
                "noise_variance": 0.0,
            },
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one optimizer step with the current gradients.

        Parameters
        ----------
        closure
            Function that re-evaluates the model and returns the loss; None to use the gradients as they are.

        Returns
        -------
        float or None
            Loss returned by ``closure``; None without a closure.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.addcdiv_(*self._direction(parameter, group), value=-group["lr"])
        return loss

    def _direction(self, parameter: Tensor, group: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Return the running mean of gradients, and its divisor."""
        (first, second), grad, state = group["betas"], parameter.grad, self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] += 1
        step = int(state["step"])
        mean = state["exp_avg"].lerp_(grad, 1 - first) / (1 - first**step)
        squares = state["exp_avg_sq"].mul_(second).addcmul_(grad, grad, value=1 - second) / (1 - second**step)
        return mean, corrected(squares, group["noise_variance"], group["floor"]).sqrt_().add_(group["eps"])


def corrected(squares: Tensor, noise_variance: float, floor: float) -> Tensor:
    """Return max(v - Phi, floor Phi) for the mean squares v."""
    return squares.sub(noise_variance).clamp_(min=floor * noise_variance)


def tell_noise(optimizer: Optimizer, *deviations: float) -> None:
    """Set the noise variance of an `AdamBC` from the deviations of independent parts; ignore other optimizers."""
    if isinstance(optimizer, AdamBC):
        for group in optimizer.param_groups:
            group["noise_variance"] = math.fsum(deviation**2 for deviation in deviations)
