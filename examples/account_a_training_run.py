# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compute the privacy loss of a training run, explain it in words, and calibrate the noise to a target.

A model is trained for 1,000 steps of DP-SGD on Poisson samples of 1 % of the records, and 50 noisy counts are
published during training. No data are needed: an event consists of public constants.
"""

from dperm import Gaussian, Laplace, Poisson, account, calibrate, explain

DELTA = 1e-5
STEPS = 1000
RATE = 0.01


def main() -> None:
    """Print the privacy loss, its explanation and the calibrated noise."""
    step = Poisson(Gaussian(noise_multiplier=1.0), rate=RATE)
    training = step * STEPS + Laplace(noise_multiplier=10.0) * 50
    profile = account(training, adjacency="add_remove")
    lower, upper = profile.epsilon_bracket(delta=DELTA)
    print(f"Training and counts together, adjacency {profile.adjacency.value}:")
    print(f"  epsilon at delta = {DELTA:g} lies between {lower:.10f} and {upper:.10f}")
    print(f"  delta at epsilon = 1 is at most {profile.delta(epsilon=1.0):.6g}")
    print()
    print("Meaning for an attacker:")
    for sentence in explain(profile).sentences:
        print(f"  {sentence}")
    print()
    sigma = calibrate(
        lambda s: Poisson(Gaussian(s), rate=RATE) * STEPS, epsilon=1.0, delta=DELTA, adjacency="add_remove"
    )
    print(f"Training alone reaches epsilon = 1 at delta = {DELTA:g} with noise_multiplier = {sigma:.6f}.")


if __name__ == "__main__":
    main()
