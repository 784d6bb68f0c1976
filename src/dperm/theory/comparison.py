# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output, objective and gradient perturbation side by side: whose proved bound is smallest, and from how many records.

The bounds are T57 and T48a for the population, T56a and T48 for the records themselves, all relative to a reference of
norm R0. They hold for linear models with convex, smooth and (objective perturbation with delta > 0) monotone losses,
such as logistic loss. A smaller bound is no proof that a method is better: bounds are one-sided.
"""

from dataclasses import dataclass

from dperm.privacy import Adjacency
from dperm.theory.contenders import Contenders, Method, MethodBound
from dperm.theory.noise_size import Goal
from dperm.theory.results import LearningProblem, Risk, checked_problem, checked_risk
from dperm.theory.search import OutOfReach


@dataclass(frozen=True)
class SmallestSample:
    """How many records suffice for an excess risk by what is proved.

    Attributes
    ----------
    n
        The least number.
    best
        The bound at n of the method which needs so few.
    each
        For every method that reaches the excess with at most 2^53 records: its name and number, least first.
    """

    n: int
    best: MethodBound
    each: tuple[tuple[Method, int], ...]


def compare_methods(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> tuple[MethodBound, ...]:
    """The methods' bounds on n records, smallest first (T57, T48a; T56a, T48 for ``risk="empirical"``).

    With delta = 0 gradient perturbation is left out: its noise is Gaussian, and T48 has no pure version. With delta > 0
    the others take whichever noise makes their bound smaller, as a pure guarantee implies an approximate one.

    Examples
    --------
    >>> problem = LearningProblem(dim=10)
    >>> for each in compare_methods(problem, 10_000, epsilon=1.0, delta=1e-5, adjacency="replace_one"):
    ...     print(each.method, round(each.bound, 4))
    objective 0.0201
    output 0.0212
    gradient 0.1819
    """
    contenders = Contenders(checked_problem(problem), Goal.of(epsilon, delta, adjacency), checked_risk(risk))
    return tuple(sorted(contenders.bounds(n), key=lambda each: each.bound))


def best_method(
    problem: LearningProblem,
    n: int,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> MethodBound:
    """The method whose bound on n records is smallest: the first of ``compare_methods`` (T57, T48a, T56a, T48)."""
    return compare_methods(problem, n, epsilon=epsilon, adjacency=adjacency, delta=delta, risk=risk)[0]


def smallest_sample(
    problem: LearningProblem,
    excess: float,
    *,
    epsilon: float,
    adjacency: Adjacency | str,
    delta: float = 0.0,
    risk: Risk = "population",
) -> SmallestSample:
    """The least n at which some method's bound is at most ``excess``, and which method that is (T57, T48a, T56a, T48).

    Raises
    ------
    ParameterError
        If no method reaches it with 2^53 records.

    Examples
    --------
    >>> sample = smallest_sample(LearningProblem(dim=10), 0.1, epsilon=1.0, adjacency="replace_one")
    >>> sample.n, sample.best.method, sample.each
    (491, 'objective', (('objective', 491), ('output', 579)))
    """
    contenders = Contenders(checked_problem(problem), Goal.of(epsilon, delta, adjacency), checked_risk(risk))
    each = tuple(sorted(contenders.sizes(excess), key=lambda pair: pair[1]))
    if not each:
        raise OutOfReach
    method, n = each[0]
    return SmallestSample(n, contenders.bound(method, n), each)
