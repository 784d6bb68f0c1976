# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The calculators: their list, their tags, and what importing them costs."""

import inspect
import re
import subprocess
import sys

import pytest

from dperm import sensitivity, theory
from dperm.theory import LearningProblem

NAMES = [
    "DescentRisk",
    "ExcessRisk",
    "FiniteClassRisk",
    "LearningProblem",
    "MedianAtom",
    "MethodBound",
    "OrderOnly",
    "SmallestSample",
    "best_method",
    "compare_methods",
    "dpgd_excess_risk",
    "finite_class_empirical_gap",
    "finite_class_excess_risk",
    "finite_class_sample_size",
    "gaussian_norm_bound",
    "gaussian_output_sample_order",
    "gradient_empirical_risk",
    "gradient_excess_risk",
    "gradient_risk_order",
    "gradient_sample_size",
    "last_iterate_bound",
    "median_atom",
    "objective_empirical_risk",
    "objective_excess_risk",
    "objective_noise_cost",
    "objective_risk_order",
    "objective_sample_order",
    "objective_sample_size",
    "objective_sample_size_closed_form",
    "output_empirical_risk",
    "output_excess_risk",
    "output_noise_cost",
    "output_risk_order",
    "output_sample_order",
    "output_sample_size",
    "packing_sample_size",
    "posterior_inflation",
    "smallest_sample",
]
FUNCTIONS = [getattr(theory, name) for name in NAMES if inspect.isfunction(getattr(theory, name))]


def test_the_public_names_are_these():
    assert theory.__all__ == NAMES


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_calculator_cites_its_statement_and_is_in_the_table(function):
    assert re.search(r"\bT(33|34|42|47|48a?|49|50|51|52a?|56a?|57|58|59|60)\b", function.__doc__)
    assert function.__name__ in theory.__doc__.replace("..._closed_form", "objective_sample_size_closed_form")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_after_two_arguments_everything_is_by_name(function):
    positional = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert len(positional) <= 2


@pytest.mark.parametrize("name", ["Passes", "descent_sensitivity", "posterior_temperature", "sampler_delta"])
def test_names_of_guarantees_have_moved_and_still_work(name):
    with pytest.warns(DeprecationWarning, match=rf"theory\.{name} is deprecated .* use dperm\.sensitivity\.{name}"):
        assert getattr(theory, name) is getattr(sensitivity, name)


def test_results_cannot_be_changed():
    problem = LearningProblem(dim=3)
    with pytest.raises(AttributeError):
        problem.dim = 4
    assert hash(problem) == hash(LearningProblem(3))


def test_importing_is_light():
    code = (
        "import sys, dperm.theory; print([m for m in sys.modules if m in ('scipy.stats', 'scipy.optimize', 'sklearn')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
