"""The duty that sends: a part of the engine loop, in threads of its own, since an address may take its time.

Any number of loops is safe: a message belongs to whoever leased it. A loop that dies leaves its leases to run out.
"""

from __future__ import annotations

import logging
import threading

from django.db import connections

from console import store
from console.webhooks.message import body_of, headers_for
from console.webhooks.send import NotSent, post

EVERY_SECONDS = 1.0
FORGET_EVERY_SECONDS = 600.0
MOST_THREADS = 4

logger = logging.getLogger(__name__)


def deliver(leased: store.Lease) -> None:
    """Send one message, and put on record what became of it."""
    if not (leased.is_test or leased.is_needed):
        store.drop_delivery(leased)
        return
    if leased.attempt > store.MOST_ATTEMPTS:
        store.failed(leased, error="Every try was cut short.")
        return
    body = body_of(leased)
    try:
        post(leased.url, body, headers_for(leased, body))
    except NotSent as failure:
        store.failed(leased, error=str(failure))
    else:
        store.delivered(leased)


class Sender:
    """Up to a few threads, each of which sends for as long as something is due."""

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def run(self) -> int:
        """Look for new questions and see to it that what is due is being sent; never waits for an address."""
        found = store.find_new_questions()
        for leased in store.lease_deliveries(limit=MOST_THREADS - len(self._threads)):
            thread = threading.Thread(target=self._work, args=[leased], name="webhooks", daemon=True)
            with self._lock:
                self._threads.add(thread)
            thread.start()
        return found

    def _work(self, leased: store.Lease) -> None:
        try:
            deliver(leased)
            while more := store.lease_deliveries(limit=1):
                deliver(more[0])
        except Exception:  # the lease runs out, and the message is sent by whoever takes it then
            logger.exception("a webhook could not be served")
        finally:
            connections.close_all()
            with self._lock:
                self._threads.discard(threading.current_thread())


def forget() -> int:
    """Drop claims and messages that ended long ago."""
    return store.forget_claims() + store.forget_deliveries()


sender = Sender()
