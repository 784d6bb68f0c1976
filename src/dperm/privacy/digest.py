# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Digest of a released value, stored by budgets and compared with files."""

import hashlib

import numpy as np


def digest(value: object) -> str:
    """Return the SHA-256 digest of a released value.

    It covers type, shape and bytes of an array of numbers or text, and the repr of anything else.
    """
    sha = hashlib.sha256()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        sha.update(f"{value.dtype.str}{value.shape}".encode())
        sha.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
    else:
        sha.update(_representation(value).encode(errors="surrogatepass"))
    return f"sha256:{sha.hexdigest()}"


def _representation(value: object) -> str:
    """Return the repr, or the type name if the repr raises: the budget has been charged already."""
    try:
        return repr(value.tolist() if isinstance(value, np.ndarray) else value)
    except Exception:
        return f"{type(value).__module__}.{type(value).__qualname__}"
