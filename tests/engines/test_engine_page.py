# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The engine of docs/engines.md keeps the contract where Ray is installed (T203)."""

import os
import sys
from typing import Any

import pytest
from doc_pages import DOCS, blocks
from engine_stand_ins import SECRET, Failing, InProcess, Moments, encode, groups, passes_over

from dperm.errors import DataError


def engine_of_the_page() -> Any:
    (block,) = [block for block in blocks(DOCS / "engines.md") if block.kind == "python"]
    names: dict[str, Any] = {}
    exec(block.text, names)
    return names["RayEngine"]()


@pytest.mark.filterwarnings("ignore")
def test_the_engine_of_the_page_returns_the_sums_of_one_process():
    ray = pytest.importorskip("ray")
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    try:
        table = groups([4, 5, 0, 6])
        held = engine_of_the_page().hold(encode, table)
        passes = passes_over(held, table)
        expected = passes_over(InProcess().hold(encode, table), table).run(Moments())
        found = passes.run(Moments())
        assert {name: values.tolist() for name, values in found.items()} == {
            name: values.tolist() for name, values in expected.items()
        }
        with pytest.raises(DataError, match="row group 'group 1' cannot be processed") as caught:
            passes.run(Failing())
        assert str(SECRET) not in f"{caught.value} {vars(caught.value)}"
        held.close()
    finally:
        ray.shutdown()
