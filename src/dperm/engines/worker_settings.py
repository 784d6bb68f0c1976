# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a worker's process for fast kernels: threads of BLAS, and memory that blocks of rows use again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from dperm.data.blas_threads import single_threaded_blas

LARGEST_KEPT = 2**24
"""Bytes of the largest allocation that the C library serves from memory that was freed before."""
KEPT = 2**26
"""Bytes of freed memory that a process keeps."""
_TRIM, _MMAP = -1, -3
"""Numbers of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in glibc's malloc.h."""


@contextmanager
def kernel_settings() -> Iterator[None]:
    """Run kernels with one thread of BLAS, since a worker runs one task for each of its own threads."""
    _keep_freed_memory()
    with single_threaded_blas():
        yield


@cache
def _keep_freed_memory() -> None:
    """Let the C library keep some freed memory, if the worker's environment tells it to return all of it.

    Dask's nanny sets MALLOC_TRIM_THRESHOLD_ to 65536. Then every temporary array of a kernel is mapped and cleared by
    the operating system again, which makes a pass up to three times slower.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        with suppress(OSError, AttributeError):  # another C library
            import ctypes

            library = ctypes.CDLL(None)
            library.mallopt(_MMAP, LARGEST_KEPT)
            library.mallopt(_TRIM, KEPT)
