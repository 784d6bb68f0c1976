# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit guesses``: lower bound on epsilon from correct guesses of fair coins."""

from typing import TYPE_CHECKING, Annotated

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

if TYPE_CHECKING:
    from dperm.audit import LowerBound

HELP = """Compute a lower bound on epsilon from guesses of fair coin flips, one per training run (theorem A4).

In each run, a fair coin decides whether the target record is in the training data. At --delta 0 the attacker may
abstain: --guesses counts the runs with a guess. With --delta above 0 or with --gaussian, every run needs a guess.

\b
Examples:
  dperm audit guesses --correct 900 --guesses 1000
  dperm audit guesses --correct 900 --guesses 1000 --delta 1e-5 --json
  dperm audit guesses --correct 690 --guesses 1000 --delta 1e-5 --gaussian --claimed-epsilon 5 --adjacency add_remove
"""


def guesses(
    correct: Annotated[int, options.count("--correct", "Number of correct guesses.")],
    guesses: Annotated[int, options.count("--guesses", "Number of guesses.")],
    delta: options.Delta = 0.0,
    confidence: options.Confidence = 0.95,
    gaussian: options.Gaussian = False,
    claimed_epsilon: options.ClaimedEpsilon = None,
    adjacency: options.ClaimedAdjacency = None,
    json: AsJson = False,
) -> None:
    """Print the lower bound on epsilon from guesses."""
    with reported_errors():
        from dperm.cli.audit.findings_output import report_bound
        from dperm.cli.audit.options import claimed

        options.require_delta(gaussian, delta)
        claim = claimed(claimed_epsilon, delta, adjacency)
        bound = _bound(correct, guesses, delta=delta, confidence=confidence, gaussian=gaussian)
        baseline = f"{correct} of {guesses} guesses correct; {guesses / 2:g} expected by chance"
        report_bound(bound, claim, subject="an attack, by its guesses", baseline=baseline, as_json=json)


def _bound(correct: int, guesses: int, *, delta: float, confidence: float, gaussian: bool) -> "LowerBound":
    from dperm.audit import guesses as found

    if gaussian:
        return found.gaussian_from_guesses(correct, guesses, delta=delta, confidence=confidence)
    if delta == 0:
        return found.pure_from_guesses(correct, guesses, confidence=confidence)
    return found.approximate_from_guesses(correct, guesses, delta=delta, confidence=confidence)
