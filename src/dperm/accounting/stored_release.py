# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases restored from stored records."""

from typing import TypeVar

from dperm.accounting.account import account
from dperm.accounting.serialize import event_from_json
from dperm.privacy.record import Record, Release

Value = TypeVar("Value")


def release_from_record(record: Record, value: Value) -> Release[Value]:
    """Return the release described by a stored record, with its privacy profile computed again from the event.

    Parameters
    ----------
    record
        Record of the release, for example from `Record.from_json`.
    value
        Released value; records do not contain it.

    Raises
    ------
    EventFormatError
        If the record does not contain a valid event.
    AdjacencyError
        If no theorem covers the event under the adjacency of the guarantee.
    """
    event = event_from_json(record.to_json())
    return Release(value, record.guarantee, account(event, record.adjacency), event, record)
