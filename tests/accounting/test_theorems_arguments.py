# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Nonsense gets one clear error that names the argument; the list of theorems is pinned; their examples run."""

import doctest
import importlib
import math

import numpy as np
import pytest

from dperm.accounting import theorems
from dperm.accounting.theorems import (
    advanced_composition,
    advanced_composition_delta,
    amplify_poisson,
    amplify_without_replacement,
    analytic_gaussian_delta,
    analytic_gaussian_epsilon,
    analytic_gaussian_sigma,
    basic_composition,
    classical_gaussian_sigma,
    gaussian_loss_tail,
    gaussian_tail_epsilon,
    gaussian_zcdp,
    heterogeneous_composition_delta,
    heterogeneous_composition_epsilon,
    laplace_profile,
    laplace_scale,
    loss_tail_bound,
    optimal_composition_delta,
    optimal_composition_epsilon,
    per_step_epsilon,
    planar_objective_delta,
    poisson_gaussian_delta,
    shuffle_without_amplification,
    shuffled_delta_lower,
    thresholded_values_delta,
    without_replacement_gaussian_delta,
    zcdp_epsilon,
)
from dperm.errors import AdjacencyError, ParameterError

GOOD = {
    advanced_composition: {"epsilon": 0.1, "delta": 1e-6, "count": 10, "slack": 1e-6},
    advanced_composition_delta: {"delta": 1e-6, "count": 10, "slack": 1e-6},
    per_step_epsilon: {"epsilon": 0.1, "count": 10, "slack": 1e-6},
    optimal_composition_delta: {"epsilon": 0.1, "delta": 1e-6, "count": 10, "total_epsilon": 0.5},
    optimal_composition_epsilon: {"epsilon": 0.1, "delta": 1e-6, "count": 10, "total_delta": 1e-4},
    planar_objective_delta: {"epsilon": 1.0, "noise_multiplier": 5.0, "determinant": 0.1},
    gaussian_loss_tail: {"epsilon": 1.0, "mu": 1.0},
    gaussian_tail_epsilon: {"mu": 1.0, "delta": 1e-5},
    loss_tail_bound: {"epsilon": 1.0, "delta": 1e-5, "threshold": 2.0},
    laplace_scale: {"epsilon": 1.0, "sensitivity": 1.0},
    laplace_profile: {"epsilon": 0.5, "scale": 1.0, "sensitivity": 1.0},
    classical_gaussian_sigma: {"epsilon": 0.5, "delta": 1e-5, "sensitivity": 1.0},
    analytic_gaussian_sigma: {"epsilon": 0.5, "delta": 1e-5, "sensitivity": 1.0},
    analytic_gaussian_delta: {"epsilon": 0.5, "sigma": 1.0, "sensitivity": 1.0},
    analytic_gaussian_epsilon: {"delta": 1e-5, "sigma": 1.0, "sensitivity": 1.0},
    gaussian_zcdp: {"sigma": 1.0, "sensitivity": 1.0},
    zcdp_epsilon: {"rho": 0.1, "delta": 1e-5},
    amplify_poisson: {"epsilon": 1.0, "delta": 1e-5, "rate": 0.1, "adjacency": "add_remove"},
    amplify_without_replacement: {
        "epsilon": 1.0,
        "delta": 1e-5,
        "sample_size": 2,
        "population": 9,
        "adjacency": "replace_one",
    },
    poisson_gaussian_delta: {"epsilon": 0.1, "noise_multiplier": 1.0, "rate": 0.1, "direction": "remove"},
    without_replacement_gaussian_delta: {"epsilon": 0.1, "noise_multiplier": 1.0, "rate": 0.1},
    shuffled_delta_lower: {"epsilon": 1.0, "noise_multiplier": 1.0, "batches": 10},
    shuffle_without_amplification: {"noise_multiplier": 1.0, "epochs": 3, "adjacency": "replace_one"},
    thresholded_values_delta: {"epsilon": 0.5, "standard_deviation": 30.0, "threshold": 150.0, "values": 5},
}
CASES = [
    pytest.param(function, name, id=f"{function.__name__}-{name}")
    for function, arguments in GOOD.items()
    for name in arguments
]
MAY_BE_NEGATIVE = {(gaussian_loss_tail, "epsilon"), (loss_tail_bound, "threshold")}
SEQUENCES = [
    (basic_composition, {}),
    (heterogeneous_composition_delta, {"total_epsilon": 1.0}),
    (heterogeneous_composition_epsilon, {"total_delta": 1e-3}),
]


@pytest.mark.parametrize(("function", "name"), CASES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, "1", None, True])
def test_nonsense_is_refused_by_name(function, name, bad):
    if (function, name) in MAY_BE_NEGATIVE and bad == -1.0:
        return
    with pytest.raises((ParameterError, AdjacencyError), match=rf"^{name} must be .*{bad!r}"):
        function(**{**GOOD[function], name: bad})


@pytest.mark.parametrize("function", [function for function, arguments in GOOD.items() if "rate" in arguments])
@pytest.mark.parametrize("bad", [0.0, 1.0000001, 2])
def test_a_rate_outside_0_1_is_refused(function, bad):
    with pytest.raises(ParameterError, match=r"rate must be a number in \(0, 1\], got"):
        function(**{**GOOD[function], "rate": bad})


@pytest.mark.parametrize("function", GOOD)
def test_numpy_scalars_are_accepted(function):
    scalars = {
        name: value if isinstance(value, str) else np.int64(value) if isinstance(value, int) else np.float64(value)
        for name, value in GOOD[function].items()
    }
    assert function(**scalars) == function(**GOOD[function])


@pytest.mark.parametrize(("function", "rest"), SEQUENCES)
def test_sequences_are_checked_entry_by_entry(function, rest):
    assert function([0.1], [1e-6], **rest) is not None
    with pytest.raises(ParameterError, match=r"epsilons\[1\] must be a finite number >= 0, got -0\.2"):
        function([0.1, -0.2], [0.0, 0.0], **rest)
    with pytest.raises(ParameterError, match=r"deltas\[0\] must be a number in \[0, 1\), got 1\.0"):
        function([0.1], [1.0], **rest)
    with pytest.raises(ParameterError, match="got 1 deltas for 2 epsilons"):
        function([0.1, 0.2], [0.0], **rest)
    for bad in ("0.1", 0.1):
        with pytest.raises(ParameterError, match="epsilons must be a sequence of numbers"):
            function(bad, [0.0], **rest)


def test_every_public_theorem_is_documented_with_its_tag():
    assert set(theorems.__all__) == {f.__name__ for f in GOOD} | {f.__name__ for f, _ in SEQUENCES}
    for name in theorems.__all__:
        assert "T" in getattr(theorems, name).__doc__, name


def test_there_is_no_central_limit_accountant():  # T19: it reports less than the truth
    assert not [name for name in dir(theorems) if "clt" in name.lower()]
    assert "CLT-GDP" in theorems.__doc__


@pytest.mark.parametrize("name", ["theorems.optimal", "theorems.mechanisms", "rdp"])
def test_examples_in_docstrings_run(name):
    outcome = doctest.testmod(importlib.import_module(f"dperm.accounting.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
