"""The clients' side of a chaos run: requests to either web process, tried again until they are answered, and all that
the answers said.

An answer that says that the server failed, or none at all, is only allowed while an outage is declared. What a task was
said to be is compared with what it was said to be before.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from tasks_app.domain.errors import NotFound
from tasks_app.mcp.errors import INTERNAL_ERROR, INVALID_PARAMS
from tests.asgi_client import JSON_HEADERS, modern_headers, modern_message

PATIENCE_SECONDS = 60.0
AGAIN_SECONDS = 0.05
ANSWER_SECONDS = 20.0
# How long after an outage an answer may still tell of it: connections are found broken one by one.
GRACE_SECONDS = 10.0
SERVER_ERROR = 500
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
ENDED = ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that the server failed: when it was sent and given up, and what was said."""

    begun: float
    ended: float
    text: str


@dataclass
class Witness:
    """What all clients together have seen."""

    failures: list[Failure] = field(default_factory=list)
    outages: list[tuple[float, float]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    answered: int = 0
    _last: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Declare that requests may fail while the block runs, and for a moment after it."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.outages.append((begun, time.monotonic() + GRACE_SECONDS))

    def undeclared(self) -> Iterator[str]:
        """J5: every request that failed outside of a declared outage."""
        for each in self.failures:
            if not any(begun <= each.ended and each.begun <= ended for begun, ended in self.outages):
                yield f"J5: outside of an outage {each.text}"

    def see(self, task: dict[str, Any], *, begun: float) -> None:
        """J2 and J4: what has ended stays as it ended, and the time of the last change never goes back."""
        task_id = task["taskId"]
        with self._lock:
            seen_at, before = self._last.get(task_id, (0.0, task))
            # Of two looks that overlap either may be the older one: they prove nothing.
            if begun < seen_at:
                return
            self._last[task_id] = time.monotonic(), task
        if before["lastUpdatedAt"] > task["lastUpdatedAt"]:
            self.wrong.append(f"J4: {task_id} changed at {before['lastUpdatedAt']}, later at {task['lastUpdatedAt']}")
        if before["status"] in ENDED and _ending(before) != _ending(task):
            self.wrong.append(f"J2: {task_id} ended as {_ending(before)}, and later as {_ending(task)}")


def _ending(task: dict[str, Any]) -> dict[str, Any]:
    return {name: task.get(name) for name in ("status", "result", "error")}


class Remote:
    """One owner's client of all web processes, one connection a request: nothing ties two requests together."""

    def __init__(self, origins: Sequence[str], token: str, witness: Witness) -> None:
        self._netlocs = [urlsplit(origin).netloc for origin in origins]
        self._headers = {name: value for name, value in JSON_HEADERS.items() if name != "host"}
        self._headers["authorization"] = f"Bearer {token}"
        self._witness = witness
        self._turn = count()

    def create(self, tool: str, arguments: dict[str, Any], *, key: str) -> str:
        """The id of the task under this key, made now or before."""
        made = self._ask("tools/call", {"name": tool, "arguments": arguments}, {"idempotency-key": key})
        return str(made["taskId"])

    def get(self, task_id: str) -> dict[str, Any]:
        """How a task stands. Raises NotFound."""
        begun = time.monotonic()
        task = self._ask("tasks/get", {"taskId": task_id})
        self._witness.see(task, begun=begun)
        return task

    def answer(self, task_id: str, responses: dict[str, Any]) -> None:
        """Answer questions by their keys. Raises NotFound."""
        self._ask("tasks/update", {"taskId": task_id, "inputResponses": responses})

    def cancel(self, task_id: str) -> None:
        """Cancel a task. Raises NotFound."""
        self._ask("tasks/cancel", {"taskId": task_id})

    def _ask(self, method: str, params: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
        """The result of a request that is sent until somebody answers it; each time to the next web process."""
        message = modern_message(method, params, tasks=True, capabilities=FORMS)
        sent = json.dumps(message).encode(), self._headers | modern_headers(message) | (headers or {})
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            begun = time.monotonic()
            said, failed = _exchange(self._netlocs[next(self._turn) % len(self._netlocs)], *sent)
            if not failed:
                self._witness.answered += 1
                return _result(method, said)
            self._witness.failures.append(Failure(begun, time.monotonic(), f"{method} was answered with {failed}"))
            if time.monotonic() > deadline:
                raise TimeoutError(f"{method} was never answered, at last: {failed}")
            time.sleep(AGAIN_SECONDS)


def _exchange(netloc: str, body: bytes, headers: dict[str, str]) -> tuple[dict[str, Any], str]:
    """What was said, and in words how the server failed, if it did."""
    connection = HTTPConnection(netloc, timeout=ANSWER_SECONDS)
    try:
        connection.request("POST", "/mcp", body, headers)
        response = connection.getresponse()
        text = response.read()
        said: dict[str, Any] = json.loads(text)
    except (OSError, HTTPException, ValueError) as error:
        return {}, f"{error!r}"
    finally:
        connection.close()
    if response.status >= SERVER_ERROR or said.get("error", {}).get("code") == INTERNAL_ERROR:
        return {}, f"{response.status} {text.decode(errors='replace')[:300]}"
    return said, ""


def _result(method: str, said: dict[str, Any]) -> dict[str, Any]:
    if said.get("error", {}).get("code") == INVALID_PARAMS and method.startswith("tasks/"):
        raise NotFound
    if "result" not in said:
        raise AssertionError(f"{method} was answered with {said}")
    found: dict[str, Any] = said["result"]
    return found


def answers(origin: str) -> bool:
    """Whether somebody listens at this address and speaks HTTP."""
    connection = HTTPConnection(urlsplit(origin).netloc, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/mcp")
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True
