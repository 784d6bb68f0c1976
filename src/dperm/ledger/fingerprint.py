# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Keyed fingerprints of files: with the ledger they tell whether it is the same file, without it they say nothing."""

import hmac
from typing import final


@final
class Fingerprint:
    """The HMAC-SHA256 of content that comes piece by piece, such as while it is read."""

    def __init__(self, key: str) -> None:
        self._code = hmac.new(bytes.fromhex(key), digestmod="sha256")

    def update(self, block: bytes) -> None:
        """Take in the next piece."""
        self._code.update(block)

    @property
    def text(self) -> str:
        """The fingerprint of all pieces so far, as the books keep it."""
        return f"hmac-sha256:{self._code.hexdigest()}"
