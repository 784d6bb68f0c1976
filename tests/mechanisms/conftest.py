# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What tests of releases share."""

import pytest


class NoBits:
    """A source that must not be asked: whoever draws from it has drawn too early."""

    is_private = True

    def stream(self):
        raise AssertionError("noise was drawn")


@pytest.fixture
def no_bits() -> NoBits:
    return NoBits()
