# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the private preparation and of models of raw tables, each with the test that must kill it.

Mutants of the accountant's events for stages (T71, T73) are in test_mutants.py, and those of plans from an event (T70)
in test_method_mutants.py.
"""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

SCHEMA = "tests/preparation/test_private_schema.py"
RELEASES = "tests/preparation/test_private_releases.py"
GOLDEN = f"{SCHEMA}::test_golden_plan"
SPENT = f"{SCHEMA}::test_a_preparation_spends_its_goal"
MOVED = f"{SCHEMA}::test_a_record_moves_the_profile_by_its_sensitivity_at_most"
BINS_SHOWN = f"{RELEASES}::test_empty_and_occupied_bins_are_shown_by_one_law"
FIXED_EVENT = f"{SCHEMA}::test_the_event_depends_on_no_released_value"
PLAN, TRAINING, VALUES = "preparation/plan.py", "pipeline/plan.py", "preparation/values.py"

MUTANTS = [
    Mutant(
        "the sensitivity of one column for all of them (T72)",
        "sensitivity/preparation.py",
        "return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))",
        "return raised(math.sqrt(1 if adjacency is Adjacency.ADD_REMOVE else 2))",
        MOVED,
    ),
    Mutant(
        "a replaced record changes one count of a column (T72)",
        "sensitivity/preparation.py",
        "else 2 * count))",
        "else count))",
        MOVED,
    ),
    Mutant(
        "the noise of one column for all of them (T72)",
        PLAN,
        "histogram_sensitivity(self.width, self.adjacency)",
        "histogram_sensitivity(1, self.adjacency)",
        GOLDEN,
    ),
    Mutant(
        "the target is no column (T72, T90)",
        PLAN,
        "return len(self.columns) + (self.target is not None)",
        "return max(len(self.columns), 1)",
        GOLDEN,
    ),
    Mutant(
        "several fresh values count once in the threshold (T73, E44)",
        PLAN,
        "return discovery_threshold(self.threshold_delta, self.value_noise.scale, self.width)",
        "return discovery_threshold(self.threshold_delta, self.value_noise.scale, 1)",
        GOLDEN,
    ),
    Mutant(
        "several fresh values count once in the event (T73)",
        PLAN,
        "ThresholdedValues(self.value_noise.scale, self.value_threshold, self.width)",
        "ThresholdedValues(self.value_noise.scale, self.value_threshold, 1)",
        SPENT,
    ),
    Mutant(
        "the profile is not charged (T72)",
        PLAN,
        "counts = self.profile_noise.event + values",
        "counts = values",
        SPENT,
    ),
    Mutant(
        "both releases spend the whole mu (T90)",
        PLAN,
        "goal = GDP(lowered(self.mu * math.sqrt(share)), self.adjacency)",
        "goal = GDP(self.mu, self.adjacency)",
        GOLDEN,
    ),
    Mutant(
        "the threshold ignores that the noise is rounded (T73)",
        PLAN,
        "math.nextafter(self.value_threshold + self.value_noise.calibration.grid.step, math.inf)",
        "self.value_threshold",
        f"{RELEASES}::test_the_tail_of_the_rounded_noise_meets_the_threshold",
    ),
    Mutant(
        "empty bins are not drawn (T72)",
        "preparation/profile.py",
        "noisy = mechanism.noisy(counts, stream).reshape(-1, BINS)",
        "noisy = np.where(counts > 0, mechanism.noisy(counts, stream), 0.0).reshape(-1, BINS)",
        BINS_SHOWN,
    ),
    Mutant(
        "occupied bins below the threshold are shown (T72)",
        "preparation/profile.py",
        "return [_cut(row, threshold) for row in noisy]",
        "return [_cut(np.where(own > 0, np.maximum(row, threshold + 1e-9), row), threshold) "
        "for row, own in zip(noisy, counts.reshape(-1, BINS))]",
        BINS_SHOWN,
    ),
    Mutant(
        "values of one record are shown (T73)",
        VALUES,
        "for place in np.flatnonzero(noisy > threshold).tolist()]",
        "for place in np.flatnonzero(noisy > 1).tolist()]",
        f"{RELEASES}::test_several_fresh_values_are_shown_as_often_as_t73_says",
    ),
    Mutant(
        "values are shown in the order of the records",
        VALUES,
        "for count, text in sorted(above, reverse=True)",
        "for count, text in above",
        f"{RELEASES}::test_the_order_of_the_records_does_not_show",
    ),
    Mutant(
        "more classes than the event covers (T70)",
        "preparation/schema.py",
        "kept = list(values.counts)[:most]",
        "kept = list(values.counts)",
        f"{RELEASES}::test_no_more_classes_than_the_event_covers",
    ),
    Mutant(
        "the training event is chosen by the discovered problem (T70)",
        "sklearn/table_fit.py",
        "training = plan.method.plan_from_event(spec, plan.training_event, plan.training_goal)",
        "training = plan.method.plan(spec, plan.training_goal)",
        FIXED_EVENT,
    ),
    Mutant(
        "training spends the whole goal beside the preparation (T70)",
        TRAINING,
        "return account(before + event_of(epsilon), goal.adjacency)",
        "return account(event_of(epsilon), goal.adjacency)",
        GOLDEN,
    ),
    Mutant(
        "the preparation is not in the event of the whole (T70)",
        TRAINING,
        "else self.preparation.event + self.training_event",
        "else self.training_event",
        GOLDEN,
    ),
    Mutant(
        "durations are read by the type of the column (T72, E48)",
        "data/canonical.py",
        'self._of_cells((_python_times(cells) if kind in "mM" else cells).tolist())',
        "self._of_cells(cells.tolist())",
        f"{SCHEMA}::test_times_of_numpy_are_read_alike_in_an_array_and_alone",
    ),
    Mutant(
        "truth values of a file are read by the type of the column (T72, E48)",
        "data/canonical.py",
        "    if folded in TRUTH:\n        return TRUTH[folded]\n",
        "",
        f"{SCHEMA}::test_one_record_of_a_file_changes_no_other_one",
    ),
    Mutant(
        "whole numbers keep the .0 of a column of doubles (T72, E48)",
        "data/canonical.py",
        "return str(int(number)) if number.is_integer() and abs(number) <= _EXACT else repr(number)",
        "return repr(number)",
        f"{RELEASES}::test_canonical_numbers_have_one_text",
    ),
]


SLOW = {
    "a replaced record changes one count of a column (T72)",
    "the target is no column (T72, T90)",
    "the profile is not charged (T72)",
    "both releases spend the whole mu (T90)",
    "values are shown in the order of the records",
    "the preparation is not in the event of the whole (T70)",
    "truth values of a file are read by the type of the column (T72, E48)",
    "whole numbers keep the .0 of a column of doubles (T72, E48)",
}
"""Mutants like a quicker one of the list."""
PARAMETERS = [
    pytest.param(mutant, id=mutant.name, marks=[pytest.mark.slow] if mutant.name in SLOW else []) for mutant in MUTANTS
]


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


def test_every_slow_mutant_is_in_the_list():
    assert {mutant.name for mutant in MUTANTS} > SLOW


@pytest.mark.parametrize("mutant", PARAMETERS)
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
