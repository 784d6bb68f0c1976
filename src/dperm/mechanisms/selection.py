# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Random number of runs of a private selection, drawn from its distribution (T80)."""

from dperm.accounting.runs import NegativeBinomialRuns, PoissonRuns, Runs
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.noise.bits import Stream
from dperm.noise.run_counts import negative_binomial_runs, poisson_runs


def draw_runs(runs: Runs, stream: Stream) -> int:
    """Draw the number of runs of a private selection.

    Draw the number before the data are read, and keep it secret: the guarantee of `dperm.accounting.BestOf` does not
    hold if the number is revealed.

    Parameters
    ----------
    runs
        Probability distribution of the number of runs.
    stream
        Stream of random bits.

    Returns
    -------
    int
        Number of runs. With a Poisson distribution, the number may be 0; the selection then releases nothing.

    Raises
    ------
    ParameterError
        If ``runs`` is not one of the supported distributions (`dperm.accounting.Runs`).

    Notes
    -----
    **Guarantees.** For ideal random bits, the number has exactly the stated distribution (T80), so the guarantee needs
    no correction for sampling errors.

    Examples
    --------
    >>> from dperm.accounting import Runs
    >>> from dperm.mechanisms import draw_runs
    >>> from dperm.noise import SystemBits
    >>> draw_runs(Runs.geometric(mean=10), SystemBits().stream()) >= 1
    True
    """
    if isinstance(runs, NegativeBinomialRuns):
        return negative_binomial_runs(runs.eta, runs.gamma, stream)
    if isinstance(runs, PoissonRuns):
        return poisson_runs(runs.mean, stream)
    raise ParameterError(
        argument="runs",
        rule="must be a distribution of the number of runs",
        got=shown(runs),
        remedy="Choose Runs.geometric(mean=10), for example.",
    )
