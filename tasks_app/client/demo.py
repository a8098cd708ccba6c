"""What the demo client does: a first round with something of everything, then a little more every few minutes.

It never floods: a round begins only when what the last one started has ended, and a question that nobody has answered
is not asked again. Where the tokens come from, and when to stop, is the caller's business.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tasks_app.client.modern import Client
from tasks_app.client.session import Session
from tasks_app.client.transport import Refused, Unreachable

LOOK_SECONDS = 0.5
ROUND_SECONDS = 240.0
# By then whoever watches has answered the first question, and sees this one run out.
SECOND_QUESTION_SECONDS = 25.0
UNAUTHORIZED = 401
SHORT_TTL_MS = 90_000
ENDED = {"completed", "failed", "cancelled"}

Calls = tuple[tuple[str, dict[str, Any]], ...]

# What asks comes first: two workers are busy for a while with the rest.
ASKING: Calls = (("deploy_service", {"service": "web", "version": "4.2"}),)
FIRST: Calls = (
    ("send_report", {"recipient": "ana@example.org", "seconds": 3}),
    ("resize_images", {"images": 12, "seconds": 12}),
    ("sync_crm", {"contacts": 400, "seconds": 4}),
    ("hash_files", {"files": 24, "seconds": 10}),
    ("crawl_site", {"pages": 20, "seconds": 15}),
)
LATER: Calls = (
    ("hash_files", {"files": 40, "seconds": 20}),
    ("nightly_workflow", {"orders": 2000, "seconds": 12}),
    ("crawl_site", {"pages": 30, "seconds": 20}),
)

logger = logging.getLogger(__name__)


class Waits(Protocol):
    """Something that waits until a stop is wanted, such as an Event."""

    def wait(self, timeout: float) -> bool:
        """Wait so many seconds at most, and say whether to stop."""


@dataclass
class Demo:
    """The demo at one endpoint: the tokens of two accounts, and what was started so far."""

    url: str
    token: str
    other_token: str
    started: dict[str, str] = field(default_factory=dict)
    """The tool of each task that has not been seen to end."""
    is_asked: bool = False
    """Whether an earlier demo has left its question open."""
    is_over: bool = False
    """Whether its tokens were revoked: somebody has removed the demo."""

    @property
    def client(self) -> Client:
        """The client of the account that is asked."""
        return Client.at(self.url, self.token)

    def run(self, stop: Waits, *, is_begun: bool) -> None:
        """Play round after round until the stop; `is_begun` says that an earlier demo still has live tasks."""
        self.is_asked = is_begun
        if not is_begun:
            if not self._until_served(stop) or stop.wait(SECOND_QUESTION_SECONDS):
                return
            self._play(self.ask_shortly)
        while not stop.wait(ROUND_SECONDS):
            if not self.is_over:
                self._play(self.next_round)

    def _until_served(self, stop: Waits) -> bool:
        """Begin as soon as the server answers; false when the stop comes first."""
        while not self._play(self.client.list_tools):
            if stop.wait(LOOK_SECONDS):
                return False
        return self._play(self.first_round)

    def _play(self, begin: Callable[[], object]) -> bool:
        """A server that is not up (yet, or just now) is no reason to end."""
        try:
            begin()
        except Unreachable:
            return False
        except Refused as refused:
            self.is_over = refused.code == UNAUTHORIZED
            if not self.is_over:
                logger.warning("the demo was refused: %s", refused)
        return True

    def first_round(self) -> None:
        """Start one of everything: a question at once, an approval, and work to watch."""
        self._call(ASKING)
        Client.at(self.url, self.other_token).call_tool("provision_database", {"name": "orders"})
        self._call(FIRST)

    def next_round(self) -> None:
        """Start a little more, unless something of the last round still runs."""
        self._look()
        asking = [tool for tool in self.started.values() if tool == ASKING[0][0]]
        if len(self.started) > len(asking):
            return
        self._call(LATER if asking or self.is_asked else LATER + ASKING)

    def ask_shortly(self) -> None:
        """Ask something that expires soon when nobody answers; only this dialect lets the caller say so."""
        session = Session.begin(self.url, self.token)
        session.call_as_task("feedback_form", {"subject": "Taskdeck"}, ttl_ms=SHORT_TTL_MS)

    def _call(self, calls: Calls) -> None:
        for tool, arguments in calls:
            result = self.client.call_tool(tool, arguments)
            if result.get("resultType") == "task":
                self.started[result["taskId"]] = tool

    def _look(self) -> None:
        """Fetch what was started, as a client does, and forget what has ended."""
        for task_id in list(self.started):
            if _status(self.client, task_id) in ENDED:
                del self.started[task_id]


def _status(client: Client, task_id: str) -> str:
    try:
        task: Mapping[str, Any] = client.get_task(task_id)
    except Refused:
        # Expired or removed meanwhile: it will not come back.
        return "failed"
    return str(task.get("status"))
