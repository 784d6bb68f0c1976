# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit exact``: privacy loss of objective perturbation, without sampling (theorem A8)."""

from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.audit.options import LAMBDA_HELP
from dperm.cli.options import AsJson, number
from dperm.cli.running import progress_bar, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.audit.exact import ObjectiveMinimiser
    from dperm.methods.objective import ObjectivePlan

HELP = """Find the largest privacy loss of objective perturbation for logistic regression, without sampling (theorem
A8).

This privacy loss is attained by a pair of neighbouring data sets, so it is a lower bound on epsilon that holds with
certainty.
Rows have norm 1, and one record is replaced. --printed audits Algorithm 2 of Chaudhuri and Monteleoni (NIPS 2008) as
printed, which omits a determinant and is refuted (exit code 5). --jmlr audits Algorithm 2 of Chaudhuri, Monteleoni and
Sarwate (JMLR 2011), which is not refuted. --lambda is the regularization strength for the sum of the losses, which is n
times the strength for their mean.

\b
Examples:
  dperm audit exact --epsilon 1
  dperm audit exact --epsilon 0.5 --lambda 1 --json
  dperm audit exact --epsilon 0.1 --jmlr --lambda 0.1
"""
PUBLISHED = 0.1
"""Default lambda of the published algorithms; the determinant matters where lambda is small."""


def exact(
    epsilon: Annotated[float, number("--epsilon", "Claimed epsilon.", show_default="1")] = 1.0,
    strength: Annotated[
        float | None,
        number(
            "--lambda",
            LAMBDA_HELP,
            show_default="chosen by the plan; 0.1 for published algorithms",
        ),
    ] = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Audit Algorithm 2 of Chaudhuri and Monteleoni (2008) as printed.")
    ] = False,
    jmlr: Annotated[
        bool, typer.Option("--jmlr", help="Audit Algorithm 2 of Chaudhuri, Monteleoni and Sarwate (2011).")
    ] = False,
    json: AsJson = False,
) -> None:
    """Audit objective perturbation exactly; exits with code 5 on a violation."""
    with reported_errors():
        from dperm import checks
        from dperm.audit.exact import objective
        from dperm.cli.audit.findings_output import exit_on_violation, plain, print_findings
        from dperm.cli.output import print_json

        if printed and jmlr:
            raise ParameterError("give --printed or --jmlr, not both.")
        size = checks.positive("--epsilon", epsilon)
        strength = strength if strength is None else checks.positive("--lambda", strength)
        subject = _published(size, strength or PUBLISHED, jmlr) if printed or jmlr else _ours(size, strength)
        with progress_bar("Searching") as progress:
            finding = objective(subject, progress=progress)
        if json:
            print_json(plain(finding.as_dict()))
        else:
            print_findings([finding])
        exit_on_violation([finding])


def _published(epsilon: float, strength: float, jmlr: bool) -> "ObjectiveMinimiser":
    from dperm.audit.exact import jmlr_2011, nips08

    return jmlr_2011(epsilon, strength) if jmlr else nips08(epsilon, strength)


def _ours(epsilon: float, strength: float | None) -> "ObjectivePlan":
    from dperm.erm.losses import Logistic
    from dperm.erm.spec import ProblemSpec
    from dperm.methods import ObjectivePerturbation
    from dperm.privacy import PureDP

    spec = ProblemSpec(Logistic(), radius=1.0, dim=1, regularization=strength)
    return ObjectivePerturbation("gamma_norm").plan(spec, PureDP(epsilon, "replace_one"))
