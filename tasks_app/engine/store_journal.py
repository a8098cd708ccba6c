"""The journal of a task on a worker: every write goes to the store and carries the attempt's number."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

from django.db import connection

from tasks_app import store
from tasks_app.domain.errors import (
    ConcurrentModification,
    ControlFlow,
    LeaseLost,
    Stop,
    StorageUnavailable,
    ToolError,
)
from tasks_app.domain.questions import QuestionKind
from tasks_app.engine.handle import HANDED_OVER, StoreHandle
from tasks_app.engine.journal import ONLY_A_TASK, Entry, EntryKind, Facts, Handle
from tasks_app.engine.watch import Watched
from tasks_app.store import codec

T = TypeVar("T")
ASK_EVERY_SECONDS = 1.0
AGAIN_SECONDS = 0.1

logger = logging.getLogger(__name__)

# An async tool calls from whatever thread is free, and each thread would open a connection of its own.
_writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")


class StoreJournal:
    """What the context of a durable tool talks to."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._claim = watched.claim
        self._thread = threading.get_ident()
        self._asked = time.monotonic()

    @cached_property
    def facts(self) -> Facts:
        """The call that runs."""
        return Facts(
            task_id=str(self._claim.task_id),
            owner=self._claim.owner,
            owner_id=self._claim.owner_id,
            attempt=self._claim.number,
            is_task=not self._claim.waiting,
            client_can=answerable(self._claim.client_capabilities),
        )

    def history(self) -> Sequence[Entry]:
        """What earlier attempts recorded; a first attempt has none, and asks for none."""
        if self._claim.number == 1:
            return ()
        found = self._do(lambda: store.history(self._claim))
        steps = [
            Entry(position=step.position, name=step.name, kind=EntryKind.STEP, value=step.value) for step in found.steps
        ]
        asked = [_asked(question) for question in found.questions if not question.name.startswith(HANDED_OVER)]
        return [*steps, *asked]

    def variables(self) -> Mapping[str, object]:
        """The variables as they were when the attempt began."""
        return codec.decode(self._claim.variables)  # type: ignore[no-any-return]

    def save_step(self, name: str, *, position: int, value: Any) -> None:
        """Remember a step."""
        self._do(lambda: store.save_step(self._claim, name=name, position=position, value=value))

    def save_progress(self, done: float, *, total: float | None, message: str | None) -> None:
        """Write how far the work is."""
        self._do(lambda: store.set_progress(self._claim, done=done, total=total, message=message))

    def save_message(self, text: str) -> None:
        """Write what the tool is doing."""
        self._do(lambda: store.set_message(self._claim, text))

    def save_log(self, text: str) -> None:
        """Append to the output."""
        self._do(lambda: store.write_output(self._claim, text if text.endswith("\n") else f"{text}\n"))

    def save_variables(self, changes: Mapping[str, object]) -> Mapping[str, object]:
        """Merge into the variables."""
        return self._do(lambda: store.set_variables(self._claim, changes))

    def stop_signal(self) -> ControlFlow | None:
        """What the watch has to say."""
        return self._watched.signal

    def check_cancelled(self) -> None:
        """Ask the row, at most once a second, whether the attempt may go on."""
        if isinstance(self._watched.signal, Stop):
            raise self._watched.signal
        now = time.monotonic()
        if now - self._asked < ASK_EVERY_SECONDS:
            return
        self._asked = now
        if not self._do(lambda: store.holds(self._claim)):
            raise Stop("the task was cancelled or taken over")

    def defer(self, *, until: timedelta) -> Handle:
        """Let the lease run until then, and make the handle; a caller who waits cannot be handed over."""
        if self._claim.waiting:
            raise ToolError(ONLY_A_TASK)
        if not self._do(lambda: store.lease_for(self._claim, until)):
            raise LeaseLost
        return StoreHandle(self._claim)

    def question_changed(self, name: str, *, was: str, now: str) -> None:
        """A text that depends on something that changes is worth a line in the log, no more."""
        logger.warning("tool %s asked %r as %r and now asks %r", self._claim.tool, name, was, now)

    def _do(self, call: Callable[[], T]) -> T:
        if threading.get_ident() == self._thread:
            return self._patiently(call)
        return _writer.submit(self._patiently, call).result()

    def _patiently(self, call: Callable[[], T]) -> T:
        """A short outage is waited for: it is no fault of the tool's, so it must not become the task's end.

        The watch says when it is too long: then the lease is over, and the attempt with it.
        """
        while True:
            try:
                return call()
            except (StorageUnavailable, ConcurrentModification) as passing:
                connection.close()
                if self._watched.signal is not None:
                    raise self._watched.signal from passing
                time.sleep(AGAIN_SECONDS)


def answerable(capabilities: Mapping[str, Any]) -> frozenset[QuestionKind]:
    """The kinds of question that a client with these capabilities can answer."""
    elicitation = capabilities.get("elicitation")
    kinds = {QuestionKind(kind) for kind in ("sampling", "roots") if isinstance(capabilities.get(kind), Mapping)}
    if isinstance(elicitation, Mapping):
        # A client that names no mode is one from before there were modes: it can do forms.
        modes = [kind for kind in (QuestionKind.FORM, QuestionKind.URL) if kind.value in elicitation]
        kinds.update(modes or [QuestionKind.FORM])
    return frozenset(kinds)


def _asked(question: store.QuestionView) -> Entry:
    answer = question.answer or {}
    return Entry(
        position=question.position,
        name=question.name,
        kind=EntryKind.QUESTION,
        value=answer.get("content"),
        state=question.state,
        action=question.action,
        message=question.request.get("message", ""),
    )
