# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise on the coefficients themselves: distributions by name, and calibration to a sensitivity (T6, T7, T32)."""

from dperm.checks import shown
from dperm.erm.spec import ProblemSpec
from dperm.errors import ConversionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GAMMA_NORM_SHAPE, GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.laplace import LaplaceMechanism
from dperm.methods.conditions import is_pure
from dperm.methods.defaults import prefers_gamma_norm
from dperm.noise.gamma_norm import MOST_DIM
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import quoted_arg
from dperm.privacy.guarantee import AnyGuarantee

PURE_NOISE_IS_SMALLER = Fact(
    "noise.pure_is_smaller",
    "With so few coefficients, noise for pure DP is smaller than Gaussian noise and is therefore used. The guarantee "
    "thus also holds with delta = 0.",
    {},
)
NOISES = ("auto", "gaussian", "gamma_norm", "laplace")


def checked_noise(noise: object, known: tuple[str, ...]) -> str:
    """Return the name of a noise distribution, if it is one of ``known``."""
    if noise not in known:
        raise ParameterError(argument="noise", rule=f"must be one of {', '.join(known)}", got=shown(noise))
    return str(noise)


def explain_noise(mechanism: AdditiveMechanism) -> str:
    """Return a sentence that explains gamma-norm noise, after a space; empty for other noise."""
    return f" Gamma-norm noise {GAMMA_NORM_SHAPE}." if mechanism.name == GammaNormMechanism.name else ""


def noise_law(noise: str, spec: ProblemSpec, goal: AnyGuarantee) -> str:
    """Return the noise distribution for ``noise``; "auto" is the smaller of Gaussian and gamma-norm noise for ``goal``.

    Gamma-norm noise is drawn for up to 2^20 coefficients. Beyond, Laplace noise takes its place.
    """
    if noise != "auto":
        return noise
    if not prefers_gamma_norm(spec, goal):
        return "gaussian"
    return "gamma_norm" if spec.dim <= MOST_DIM else "laplace"


def coefficient_noise(
    law: str, goal: AnyGuarantee, *, dim: int, sensitivity: float, numerical_error: float
) -> AdditiveMechanism:
    """Return the mechanism with the least noise of this distribution for ``goal``, for coefficients computed in floats.

    Parameters
    ----------
    law
        "gaussian", "gamma_norm" or "laplace".
    goal
        Guarantee to meet.
    dim
        Number of coefficients.
    sensitivity
        L2 sensitivity of the exact coefficients.
    numerical_error
        Bound on the distance between computed and exact coefficients (T31).

    Raises
    ------
    ConversionError
        For Gaussian noise and a pure goal.
    """
    match law:
        case "gaussian" if is_pure(goal):
            raise ConversionError(
                f"{quoted_arg('noise', 'gaussian')} never has a pure guarantee, got goal={goal!r}.",
                remedy=f"Use {quoted_arg('noise', 'gamma_norm')}, or a goal with delta > 0.",
            )
        case "gaussian":
            return GaussianMechanism.calibrate(sensitivity, goal, dim=dim, numerical_error=numerical_error)
        case "gamma_norm":
            return GammaNormMechanism.calibrate(sensitivity, goal, dim=dim, numerical_error=numerical_error)
    return LaplaceMechanism.calibrate_l2(sensitivity, goal, dim=dim, numerical_error=numerical_error)
