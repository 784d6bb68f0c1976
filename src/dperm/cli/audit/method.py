# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit method``: attack a method of dperm on worst-case neighbours."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dperm.cli.audit import options
from dperm.cli.options import AdjacencyName, AsJson, number
from dperm.cli.running import progress_bar, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.methods.plan import Plan

HELP = """Attack a method of dperm on worst-case neighbouring data sets.

METHOD is output, objective, gradient, sgd, bolt_on, sufficient or posterior. The black-box audit runs the method many
times. It guesses which of two neighbouring data sets each run used: from the likelihood ratio, if it is known, and from
the low-order bits of the output. Output and objective perturbation are also audited exactly. Audits of output,
objective and gradient take seconds. Audits of the other methods train a model in every run, by default in 200 runs, and
their bounds are weak.

At 95 percent confidence, a bound is wrong with probability at most 5 percent. If a bound only just exceeds the claim,
repeat the audit with a higher --confidence.

\b
Examples:
  dperm audit method output --epsilon 1 --adjacency replace_one --seed 1
  dperm audit method gradient --epsilon 1 --delta 1e-5 --adjacency add_remove --runs 20000 --seed 1 --json
  dperm audit method objective --epsilon 1 --adjacency add_remove --loss huber_hinge --lambda 6 --seed 1
"""
LOSSES = "logistic|huber_hinge|smoothed_hinge|hinge|squared|huber|pinball"
NOISY = ("output", "objective", "bolt_on")
"""Methods with a choice of the noise distribution."""


def method(
    name: Annotated[str, typer.Argument(metavar="METHOD", show_default=False, help="Name of the method.")],
    epsilon: Annotated[float, number("--epsilon", "Claimed epsilon.", show_default="1")] = 1.0,
    delta: Annotated[float, number("--delta", "Claimed delta; 0 for pure DP.", show_default="0")] = 0.0,
    adjacency: AdjacencyName = "",
    loss: Annotated[str, typer.Option("--loss", metavar=LOSSES, help="Loss function.")] = "logistic",
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="gaussian|gamma_norm|laplace",
            show_default="chosen by the method",
            help="Noise distribution.",
        ),
    ] = None,
    dim: Annotated[int, typer.Option("--dim", metavar="D", help="Number of coefficients; 1 is the worst case.")] = 1,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Public number of records.")] = 1000,
    strength: Annotated[
        float | None, number("--lambda", options.LAMBDA_HELP, show_default="chosen by the plan")
    ] = None,
    runs: options.Runs = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = None,
    workers: options.Workers = 1,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Audit a method of dperm; exits with code 5 on a violation."""
    with reported_errors():
        from dperm.cli.audit.attack import Attack
        from dperm.cli.audit.findings_output import report_findings
        from dperm.cli.audit.options import guarantee
        from dperm.cli.output_files import require_picture
        from dperm.erm.spec import ProblemSpec

        goal = guarantee(epsilon, delta, adjacency)
        require_picture("--plot", plot, force=force)
        spec = ProblemSpec(_loss(loss), 1.0, dim, n=n, regularization=strength)
        plan = _plan(spec, goal, _method(name, noise))
        with progress_bar("Attacking") as progress:
            findings = Attack(runs, confidence, seed, workers).findings(plan, progress)
        report_findings(findings, {"method": plan.method, "numbers": plan.describe()}, plot=plot, as_json=json)


def _loss(name: str) -> Any:
    from dperm.erm import losses, residual_losses

    known = {
        "logistic": losses.Logistic,
        "huber_hinge": losses.HuberHinge,
        "smoothed_hinge": losses.SmoothedHinge,
        "hinge": losses.Hinge,
        "squared": residual_losses.Squared,
        "huber": residual_losses.Huber,
        "pinball": residual_losses.Pinball,
    }
    if name not in known:
        raise ParameterError(f"--loss must be one of {', '.join(known)}, got {name!r}.")
    return known[name]()


def _method(name: str, noise: str | None) -> Any:
    """Return the method, with its noise distribution if one is given."""
    from dperm.methods.choose import BY_NAME

    if name not in BY_NAME:
        raise ParameterError(f"METHOD must be one of {', '.join(BY_NAME)}, got {name!r}.")
    if noise is None:
        return name
    if name not in NOISY:
        raise ParameterError(f"--noise belongs to {', '.join(NOISY)}: {name} has one noise distribution. Leave it out.")
    made: Any = BY_NAME[name]
    return made(noise=noise)


def _plan(spec: Any, goal: Any, chosen: Any) -> "Plan":
    """Return the plan without its warnings: the utility of the model does not matter here."""
    import warnings

    from dperm.methods.choose import choose

    with warnings.catch_warnings(action="ignore"):
        return choose(spec, goal, chosen)
