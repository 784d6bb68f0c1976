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

HELP = """Attack METHOD of dperm, as users get it, on the neighbours that are worst for it.

METHOD is output, objective, gradient, sgd, bolt_on, sufficient or posterior. The black box runs it many times and
guesses by the likelihood ratio, where that is known, and by the lowest bits; output and objective perturbation are
looked at exactly, too. The first three take seconds; the others are trained run by run, 200 times, and bounds are weak.

Bounds at 95 % are wrong once in 20 times: an alarm near the claim is worth a second audit with more --confidence.

\b
Examples:
  dperm audit method output --epsilon 1 --adjacency replace_one --seed 1
  dperm audit method gradient --epsilon 1 --delta 1e-5 --adjacency add_remove --runs 20000 --seed 1 --json
  dperm audit method objective --epsilon 1 --adjacency add_remove --loss huber_hinge --lambda 6 --seed 1
"""
LOSSES = "logistic|huber_hinge|smoothed_hinge|hinge|squared|huber|pinball"
NOISY = ("output", "objective", "bolt_on")
"""Methods with a choice of noise."""


def method(
    name: Annotated[str, typer.Argument(metavar="METHOD", show_default=False, help="Its name.")],
    epsilon: Annotated[float, number("--epsilon", "What it claims.", show_default="1")] = 1.0,
    delta: Annotated[float, number("--delta", "Of the claim; 0 is pure.", show_default="0")] = 0.0,
    adjacency: AdjacencyName = "",
    loss: Annotated[str, typer.Option("--loss", metavar=LOSSES, help="What is minimised.")] = "logistic",
    noise: Annotated[
        str | None,
        typer.Option("--noise", metavar="gaussian|gamma_norm|laplace", show_default="the method chooses", help="Law."),
    ] = None,
    dim: Annotated[int, typer.Option("--dim", metavar="D", help="Coefficients; 1 is the worst case.")] = 1,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Public number of records.")] = 1000,
    strength: Annotated[
        float | None, number("--lambda", "Regularisation, in sum scale.", show_default="the plan chooses")
    ] = None,
    runs: options.Runs = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = None,
    workers: options.Workers = 1,
    plot: options.Plot = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Audit a method."""
    with reported_errors():
        from dperm.cli.audit.attack import Attack
        from dperm.cli.audit.claims import guarantee
        from dperm.cli.audit.told import tell
        from dperm.cli.drawing import require_picture
        from dperm.erm.spec import ProblemSpec

        goal = guarantee(epsilon, delta, adjacency)
        require_picture("--plot", plot, force=force)
        spec = ProblemSpec(_loss(loss), 1.0, dim, n=n, regularization=strength)
        plan = _plan(spec, goal, _method(name, noise))
        with progress_bar("Attacking") as progress:
            findings = Attack(runs, confidence, seed, workers).findings(plan, progress)
        tell(findings, {"method": plan.method, "numbers": plan.describe()}, plot=plot, as_json=json)


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
    """The method of a name, with its noise."""
    from dperm.methods.choose import BY_NAME

    if name not in BY_NAME:
        raise ParameterError(f"METHOD must be one of {', '.join(BY_NAME)}, got {name!r}.")
    if noise is None:
        return name
    if name not in NOISY:
        raise ParameterError(f"--noise belongs to {', '.join(NOISY)}: {name} has one law. Leave it out.")
    made: Any = BY_NAME[name]
    return made(noise=noise)


def _plan(spec: Any, goal: Any, chosen: Any) -> "Plan":
    """As users get it; that little could be learnt from so few records does not matter here."""
    import warnings

    from dperm.methods.choose import choose

    with warnings.catch_warnings(action="ignore"):
        return choose(spec, goal, chosen)
