# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The records of `dperm.reproduce.categories.Categories`, one by one."""

import numpy as np

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes


def rows(data):
    """Unit rows and labels; records without a category are rows of 0 at the end."""
    codes = np.repeat(np.tile(np.arange(data.dim), 2), np.concatenate([data.ones, data.zeros]).astype(int))
    X = np.vstack([np.eye(data.dim)[codes], np.zeros((int(data.n) - len(codes), data.dim))])
    return X, np.where(np.arange(len(X)) < data.ones.sum(), 1, -1)


def bounded(data):
    """The same as bounded data."""
    X, y = rows(data)
    return enforce(X, y, FeatureSpace(data.dim, norm=1.0, intercept=False), Classes((-1, 1)))
