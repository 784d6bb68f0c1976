# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A search over settings of a PyTorch model: the released module carries the guarantee of the search (T93)."""

import numpy as np
from torch import nn

from dperm import ApproxDP
from dperm.sklearn import PrivateSearch
from dperm.torch import PrivateTorchClassifier

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 2))
Y = (X[:, 0] > 0).astype(int)


def test_the_best_module_has_the_guarantee_of_the_search():
    model = PrivateTorchClassifier(nn.Linear, classes=(0, 1), epochs=2, batch_size=30)
    search = PrivateSearch(model, {"clip_norm": [0.5, 1.0]}, epsilon=4.0, delta=1e-4).fit(X, Y)
    best, goal = search.best_estimator_, ApproxDP(4.0, 1e-4, "replace_one")
    assert search.guarantee_ == best.guarantee_ == best.record_.guarantee == goal
    assert best.release_.event == search.plan_.event
    assert (best.epsilon, best.clip_norm) == (4.0, search.best_params_["clip_norm"])
    trainings = search.plan_.trial_events
    assert search.plan_.event.events[0] == trainings[0] + trainings[1]
    assert best.plan_.event in trainings
    assert "covers the search" in best.statement_["tuning"]["known"]
    assert (search.predict(X) == best.predict(X)).all()
