# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""All lessons, and how to find one."""

from difflib import get_close_matches

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.reproduce.lesson import Effort, Lesson, Outcome
from dperm.reproduce.lessons import (
    amplification,
    batch_size,
    composition,
    dependence_on_epsilon,
    dpgd_noise,
    dpsgd_accounting,
    excess_risk,
    excess_risk_over_dimension,
    finite_class,
    fourier_accountant,
    gaussian_noise,
    group_privacy,
    laplace_mean,
    learning_curves,
    median,
    packing,
    per_example_clipping,
    posterior,
    printed_algorithm_2,
    regularization,
    sample_size,
    sensitivity,
    shuffling,
    table_of_errors,
)

_MODULES = (
    laplace_mean,
    gaussian_noise,
    group_privacy,
    composition,
    amplification,
    shuffling,
    fourier_accountant,
    dpsgd_accounting,
    batch_size,
    per_example_clipping,
    dpgd_noise,
    sensitivity,
    median,
    printed_algorithm_2,
    table_of_errors,
    learning_curves,
    dependence_on_epsilon,
    regularization,
    sample_size,
    excess_risk,
    excess_risk_over_dimension,
    finite_class,
    packing,
    posterior,
)
LESSONS: tuple[Lesson, ...] = tuple(module.LESSON for module in _MODULES)
"""In the order in which they are listed: mechanisms, composition, sampling, learning, and its limits."""


def by_name(name: str) -> Lesson:
    """The lesson of this name; a dash stands for an underscore.

    Raises
    ------
    ParameterError
        If there is none, with names that are near.
    """
    lessons = {lesson.name: lesson for lesson in LESSONS}
    wanted = name.replace("-", "_") if isinstance(name, str) else ""
    if wanted in lessons:
        return lessons[wanted]
    near = get_close_matches(wanted, lessons, 3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(lessons)}."
    raise ParameterError(f"name must be that of a lesson, got {shown(name)}. {hint}")


def run(name: str, effort: Effort | None = None) -> Outcome:
    """What comes out of the lesson of this name; None for all its settings, with seed 0.

    Examples
    --------
    >>> from dperm.reproduce import Effort, run
    >>> outcome = run("printed_algorithm_2", Effort(quick=True))
    >>> all(check.holds for check in outcome.checks)
    True
    """
    return by_name(name).run(Effort() if effort is None else effort)
