# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Running ``dperm`` inside the test's process."""

import json
import shlex

import pytest
from typer.testing import CliRunner


@pytest.fixture
def dperm():
    """A function that runs one command line and returns the result (exit_code, stdout, stderr)."""
    from dperm.cli.app import app

    def run(line, *more):
        return CliRunner().invoke(app, [*shlex.split(line), *more])

    return run


@pytest.fixture
def answered(dperm):
    """A function that runs one command line with --json and returns the object; Infinity and NaN are refused."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    def run(line, *more):
        result = dperm(line, *more, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout, parse_constant=refuse)

    return run


@pytest.fixture
def refused(dperm):
    """A function that runs one command line, asserts a clean refusal, and returns what stderr says."""

    def run(line, *more):
        result = dperm(line, *more)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr
        assert "Traceback" not in result.stderr
        assert isinstance(result.exception, SystemExit)
        return result.stderr

    return run
