# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""An outlook in plain words."""

from typing import TYPE_CHECKING

from dperm.planner.signal import REMOVED
from dperm.presentation.facts import Fact
from dperm.privacy import ApproxDP
from dperm.report.numbers import rounded_up

if TYPE_CHECKING:
    from dperm.planner.expectation import Expected
    from dperm.planner.outlook import MethodOutlook, Outlook
    from dperm.planner.shape import Shape
    from dperm.planner.sizes import Goal

ONE_SIDED = (
    "A proved bound is one-sided: the excess risk is at most that much, and is usually far smaller. It is about the "
    "problem without clipping, at the regularisation or number of steps that makes the bound least, and not about the "
    "defaults that the expected accuracy is of."
)
MADE_UP = "Expected accuracies are of made-up tables: no data were read, and the noise of the trials is not private."


def outlook_facts(found: "Outlook") -> tuple[Fact, ...]:
    """Return the results as facts, then their assumptions."""
    tried = [row for row in found.rows if row.expected is not None]
    said = [_tried(found, tried[0])] if tried else []
    said += _ranked(tried) if len(tried) > 1 else []
    said += [_easy(found.shape)] if tried else []
    said += [Fact("outlook.proved", "{sentence}", {"sentence": _proved(found)}), Fact("outlook.one-sided", ONE_SIDED)]
    return tuple([*said, Fact("outlook.made-up-tables", MADE_UP)] if tried else said)


def guarantee_in_words(goal: "Goal") -> str:
    """As in: epsilon 1, delta 1e-06 under replace_one."""
    delta = f", delta {goal.delta:g}" if isinstance(goal, ApproxDP) and goal.delta > 0 else " (pure)"
    return f"epsilon {goal.epsilon:g}{delta} under {goal.adjacency.value}"


def columns_in_words(shape: "Shape") -> str:
    """As in: 1 column, 2,000 columns."""
    return f"{shape.dim:,} column{'s' if shape.dim > 1 else ''}"


def _asked(shape: "Shape", goal: "Goal") -> str:
    return f"With {shape.n:,} rows, {columns_in_words(shape)} and {guarantee_in_words(goal)}"


def _tried(found: "Outlook", row: "MethodOutlook") -> Fact:
    expected = row.expected
    assert expected is not None
    values = {
        "request": _asked(found.shape, found.goal),
        "accuracy": expected.mean,
        "method": row.method,
        "used": f" ({row.used} perturbation)" if row.used != row.method else "",
        "comparison": _against(expected),
        "smaller": _smaller(found.shape, expected),
    }
    return Fact(
        "outlook.expected-accuracy",
        '{request}, expect an accuracy of about {accuracy:.3f} with {@method:"{method}"}{used}: {comparison}.{smaller}',
        values,
    )


def _against(expected: "Expected") -> str:
    plain, lost = f"{expected.without_privacy:.3f} of a model without privacy", shown_loss(expected)
    below = f"{lost:.3f} below the {plain}" if lost > 0 else f"no less than the {plain}"
    if expected.mean <= expected.majority + 0.005:
        return f"{below}, and no better than guessing the larger class ({expected.majority:.3f})"
    return f"{below}; guessing the larger class has {expected.majority:.3f}"


def _smaller(shape: "Shape", expected: "Expected") -> str:
    if expected.simulated_at == shape.n:
        return ""
    low = " That is few for so many columns: the expectation is too low, by up to 0.04." if expected.rough else ""
    return f" Tried on {expected.simulated_at:,} rows, with an epsilon that makes the noise as large beside them.{low}"


def shown_loss(expected: "Expected") -> float:
    """What privacy costs, as the difference of the two accuracies that are printed with three digits."""
    return round(round(expected.without_privacy, 3) - round(expected.mean, 3), 3)


def _ranked(rows: "list[MethodOutlook]") -> list[Fact]:
    """Methods by what privacy costs them: they may have been tried on tables of different sizes."""
    tried = {row.method: row.expected for row in rows if row.expected is not None}
    named = sorted((name for name in tried if name != "auto"), key=lambda name: tried[name].loss)
    costs = ", ".join(f"{name} {shown_loss(tried[name]):.3f}" for name in named)
    first, last = (tried[name] for name in (named[0], named[-1]))
    alike = " These trials do not tell them apart." if _least(last) <= _most(first) else ""
    values = {"costs": costs, "alike": alike}
    said = [Fact("outlook.cost-by-method", "What privacy costs in accuracy, by method: {costs}.{alike}", values)]
    chosen = tried.get("auto")
    if chosen is not None and _least(chosen) > _most(first):
        better = chosen.loss - first.loss
        said.append(
            Fact(
                "outlook.better-method",
                '{@method:"{method}"} is expected to be better by about {better:.2g} here than what "auto" takes: an '
                "expectation of trials on made-up tables, not a proof.",
                {"method": named[0], "better": better},
            )
        )
    return said


def _least(expected: "Expected") -> float:
    return expected.without_privacy - expected.high


def _most(expected: "Expected") -> float:
    return expected.without_privacy - expected.low


def _easy(shape: "Shape") -> Fact:
    if shape.baseline is not None:
        template = "The classes are made as easy as the declared baseline of {baseline:g} says."
        return Fact("outlook.declared-baseline", template, {"baseline": shape.baseline})
    return Fact(
        "outlook.assumed-baseline",
        "Nothing was said about how easy the classes are: the best model is assumed to avoid {removed:.0%} of the "
        "errors of guessing the larger class. Give {@baseline} if the accuracy without privacy is known.",
        {"removed": REMOVED},
    )


def _proved(found: "Outlook") -> str:
    bounds = [row.proved for row in found.rows if row.proved is not None]
    if not bounds:
        return "There is no proved bound for these methods."
    best = min(bounds, key=lambda bound: bound.bound)
    relative = f"above the best coefficients of norm {found.reference_norm:g}"
    if best.says_nothing:
        return f"The proved bounds say nothing here: the least is {rounded_up(best.bound, 3)} {relative}."
    bound = rounded_up(best.bound, 3)
    return f"Proved for {best.method} perturbation: an expected excess risk of at most {bound} {relative}."
