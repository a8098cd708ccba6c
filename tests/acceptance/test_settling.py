"""The end of an attempt against a busy database and a watch that is late; in this process, with the real parts."""

from __future__ import annotations

import logging
import os
import threading

import pytest
from django.db import connections

from tasks_app import store
from tasks_app.domain.outcome import Outcome
from tasks_app.engine import liveness
from tasks_app.engine.registry import tool_of
from tasks_app.engine.run import settle
from tasks_app.engine.watch import Watch, Watched
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, look
from tests.conftest import Person
from tests.tasks_app.store.life import DONE, claimed, locked_elsewhere
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_end_of_an_attempt_is_recorded_though_the_task_was_locked_for_longer_than_one_may_wait(
    alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    claim = claimed(alice)

    def end() -> None:
        settle(store.completion(claim, result=DONE), None)
        connections.close_all()

    with caplog.at_level(logging.WARNING), locked_elsewhere(claim.task_id):
        thread = threading.Thread(target=end)
        thread.start()
        until(lambda: "is not recorded yet" in caplog.text)
    thread.join(20)

    assert look(claim.task_id).outcome is Outcome.RESULT
    assert attempts(claim.task_id) == ["completed"]


def test_watch_that_comes_late_does_not_make_an_idle_process_look_busy(alice: Person) -> None:
    watch = Watch(index=liveness.CHILDREN - 1, leave=lambda: None)
    watched: Watched = watch.begin(claimed(alice), tool_of(tools.nothing))
    watch.end()

    watch._look_after(watched)

    assert os.getpid() not in liveness.silent(-1), "its parent would kill it after a lease of idleness"
    store.complete(watched.claim, result=DONE)
