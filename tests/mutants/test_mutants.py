# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the accountant and of the encoder, each run against the tests that must kill it.

A mutant is the package with one line changed the way such lines have gone wrong elsewhere: a factor 2
dropped, a direction forgotten, a count ignored, the tail instead of T2, the misprint E1, an error term left out. If a
mutant survives, the suite has lost a test; if its line is not found, the list has to follow the source.
"""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

ACCOUNT = "tests/accounting/test_account.py"
TABLE = f"{ACCOUNT}::test_the_table_of_events_and_adjacencies"
BEST = "tests/accounting/test_best_of.py"
PAIRS = "tests/accounting/test_dominating_pairs.py"
CONTOUR = "tests/accounting/test_contour_errors.py::test_a_coarse_line_is_off_and_knows_it"
SIDES = "tests/accounting/test_lattice_sides.py::test_a_lattice_law_lies_above_and_one_below_at_every_real_epsilon"
STAGES = "tests/accounting/test_stages.py"
UNDERFLOW = "tests/accounting/test_underflow.py"
NORM = "tests/data/test_encoder.py::test_rows_attain_the_norm_and_never_exceed_it"


MUTANTS = [
    Mutant(
        "a replacement moves the statistic once, not twice (T6)",
        "accounting/events.py",
        "return 2.0 if direction is Direction.REPLACE else 1.0",
        "return 1.0",
        TABLE,
    ),
    Mutant(
        "the same factor 2 inside a sample without replacement (T24)",
        "accounting/sampled.py",
        "GaussianLoss(2 / self.event.noise_multiplier)",
        "GaussianLoss(1 / self.event.noise_multiplier)",
        f"{PAIRS}::test_the_splice_dominates_every_pair_of_data_sets_without_replacement",
    ),
    Mutant(
        "only removals are composed (T22)",
        "privacy/adjacency.py",
        "return (Direction.REMOVE, Direction.ADD)",
        "return (Direction.REMOVE,)",
        f"{ACCOUNT}::test_adding_a_record_can_be_the_worse_direction",
    ),
    Mutant(
        "a repetition counts once (T15)",
        "accounting/event.py",
        "yield single, times * self.count",
        "yield single, times",
        f"{ACCOUNT}::test_at_delta_zero_epsilon_is_the_sum_of_the_largest_losses",
    ),
    Mutant(
        "one kind of law is composed once, whatever its count (the bug of another library)",
        "accounting/composition.py",
        "    def closed(self, law: LossLaw, count: int) -> None:\n        self._counts[law] += count",
        "    def closed(self, law: LossLaw, count: int) -> None:\n        self._counts[law] += 1",
        f"{ACCOUNT}::test_at_delta_zero_epsilon_is_the_sum_of_the_largest_losses",
    ),
    Mutant(
        "P(L > eps) instead of T2, in a closed form (E11)",
        "accounting/laws/atomic.py",
        "w * -math.expm1(epsilon - a) for a, w in above",
        "w for a, w in above",
        TABLE,
    ),
    Mutant(
        "P(L > eps) instead of T2, on the contour (E11)",
        "accounting/contour/line.py",
        "kernel = line.values - np.log(s * (s + 1))",
        "kernel = line.values - np.log(s)",
        CONTOUR,
    ),
    Mutant(
        "e^{eps+1} for e^eps + 1 in advanced composition (E1)",
        "accounting/theorems/composition.py",
        "drift = count * epsilon * math.tanh(epsilon / 2)",
        "drift = count * epsilon * math.expm1(epsilon) / math.exp(epsilon + 1)",
        "tests/accounting/test_theorems_composition.py::test_the_misprint_is_unsafe",
    ),
    Mutant(
        "the mass at infinity is forgotten (T14)",
        "accounting/composition.py",
        "return total * (1 - 1e-14), min(total * (1 + 1e-14), 1.0)",
        "return 0.0, 0.0",
        f"{ACCOUNT}::test_epsilon_is_infinite_only_below_the_events_own_deltas",
    ),
    Mutant(
        "the splice loses its atom (T24)",
        "accounting/laws/mixture.py",
        "out.append((0.0, (1 - self.rate) * self.base.delta(0.0)))",
        "pass",
        f"{PAIRS}::test_the_splice_at_rate_one_is_the_event_itself_and_needs_its_atom_below",
    ),
    Mutant(
        "T4 doubles epsilon and leaves delta as it is",
        "accounting/events.py",
        "self.delta * (1 + math.exp(self.epsilon)) * (1 + 1e-15)",
        "self.delta",
        TABLE,
    ),
    Mutant(
        "aliases of the contour are not subtracted",
        "accounting/contour/plans.py",
        "return d - alias - rest + low,",
        "return d - rest + low,",
        CONTOUR,
    ),
    Mutant(
        "truncation and quadrature of the contour are not added",
        "accounting/contour/line.py",
        "return left + right, truncation + line",
        "return left + right, 0.0",
        CONTOUR,
    ),
    Mutant(
        "the mass cut from the contour is not added",
        "accounting/contour/plans.py",
        "d + rest + high + self.near.bound(epsilon) + self.lost",
        "d + rest + self.near.bound(epsilon) + self.lost",
        CONTOUR,
    ),
    Mutant(
        "the lattice's upper law rounds its masses down (T28)",
        "accounting/lattice/upper.py",
        "        out[:-1] += p - up\n        out[1:] += up\n",
        "        out[:-1] += p\n",
        SIDES,
    ),
    Mutant(
        "a delta below the smallest double is reported as 0 (T22, T24)",
        "accounting/closed.py",
        "return exp_bracket(low - SINGLE, high + SINGLE)",
        "return math.exp(low) * (1 - SINGLE), min(math.exp(high) * (1 + SINGLE), 1.0)",
        f"{UNDERFLOW}::test_a_single_step_at_the_edge_of_doubles_is_not_rounded_down",
    ),
    Mutant(
        "masses that were rounded up from nothing count in a lower end (T13)",
        "accounting/closed.py",
        "atoms.delta(epsilon * (1 + 1e-12)) * (1 - BINOMIAL) - RAISED, 0.0",
        "atoms.delta(epsilon * (1 + 1e-12)) * (1 - BINOMIAL), 0.0",
        f"{UNDERFLOW}::test_lower_ends_do_not_count_masses_that_were_rounded_up_from_nothing",
    ),
    Mutant(
        "a curve forgets the directions after the first (T22)",
        "accounting/curve.py",
        "return cls(tuple(DirectionCurve(one) for one in dict.fromkeys(directions)))",
        "return cls((DirectionCurve(directions[0]),))",
        "tests/accounting/test_work.py::test_a_curve_takes_the_larger_direction",
    ),
    Mutant(
        "the norm of a row forgets the indicator beside the scaled number",
        "data/columns.py",
        "return 2 if self.cut_points or (self.missing and self.impute is not None) else 1",
        "return 1",
        NORM,
    ),
    Mutant(
        "the norm of a row counts columns, not their squared norms",
        "data/encoder.py",
        "squared = sum(column.squared_norm for column in self.columns.values())",
        "squared = len(self.columns)",
        NORM,
    ),
    Mutant(
        "a record with several values moves one count only (T73)",
        "accounting/thresholded.py",
        "changed = 2 * self.values if direction is Direction.REPLACE else self.values",
        "changed = 2 if direction is Direction.REPLACE else 1",
        f"{STAGES}::test_discovered_values_have_the_numbers_of_t73",
    ),
    Mutant(
        "a replaced record leaves its old values unchanged (T73)",
        "accounting/thresholded.py",
        "changed = 2 * self.values if direction is Direction.REPLACE else self.values",
        "changed = self.values",
        f"{STAGES}::test_a_replaced_record_counts_its_failure_once",
    ),
    Mutant(
        "several fresh values fail as often as one (T73, E44)",
        "accounting/thresholded.py",
        "found = -math.expm1(values * math.log1p(-tail))",
        "found = tail",
        f"{STAGES}::test_the_probability_of_a_fresh_value_is_right_in_far_tails",
    ),
    Mutant(
        "a fresh value is compared as if nobody held it (T73)",
        "accounting/thresholded.py",
        "distance = (tau - 1) / ",
        "distance = tau / ",
        f"{STAGES}::test_discovered_values_match_the_enumerated_release",
    ),
    Mutant(
        "the tail on the wrong side of the threshold (T73)",
        "accounting/thresholded.py",
        "tail = float(ndtr(-distance)) * (1 + _TAIL)",
        "tail = float(ndtr(-distance - 1 / standard_deviation)) * (1 + _TAIL)",
        f"{STAGES}::test_discovered_values_match_the_enumerated_release",
    ),
    Mutant(
        "the failure is dropped from a composition (T73)",
        "accounting/laws/failure.py",
        "parts.closed(AtomicLoss((0.0,), (1.0,), self.infinity), count)",
        "pass",
        f"{STAGES}::test_discovered_values_have_the_numbers_of_t73",
    ),
    Mutant(
        "parts with fresh coins are composed as the part with the largest delta at 0 (T71)",
        "accounting/parallel.py",
        "    mirrored = tuple(dict.fromkeys(composition_of(event, REVERSED[direction]) for event in events))\n",
        "    return max(laws, key=lambda law: law.delta(0.0))\n",
        f"{STAGES}::test_parts_with_fresh_coins_cost_more_than_the_larger_composition",
    ),
    Mutant(
        "the profile of parts is their smallest (T71)",
        "accounting/account.py",
        "return _largest([part.delta_answer(epsilon) for part in self.parts])",
        "return min((part.delta_answer(epsilon) for part in self.parts), key=lambda answer: answer.upper)",
        f"{STAGES}::test_two_parts_cost_the_larger_part",
    ),
    Mutant(
        "a discretized law is built from bounds that are too low (T71)",
        "accounting/parallel.py",
        "max(curve.bracket(float(loss), WIDTH)[1] for curve in curves)",
        "0.99 * max(curve.bracket(float(loss), WIDTH)[0] for curve in curves)",
        f"{STAGES}::test_a_discretized_law_is_just_above_all_parts",
    ),
    Mutant(
        "a range costs as little as a pure half of it (T74a)",
        "accounting/laws/bounded_range.py",
        "return 2 * math.log(-math.expm1((epsilon - self.width) / 2)) - math.log(-math.expm1(-self.width))",
        "return math.log(max(-math.expm1(epsilon - self.width / 2), 1e-300)) - math.log1p(math.exp(-self.width / 2))",
        f"{STAGES}::test_the_profile_of_a_range_is_the_supremum_over_pairs",
    ),
    Mutant(
        "a range is not doubled under replace-one (T4, T74a)",
        "accounting/bounded_range.py",
        "return self.epsilon * (1 if adjacency is self.adjacency else 2)",
        "return self.epsilon",
        f"{STAGES}::test_a_range_doubles_under_replace_one_and_is_refused_the_other_way",
    ),
    Mutant(
        "the mean number of runs is dropped (T80)",
        "accounting/runs.py",
        "np.asarray(math.log(self.mean) - (self.eta + 1) * self._stretched(rank))",
        "np.asarray(-(self.eta + 1) * self._stretched(rank))",
        f"{BEST}::test_the_opposite_direction_is_needed",
    ),
    Mutant(
        "eta instead of eta + 1 in the exact epsilon of pure runs (T81)",
        "accounting/runs.py",
        "raised(epsilon + (self.eta + 1) * growth, _PURE_UNITS)",
        "raised(epsilon + self.eta * growth, _PURE_UNITS)",
        f"{BEST}::test_pure_runs_have_the_exact_epsilon",
    ),
    Mutant(
        "eta instead of eta + 1 in the density of the best run (T80)",
        "accounting/runs.py",
        "math.log(self.mean) - (self.eta + 1) * self",
        "math.log(self.mean) - self.eta * self",
        f"{BEST}::test_a_law_of_runs_agrees_with_its_probabilities",
    ),
    Mutant(
        "ranks are compared by the power of the same direction (T80, T150)",
        "accounting/selection_bound.py",
        "        sizes = np.concatenate([[0.0], np.cumsum(p) * (1 - ROUNDING), [1.0]])\n"
        "        powers = np.concatenate([[never], (never + np.cumsum(q)) * (1 + ROUNDING), [1.0]])\n",
        "        sizes = np.concatenate([[0.0], np.cumsum(q[::-1]), [1.0]])\n"
        "        powers = np.concatenate([[law.infinity], law.infinity + np.cumsum(p[::-1]), [1.0]])\n",
        f"{BEST}::test_the_opposite_direction_is_needed",
    ),
    Mutant(
        "the formula for positive epsilons is used below 0, without P(K = 0) (T82)",
        "accounting/best_of.py",
        "other = self.delta_bound(-epsilon, REVERSED[direction])",
        "return float(self.bound(direction).deltas(np.array([epsilon]))[0])",
        f"{BEST}::test_no_run_at_all_counts_below_zero",
    ),
    Mutant(
        "a composition mirrors the same direction (T82)",
        "accounting/best_of.py",
        "both = [selection.bound(one) for one in (direction, REVERSED[direction])]",
        "both = [selection.bound(direction), selection.bound(direction)]",
        f"{BEST}::test_the_pair_of_a_composition_covers_both_directions",
    ),
    Mutant(
        "an infinite loss counts once, not once for each run (T80)",
        "accounting/selection_bound.py",
        "self.law.infinity * self.runs.mean",
        "self.law.infinity",
        f"{BEST}::test_an_infinite_loss_counts_once_for_every_run",
    ),
    Mutant(
        "the Renyi curve omits the case without runs (T83)",
        "accounting/best_of.py",
        "if self.runs.no_run_probability > 0:",
        "if self.runs.no_run_probability > 1:",
        f"{BEST}::test_the_renyi_curve_counts_the_case_without_runs",
    ),
]


def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
