# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit one-run``: epsilon from one training with many canaries."""

from typing import Annotated

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

HELP = """A lower bound on epsilon from ONE training with many canaries: A6, with --gaussian A7.

Each canary was in the training data by an independent fair coin of its own: a split into two halves is not that. The
number of guesses was fixed in advance; the canaries that were not guessed count, too.

\b
Examples:
  dperm audit one-run --correct 90 --guesses 100 --canaries 1000
  dperm audit one-run --correct 480 --guesses 500 --canaries 10000 --delta 1e-5 --gaussian --json
  dperm audit one-run --correct 60 --guesses 100 --canaries 1000 --delta 1e-5 --claimed-epsilon 1 --adjacency add_remove
"""


def one_run(
    correct: Annotated[int, options.count("--correct", "Guesses that were right.")],
    guesses: Annotated[int, options.count("--guesses", "Guesses that were made.")],
    canaries: Annotated[int, options.count("--canaries", "Coins that were flipped.")],
    delta: options.Delta = 0.0,
    confidence: options.Confidence = 0.95,
    gaussian: options.Gaussian = False,
    claimed_epsilon: options.ClaimedEpsilon = None,
    adjacency: options.ClaimedAdjacency = None,
    json: AsJson = False,
) -> None:
    """Bound epsilon by one run."""
    with reported_errors():
        from dperm.audit.one_run import one_run as bounded
        from dperm.audit.one_run_tradeoff import gaussian_one_run
        from dperm.cli.audit.claims import claimed
        from dperm.cli.audit.printing import tell_bound

        options.require_delta(gaussian, delta)
        claim = claimed(claimed_epsilon, delta, adjacency)
        chosen = gaussian_one_run if gaussian else bounded
        bound = chosen(correct, guesses, canaries, delta=delta, confidence=confidence)
        baseline = f"{correct} of {guesses} guesses right; {guesses / 2:g} expected from guessing"
        tell_bound(bound, claim, subject="one training, by its canaries", baseline=baseline, as_json=json)
