# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit rates``: lower bound on epsilon from true and false positives."""

from typing import Annotated

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import reported_errors

HELP = """Compute a lower bound on epsilon from an attack whose decision rule was fixed in advance.

The attack targets one record. A run whose training data include this record counts as a member, any other run as a
non-member. Every run is a separate training run. The bound is not valid if the rule or its threshold was chosen on the
same runs. The bound follows from theorem A2, or from A3 with --gaussian.

\b
Examples:
  dperm audit rates --true-positives 900 --members 1000 --false-positives 100 --non-members 1000
  dperm audit rates --true-positives 500 --members 1000 --false-positives 10 --non-members 1000 --delta 1e-5 --json
  dperm audit rates --true-positives 620 --members 1000 --false-positives 400 --non-members 1000 --delta 1e-5 \\
    --gaussian --claimed-epsilon 4 --adjacency add_remove
"""


def rates(
    true_positives: Annotated[
        int, options.count("--true-positives", "Number of members that the attack identified as members.")
    ],
    members: Annotated[int, options.count("--members", "Number of runs with the target record.")],
    false_positives: Annotated[
        int, options.count("--false-positives", "Number of non-members that the attack identified as members.")
    ],
    non_members: Annotated[int, options.count("--non-members", "Number of runs without the target record.")],
    delta: options.Delta = 0.0,
    confidence: options.Confidence = 0.95,
    gaussian: options.Gaussian = False,
    claimed_epsilon: options.ClaimedEpsilon = None,
    adjacency: options.ClaimedAdjacency = None,
    json: AsJson = False,
) -> None:
    """Bound epsilon from the rates of an attack."""
    with reported_errors():
        from dperm.audit.rates import from_rates, gaussian_from_rates
        from dperm.cli.audit.findings_output import report_bound
        from dperm.cli.audit.options import claimed

        options.require_delta(gaussian, delta)
        claim = claimed(claimed_epsilon, delta, adjacency)
        bounded = gaussian_from_rates if gaussian else from_rates
        bound = bounded(true_positives, members, false_positives, non_members, delta=delta, confidence=confidence)
        found, alarms = (f"{100 * a / b:.3g} %" for a, b in ((true_positives, members), (false_positives, non_members)))
        baseline = f"true-positive rate {found}; by guessing it equals the false-positive rate, {alarms}"
        report_bound(bound, claim, subject="an attack, by its rates", baseline=baseline, as_json=json)
