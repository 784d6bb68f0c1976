# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of DP-SVRG, each against a check of tests/torch/test_svrg.py that must fail on it."""

from types import ModuleType

import pytest

pytest.importorskip("torch")

import svrg_checks as checks

BOTH = ("add_remove", "replace_one")


def both_queries_are_charged(svrg: ModuleType) -> None:
    checks.assert_both_queries_are_charged(checks.plan_of(module=svrg))


def draws_are_charged(svrg_training: ModuleType) -> None:
    for steps, snapshots in ((6, 3), (7, 3)):
        checks.assert_draws_are_those_of_the_event(
            checks.plan_of(steps=steps, snapshots=snapshots), module=svrg_training
        )


def one_record_is_covered(svrg_training: ModuleType) -> None:
    for adjacency in BOTH:
        checks.assert_one_record_is_covered(checks.plan_of(adjacency=adjacency), module=svrg_training)


CLIP = "dict(sum_weighted(weigh(both, {}, clip_norm=norm, clipping=Clipping.FLAT, double=True)))"
ALONE = CLIP.replace("both", "list(found.items())")
SEPARATE = (
    f"(lambda parts: {{value: sum(part[value] for part in parts) for value in parts[0]}})"
    f"([{ALONE} for found in (here, there)])"
)
MUTANTS = [
    (
        "the snapshots are not charged",
        both_queries_are_charged,
        "dperm.torch.svrg",
        "return self.noise.event + self.snapshot_noise.event",
        "return self.noise.event",
    ),
    (
        "one snapshot is charged, whatever their number",
        both_queries_are_charged,
        "dperm.torch.svrg",
        "Steps(1.0, math.ceil(steps / interval),",
        "Steps(1.0, 1,",
    ),
    (
        "snapshots are charged as samples",
        both_queries_are_charged,
        "dperm.torch.svrg",
        "Steps(1.0, math.ceil",
        "Steps(rate, math.ceil",
    ),
    (
        "a last snapshot that nobody needs is drawn uncharged (E28)",
        draws_are_charged,
        "dperm.torch.svrg_training",
        "if done % plan.interval == 0 and done < plan.steps:",
        "if done % plan.interval == 0:",
    ),
    (
        "both gradients are clipped, each on its own, with the sensitivity of one",
        one_record_is_covered,
        "dperm.torch.svrg_training",
        CLIP,
        SEPARATE,
    ),
    (
        "differences are not clipped",
        one_record_is_covered,
        "dperm.torch.svrg_training",
        CLIP,
        CLIP.replace("clip_norm=norm", "clip_norm=1e6"),
    ),
]


@pytest.mark.parametrize(("check", "module", "old", "new"), [m[1:] for m in MUTANTS], ids=[m[0] for m in MUTANTS])
def test_an_unsafe_mutant_is_killed(check, module, old, new, assert_killed):
    assert_killed(check, module, old, new)
