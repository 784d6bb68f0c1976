# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The limit on BLAS threads is shared by all fits of a process, and undone by the last one."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dperm.data.blas_threads import single_threaded_blas


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    limits = threadpool_limits(2, "blas")  # as a context, it would keep other threads from setting limits
    yield
    limits.restore_original_limits()


def test_the_limit_holds_until_the_last_of_several_fits_has_ended():
    inside, first_left, checked = threading.Barrier(2), threading.Event(), threading.Event()
    seen = []

    def short() -> None:
        with single_threaded_blas():
            inside.wait()
        first_left.set()

    def long() -> None:
        with single_threaded_blas():
            inside.wait()
            first_left.wait()
            seen.append(threads())
        checked.set()

    workers = [threading.Thread(target=work) for work in (short, long)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert checked.is_set()
    assert seen == [{1}]
    assert threads() == {2}


def test_an_error_undoes_the_limit():
    with pytest.raises(ZeroDivisionError), single_threaded_blas():
        assert threads() == {1}
        raise ZeroDivisionError
    assert threads() == {2}
