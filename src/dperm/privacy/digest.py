# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The digest of what is released: what a budget keeps of it, and what a file is compared with."""

import hashlib

import numpy as np


def digest(value: object) -> str:
    """SHA-256 of what is released: of an array's type, shape and bytes, of anything else's repr."""
    sha = hashlib.sha256()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        sha.update(f"{value.dtype.str}{value.shape}".encode())
        sha.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
    else:
        sha.update(_in_words(value).encode(errors="surrogatepass"))
    return f"sha256:{sha.hexdigest()}"


def _in_words(value: object) -> str:
    """The repr; a candidate that has none must not burn the budget."""
    try:
        return repr(value.tolist() if isinstance(value, np.ndarray) else value)
    except Exception:
        return f"{type(value).__module__}.{type(value).__qualname__}"
