# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Catalogue of all lessons, which are runnable checks of claims from lectures, with lookup by name."""

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
"""All lessons, ordered by topic: mechanisms, composition, sampling, learning, and limits of learning."""


def by_name(name: str) -> Lesson:
    """Return the lesson with a given name. Hyphens and underscores are equivalent.

    Parameters
    ----------
    name
        Name of the lesson, such as "laplace_mean"; `LESSONS` lists all lessons.

    Returns
    -------
    Lesson
        The lesson: a runnable check of a claim from a lecture.

    Raises
    ------
    ParameterError
        If the name is unknown. The message suggests similar names.
    """
    lessons = {lesson.name: lesson for lesson in LESSONS}
    wanted = name.replace("-", "_") if isinstance(name, str) else ""
    if wanted in lessons:
        return lessons[wanted]
    near = get_close_matches(wanted, lessons, 3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The lessons are: {', '.join(lessons)}."
    raise ParameterError(argument="name", rule="must be the name of a lesson", got=shown(name), remedy=hint)


def run(name: str, effort: Effort | None = None) -> Outcome:
    """Run the lesson with a given name.

    Parameters
    ----------
    name
        Name of the lesson.
    effort
        Options of the run; None runs the lesson with all of its settings and seed 0.

    Returns
    -------
    Outcome
        Table, plot, checks and conclusion of the lesson.

    Raises
    ------
    ParameterError
        If the name is unknown.

    Examples
    --------
    >>> from dperm.reproduce import Effort, run
    >>> outcome = run("printed_algorithm_2", Effort(quick=True))
    >>> all(check.holds for check in outcome.checks)
    True
    """
    return by_name(name).run(Effort() if effort is None else effort)
