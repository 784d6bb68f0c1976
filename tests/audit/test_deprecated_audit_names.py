# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old public names of audits still work, with a DeprecationWarning."""

import importlib

import pytest

OLD = {
    ("dperm.audit.black_box", "Drawn"): "BatchSubject",
    ("dperm.audit.black_box", "Fixed"): "FixedThreshold",
    ("dperm.audit.black_box", "Sample"): "RunSample",
    ("dperm.audit.black_box", "Selected"): "SelectedThreshold",
    ("dperm.audit.bugs", "Computed"): "ExactBug",
    ("dperm.audit.bugs", "Simulated"): "SimulatedBug",
    ("dperm.audit.exact", "Perturbed"): "ObjectiveMinimiser",
    ("dperm.audit.membership", "Trials"): "TrialDependence",
}
RULES = ("Tally", "RATES", "GAUSSIAN_RATES", "PURE_GUESSES", "APPROXIMATE_GUESSES", "GAUSSIAN_GUESSES")


@pytest.mark.parametrize(("place", "old"), OLD, ids=[old for _, old in OLD])
def test_an_old_name_warns_and_works(place, old):
    module = importlib.import_module(place)
    with pytest.warns(DeprecationWarning, match=OLD[place, old]):
        assert getattr(module, old) is getattr(module, OLD[place, old])


def test_the_old_module_of_decision_rules_warns_and_works():
    rules, thresholds = (importlib.import_module(f"dperm.audit.{name}") for name in ("rules", "thresholds"))
    for name in RULES:
        with pytest.warns(DeprecationWarning, match="thresholds"):
            assert getattr(rules, name) is getattr(thresholds, name)
    with pytest.raises(AttributeError):
        rules.anything_else  # noqa: B018
