# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Which store a location names, and what is shown of it."""

import os

import pytest

from dperm.errors import ParameterError
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


TORN = [
    "host=db user=ann password={} dbname=census",
    "password = '{} x' dbname=census",
    "'host=db password={}'",
    "service=census password={}",
    "PGPASSWORD={} census",
    "postgresql:/ann:{}@host/census",
    "postgresql:ann:{}@host/census",
    "postgres+psycopg:ann:{}@host/census",
    "ann:{}@host/census",
    "postgresql+psycopg://ann:{}@host/census",
    "jdbc:postgresql://host/census?password={}",
    "POSTGRESQL://ann:{}@host/census",
    " postgresql://ann:{}@host/census",
    "postgresql://ann:{}\0@host/census",
]


@pytest.mark.parametrize("given", [*TORN, ["postgresql://ann:{}@host/census"]], ids=repr)
def test_what_is_neither_a_path_nor_a_url_is_refused_and_not_repeated(given):
    location = [text.format("hunter2") for text in given] if isinstance(given, list) else given.format("hunter2")
    with pytest.raises(ParameterError, match="location must be a path or a URL") as raised:
        Ledger(location)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("path", ["/data/user=ann/census", "./host=db", "/a:b@c", "useful.ledger", "postgres.ledger"])
def test_a_path_of_a_strange_name_is_a_path(path):
    assert Ledger(path).location == os.path.abspath(path)


SHOWN = {
    "postgresql://ann:x@host:5432/census": "postgresql://ann:***@host:5432/census",
    "postgresql://ann%40firm:x@[::1]:5432/census": "postgresql://ann%40firm:***@[::1]:5432/census",
    "postgresql://a:1,b:2/census?user=ann&password=x": "postgresql://a:1,b:2/census?user=ann&***",
    "postgresql://ann@/census?host=%2Frun%2Fpg": "postgresql://ann@/census?host=%2Frun%2Fpg",
    "postgresql://host/census?host=ann:x": "postgresql://***",
    "postgresql://ann:12345": "postgresql://***",
    "postgresql://": "postgresql://",
}


@pytest.mark.parametrize("url", SHOWN)
def test_only_user_host_port_and_database_are_shown(url):
    assert without_secret(url) == SHOWN[url]


def test_a_location_without_a_secret_is_shown_as_it_is():
    assert without_secret("postgresql://ann@host:5432/census") == "postgresql://ann@host:5432/census"
    assert without_secret("/data/a:b@c/census.ledger") == "/data/a:b@c/census.ledger"
