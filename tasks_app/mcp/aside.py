"""Small functions of whoever runs the server, asked while a client waits: which call becomes a task, what to complete.

They run beside the event loop, for a few seconds at most and in threads of their own: one that hangs keeps no other
request waiting, and none of the threads in which tokens are checked, the database is read and tools run.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import connections

T = TypeVar("T")

THREADS = 8
SECONDS = 5.0

_threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="aside")


async def ask(function: Callable[[], T]) -> T:
    """What the function gives. Raises TimeoutError when it takes too long, or when no thread is free for so long."""
    async with asyncio.timeout(SECONDS):
        return await in_threads(_threads, function)


async def in_threads(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """Do work in one of these threads, with the context of the caller and a database connection of its own."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(threads, partial(context.run, _with_own_connection, work))


def _with_own_connection(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        connections.close_all()
