"""Linear algebra on one thread, for matrices that are tall and thin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread; a decorator too.

    What is measured here are products of tall, thin matrices, by the hundred: several threads wait for each other for
    longer than they work, and they wait by spinning, which on a busy machine takes many times the processor's time.
    """
    import scipy.linalg  # noqa: F401 - it has a library of its own, which is limited only once it is there
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
