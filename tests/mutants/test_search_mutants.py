# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the private search over settings (T93), each with the test that must kill it."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

PLAN, SEARCH = "tests/pipeline/test_search.py", "tests/sklearn/test_search.py"
SOURCE = "pipeline/search.py"
LAW = f"{PLAN}::test_the_winner_has_the_law_of_the_best_of_independent_trials[False]"
EVENT = f"{PLAN}::test_the_event_of_a_search_meets_its_goal_and_nearly_spends_it[add_remove]"
QUIET = f"{PLAN}::test_no_warning_and_no_attribute_tells_the_number_of_trials"

MUTANTS = [
    Mutant(
        "the number of trials is kept",
        SOURCE,
        "        for _ in range(draw_runs(runs, stream)):\n",
        '        self.__dict__["count"] = draw_runs(runs, stream)\n        for _ in range(self.__dict__["count"]):\n',
        QUIET,
    ),
    Mutant(
        "the warnings of the trials show their number",
        SOURCE,
        'with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # a count',
        'with np.errstate(all="ignore"):  # a count',
        QUIET,
    ),
    Mutant(
        "later trials repeat the best setting so far",
        SOURCE,
        "            place = integer_below(len(self.settings), stream)\n",
        "            place = integer_below(len(self.settings), stream) if best.outcome.model is None else "
        "best.outcome.place\n",
        LAW,
    ),
    Mutant(
        "ties go to the first setting",
        SOURCE,
        "            if integer_below(self._ties, self._stream) == 0:",
        "            if other.place < self.outcome.place:",
        LAW,
    ),
    Mutant(
        "a failed trial is not counted, and its error leaves the search",
        SOURCE,
        "        return None, (0.0, 0.0)",
        "        raise",
        f"{PLAN}::test_only_failed_trials_release_no_model",
    ),
    Mutant(
        "the trainings cost as much as one",
        SOURCE,
        "    return BestOf(largest[0] if len(largest) == 1 else ParallelParts(largest), runs)",
        "    return largest[0] if len(largest) == 1 else ParallelParts(largest)",
        EVENT,
    ),
    Mutant(
        "the mean number of trials is dropped from the scores",
        SOURCE,
        "scored = self.score.event if self.runs is None else BestOf(self.score.event, self.runs)",
        "scored = self.score.event",
        EVENT,
    ),
    Mutant(
        "only the first of two trainings is charged",
        SOURCE,
        "        return reduce(add, events)",
        "        return events[0]",
        EVENT,
    ),
    Mutant(
        "a replaced record counts as an added one in the scores",
        "sensitivity/selection.py",
        "count if adjacency is Adjacency.ADD_REMOVE else 2 * count",
        "count",
        f"{PLAN}::test_sensitivity_of_the_scores_is_attained_by_the_worst_records_and_by_no_others",
    ),
    Mutant(
        "scores of two models have the sensitivity of one",
        "sensitivity/selection.py",
        "return raised(math.sqrt(count if",
        "return raised(math.sqrt(1 if",
        f"{PLAN}::test_sensitivity_of_the_scores_is_attained_by_the_worst_records_and_by_no_others",
    ),
    Mutant(
        "the sizes of the parts are exact under add/remove",
        SOURCE,
        "if self.goal.adjacency is Adjacency.ADD_REMOVE:",
        "if False:",
        f"{PLAN}::test_a_split_of_a_public_number_of_records_has_public_sizes",
    ),
    Mutant(
        "an invalid validation record fails the trial",
        "sklearn/search_trials.py",
        "            valid = np.isfinite(dense).all(axis=1)\n",
        "            valid = np.ones(len(rows), dtype=bool)\n",
        f"{SEARCH}::test_an_invalid_record_fails_no_trial[replace_one]",
    ),
    Mutant(
        "the model keeps the record of its trial",
        "sklearn/search.py",
        "        model._set_fitted(replace(fitted, release=release), _kept_columns(model))\n",
        "",
        f"{SEARCH}::test_the_model_the_setting_and_the_score_are_one_release_with_one_entry[add_remove-settings0]",
    ),
]
QUICK = {
    "the number of trials is kept",
    "later trials repeat the best setting so far",
    "the trainings cost as much as one",
}
"""Mutants that run in every test."""
PARAMETERS = [
    pytest.param(mutant, id=mutant.name, marks=[] if mutant.name in QUICK else [pytest.mark.slow]) for mutant in MUTANTS
]


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", PARAMETERS)
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
