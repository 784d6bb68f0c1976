# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The same columns as tables of different libraries; tests of a library that is not installed are skipped."""

import numpy as np
import pytest


def pandas_frame(data):
    return pytest.importorskip("pandas").DataFrame(data)


def polars_frame(data):
    return pytest.importorskip("polars").DataFrame(data)


def arrow_table(data):
    return pytest.importorskip("pyarrow").table(data)


def arrow_batch(data):
    return pytest.importorskip("pyarrow").RecordBatch.from_pydict(data)


def arrays(data):
    return {name: np.array(values) for name, values in data.items()}


KINDS = [dict, arrays, pandas_frame, polars_frame, arrow_table, arrow_batch]
