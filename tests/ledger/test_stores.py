# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which store a location names, and what is shown of it."""

import pytest

from dperm.ledger import Ledger
from dperm.ledger.stores import without_secret

URLS = [
    "postgresql://ann:{}@host:5432/census",
    "postgres://ann:{}@host/census?sslmode=require",
    "postgresql://host/census?user=ann&password={}",
    "postgresql://host/census?PASSWORD={}&user=ann",
]


@pytest.mark.parametrize("secret", ["hunter2", "a@b", "a/b", "a:b", "%40x", "p?q"])
@pytest.mark.parametrize("url", URLS)
def test_no_part_of_a_password_is_shown(url, secret):
    if "word=" in url.lower() and "@" in secret:
        secret = secret.replace("@", "%40")
    location = url.format(secret)
    shown = [without_secret(location), repr(Ledger(location)), str(Ledger(location, "a", "b"))]
    assert all(secret not in text and "***" in text for text in shown)
    assert Ledger(location).location == location


def test_a_location_without_a_secret_is_shown_as_it_is():
    assert without_secret("postgresql://ann@host:5432/census") == "postgresql://ann@host:5432/census"
    assert without_secret("/data/a:b@c/census.ledger") == "/data/a:b@c/census.ledger"
