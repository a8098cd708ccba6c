"""`manage.py engine`: the engine loop in the foreground, until SIGTERM or Ctrl-C. Any number of copies is safe."""

from __future__ import annotations

import logging
import signal
from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.engine.loop import Loop, leave

STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT}
# A duty that waits for a database that does not answer is not worth waiting for: it is safe to cut off anywhere.
STOP_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Dispatches, reaps, expires, purges and folds; whatever apps have registered too."""

    help = "Run the engine loop until it is told to stop."

    def handle(self, *_: Any, **__: Any) -> None:
        """Run every duty on its schedule; return once a stop signal has come."""
        # Waited for instead of handled: a handler may run while the thread it interrupts holds the lock that it needs.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        loop = Loop()
        loop.start()
        logger.info("the engine loop runs")
        received = signal.sigwait(STOP_SIGNALS)
        if not loop.stop(seconds=STOP_SECONDS):
            logger.warning("a duty did not end within %.0f s and is cut off", STOP_SECONDS)
        else:
            leave()
        logger.info("the engine loop has stopped: %s", signal.Signals(received).name)
