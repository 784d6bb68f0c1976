# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit one-run``: lower bound on epsilon from one training run with many canaries."""

from typing import Annotated

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

HELP = """Compute a lower bound on epsilon from one training run with many canaries (theorem A6; A7 with --gaussian).

An independent fair coin decides for each canary whether it is in the training data; splitting the canaries into two
halves is not enough. The number of guesses must be fixed in advance. --canaries also counts the canaries without a
guess.

\b
Examples:
  dperm audit one-run --correct 90 --guesses 100 --canaries 1000
  dperm audit one-run --correct 480 --guesses 500 --canaries 10000 --delta 1e-5 --gaussian --json
  dperm audit one-run --correct 60 --guesses 100 --canaries 1000 --delta 1e-5 --claimed-epsilon 1 --adjacency add_remove
"""


def one_run(
    correct: Annotated[int, options.count("--correct", "Number of correct guesses.")],
    guesses: Annotated[int, options.count("--guesses", "Number of guesses.")],
    canaries: Annotated[int, options.count("--canaries", "Number of canaries.")],
    delta: options.Delta = 0.0,
    confidence: options.Confidence = 0.95,
    gaussian: options.Gaussian = False,
    claimed_epsilon: options.ClaimedEpsilon = None,
    adjacency: options.ClaimedAdjacency = None,
    json: AsJson = False,
) -> None:
    """Bound epsilon from one training run."""
    with reported_errors():
        from dperm.audit.one_run import one_run as bounded
        from dperm.audit.one_run_tradeoff import gaussian_one_run
        from dperm.cli.audit.findings_output import report_bound
        from dperm.cli.audit.options import claimed

        options.require_delta(gaussian, delta)
        claim = claimed(claimed_epsilon, delta, adjacency)
        chosen = gaussian_one_run if gaussian else bounded
        bound = chosen(correct, guesses, canaries, delta=delta, confidence=confidence)
        baseline = f"{correct} of {guesses} guesses correct; {guesses / 2:g} expected by chance"
        report_bound(bound, claim, subject="one training run, by its canaries", baseline=baseline, as_json=json)
