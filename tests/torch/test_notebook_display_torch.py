# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""PyTorch plans, classifiers and releases in notebooks."""

from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from torch import nn

from dperm.errors import NotPrivateWarning
from dperm.torch import DPSGD, DPSVRG, PrivateTorchClassifier

CARD = '<div role="group" aria-label="Privacy"'
X = np.linspace(-2, 2, 300)[:, None]
Y = (X[:, 0] > 0).astype(int)
GOAL = {"epsilon": 2.0, "delta": 1e-5, "adjacency": "add_remove"}


def classifier(**arguments):
    return PrivateTorchClassifier(nn.Linear, epsilon=2.0, delta=1e-5, classes=(0, 1), epochs=2, **arguments)


@pytest.mark.parametrize("groups", [None, 3])
def test_a_plan_shows_its_lines_its_unit_and_every_public_number(groups):
    plan = DPSGD(clip_norm=1.0, batch_size=50, epochs=2, records_per_group=groups).plan(n=500, **GOAL)
    root = ElementTree.fromstring(plan._repr_html_())
    assert [f"- {item.text}" for item in root.iter("li")] == str(plan).splitlines()[1:]
    assert len(root.findall("details/table/tr")) == len(plan.describe())
    assert f"one {'group' if groups else 'record'} added or removed" in "".join(root.itertext())


def test_a_plan_of_svrg_is_shown_too():
    plan = DPSVRG(clip_norm=1.0, snapshot_clip_norm=1.0, batch_size=50, epochs=2).plan(n=500, **GOAL)
    root = ElementTree.fromstring(plan._repr_html_())
    assert [f"- {item.text}" for item in root.iter("li")] == str(plan).splitlines()[1:]


def test_a_classifier_shows_its_guarantee_alone_and_in_a_pipeline():
    assert "NOT FITTED" in classifier()._repr_html_()
    fitted = classifier().fit(X, Y)
    html = fitted._repr_html_()
    assert html.count(CARD) == 1 and "(epsilon, delta)-DP: epsilon = 2, delta = 1e-5" in html and "dp-sgd" in html
    assert "PRIVATE: epsilon = 2, delta = 1e-5" in estimator_html_repr(make_pipeline(fitted))
    ElementTree.fromstring(fitted.release_._repr_html_())


def test_a_seeded_classifier_is_shown_as_not_private():
    with pytest.warns(NotPrivateWarning):
        fitted = classifier(random_state=1).fit(X, Y)
    assert ">NOT PRIVATE</span>" in fitted._repr_html_() and "epsilon = 2" not in fitted._repr_html_()
    assert fitted._sk_visual_block_().name_caption == "NOT PRIVATE"
