# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public description of an unread table: numbers of rows and columns, class balance and baseline accuracy."""

from dataclasses import asdict, dataclass

from dperm import checks
from dperm.data.space import FeatureSpace
from dperm.errors import ParameterError
from dperm.theory import LearningProblem

MOST_ROWS = 10**9
MOST_COLUMNS = 10**4
RAREST = 0.01
EASIEST = 0.999
PUBLIC = "It must come from public knowledge, not from the data."


@dataclass(frozen=True)
class Shape:
    """Public description of a table with two classes.

    Parameters
    ----------
    n
        Number of training records.
    dim
        Number of columns after encoding, without the intercept.
    balance
        Share of records in the positive class, in [0.01, 0.99]; all other records are in the negative class.
    baseline
        Accuracy of a model without privacy trained on n records, if it is known from a publication or a similar data
        set. It must exceed `majority` and be at most 0.999. None uses a default rule (`dperm.planner.simulated_data`).
    feature_norm
        Public bound on the norm of each row. The expected accuracy does not depend on this norm bound, because the
        features and the noise scale with it. The proved bounds on the excess risk do depend on the norm bound.

    Raises
    ------
    ParameterError
        If a number is out of range.

    Examples
    --------
    >>> from dperm.planner import Shape
    >>> Shape(n=5000, dim=5, balance=0.3).majority
    0.7
    """

    n: int
    dim: int
    balance: float = 0.5
    baseline: float | None = None
    feature_norm: float = 1.0

    def __post_init__(self) -> None:
        """Check that all numbers are in range."""
        put = object.__setattr__
        put(self, "n", checks.count("n", self.n, least=2, most=MOST_ROWS))
        put(self, "dim", checks.count("dim", self.dim, most=MOST_COLUMNS))
        put(self, "balance", checks.between("balance", self.balance, RAREST, 1 - RAREST, PUBLIC))
        put(self, "feature_norm", checks.between("feature_norm", self.feature_norm, 1e-15, 1e15))
        if self.baseline is not None:
            put(self, "baseline", checks.probability("baseline", self.baseline, PUBLIC))
            self._check_baseline(self.baseline)

    @property
    def majority(self) -> float:
        """Accuracy of always guessing the larger class."""
        return max(self.balance, 1 - self.balance)

    def problem(self, reference_norm: float = 1.0) -> LearningProblem:
        """Return the constants of logistic regression with an intercept (T54), for the proved bounds (T57).

        Parameters
        ----------
        reference_norm
            Norm R0. The bounds limit the excess risk over the best coefficients with norm at most R0.

        Returns
        -------
        LearningProblem
            Constants of the problem.
        """
        space = FeatureSpace(self.dim, norm=self.feature_norm)
        return LearningProblem(space.size, space.radius, space.radius**2 / 4, reference_norm, logistic=True)

    def as_dict(self) -> dict[str, object]:
        """Return all parameters as plain data."""
        return asdict(self)

    def _check_baseline(self, baseline: float) -> None:
        if not self.majority < baseline <= EASIEST:
            raise ParameterError(
                argument="baseline",
                rule=f"must be above {self.majority:g}, the accuracy of guessing the larger class, and at most "
                f"{EASIEST:g}",
                got=f"{baseline:g}",
                remedy=PUBLIC,
            )
