"""The store as a dictionary: what every verb must do, in the plainest words, with the domain's rules and no database.

Times are whole milliseconds on a clock that only the test moves. A verb refuses with the domain's own errors. Where the
store may choose (which due task to claim), the model gives the choices and is told which was taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.errors import (
    DuplicateQuestion,
    InvalidAnswer,
    KeyConflict,
    LeaseLost,
    NotAllowed,
    NotFound,
    QuotaExceeded,
)
from tasks_app.domain.outcome import AttemptEnd, Outcome
from tasks_app.domain.questions import AnswerAction, Audience, QuestionState
from tasks_app.domain.status import Status
from tasks_app.domain.variables import merge
from tests.properties.model_rows import Attempt, Given, Knobs, Question, Task

HOUR = 3_600_000


@dataclass
class Model:
    """All tasks, and the time."""

    knobs: Knobs
    now: int = 0
    tasks: dict[Any, Task] = field(default_factory=dict)

    def is_past(self, task: Task) -> bool:
        """Past its time and not held: gone for every reader and writer, swept or not."""
        return task.expires <= self.now and not task.held

    def find(self, task_id: Any, owner: int | None = None) -> Task:
        """A task that can be seen. Raises NotFound."""
        task = self.tasks.get(task_id)
        if task is None or self.is_past(task) or (owner is not None and task.owner != owner):
            raise NotFound
        return task

    def fence(self, task_id: Any, number: int) -> Task:
        """The task that this token holds. Raises LeaseLost."""
        task = self.tasks.get(task_id)
        if task is None or task.active != number or self.is_past(task):
            raise LeaseLost
        return task

    def swept_for_room(self, owner: int, swept: Iterable[Any], key: str | None) -> None:
        """A create may expire what is past its time and stands in its way: live tasks, or the one with its key."""
        for task_id in swept:
            task = self.tasks[task_id]
            assert task.owner == owner
            assert self.is_past(task)
            assert task.is_live or (key is not None and task.key == key)
            self._expire(task)

    def before_create(self, owner: int, key: str | None, digest: object) -> Any:
        """The task that already has this key, or None. Raises KeyConflict, or QuotaExceeded."""
        for task_id, task in self.tasks.items():
            if key is not None and task.owner == owner and task.key == key:
                if task.digest != digest:
                    raise KeyConflict
                return task_id
        if sum(task.owner == owner and task.is_live for task in self.tasks.values()) >= self.knobs.live_tasks:
            raise QuotaExceeded(self.knobs.live_tasks)
        return None

    def create(self, task_id: Any, *, owner: int, tool: str, key: str | None = None, digest: object = None,
               ttl: int | None = None, approval: bool = False, waiting: bool = False) -> None:  # fmt: skip
        """A new task: due, or waiting for an operator."""
        expires = self.now + (self.knobs.default_ttl if ttl is None else ttl)
        if approval and ttl is None and not waiting:
            expires = max(expires, self.now + self.knobs.question_ttl + HOUR)
        task = Task(owner, tool, self.now, expires, key=key, digest=digest, ttl_fixed=ttl is not None, waiting=waiting)
        self.tasks[task_id] = task
        if not approval:
            task.wake = self.now
            return
        task.status = Status.INPUT_REQUIRED
        deadline = min(expires, self.now + self.knobs.question_ttl)
        task.questions["approval"] = Question(deadline, audience=Audience.OPERATOR)

    def claimable(self, caps: Mapping[str, int], *, settling: Any = None) -> set[Any]:
        """What a claim may take now: due, within the caps, of the least busy owner, the longest due."""
        running = [task for id_, task in self.tasks.items() if task.running() and id_ != settling]
        tools = [task.tool for task in running]
        owners = [task.owner for task in running]
        due = {
            id_: (owners.count(task.owner), task.wake)
            for id_, task in self.tasks.items()
            if task.wake is not None and task.wake <= self.now and not self.is_past(task)
            and tools.count(task.tool) < caps.get(task.tool, 1000)
        }  # fmt: skip
        return {id_ for id_, rank in due.items() if rank == min(due.values())}

    def claim(self, task_id: Any) -> int:
        """Start an attempt and give its number."""
        task = self.tasks[task_id]
        task.attempts.append(Attempt(self.now + self.knobs.lease))
        task.active, task.wake = len(task.attempts), None
        task.done = task.total = None
        return task.active

    def heartbeat(self, task_id: Any, number: int) -> str:
        """Renew the lease of an open attempt, whatever became of its task."""
        task = self.tasks.get(task_id)
        if task is None or task.attempts[number - 1].end is not None:
            return "lost"
        attempt = task.attempts[number - 1]
        attempt.lease = max(attempt.lease, self.now + self.knobs.lease)
        attempt.heard = attempt.told
        return "stop" if attempt.told else "held"

    def lease_for(self, task_id: Any, number: int, time: int) -> bool:
        """Hand the attempt over for so long."""
        task = self.tasks.get(task_id)
        if task is None or task.active != number or self.is_past(task):
            return False
        task.attempts[-1].lease = self.now + time
        return True

    def step(self, task_id: Any, number: int, name: str, value: Any) -> None:
        """The first value of a name stays."""
        self.fence(task_id, number).steps.setdefault(name, (number, value))

    def output(self, task_id: Any, number: int, text: str) -> None:
        """Append."""
        self.fence(task_id, number).output.append(text)

    def progress(self, task_id: Any, number: int, done: float, total: float | None, message: str | None) -> None:
        """Never back while the total stays the same."""
        task = self.fence(task_id, number)
        same = task.total == total and task.done is not None
        task.done = max(task.done or 0.0, done) if same else done
        task.total = total
        task.message = task.message if message is None else message

    def variables(self, task_id: Any, number: int, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Merge; null deletes."""
        task = self.fence(task_id, number)
        task.variables = merge(task.variables, changes, self.knobs.limits)
        return task.variables

    def finish(self, task_id: Any, number: int, outcome: Outcome, result: Any = None) -> None:
        """The attempt ends with the task's outcome."""
        task = self.fence(task_id, number)
        task.attempts[-1].end = AttemptEnd.COMPLETED if outcome is Outcome.RESULT else AttemptEnd.FAILED
        self._end(task, outcome, result)

    def put_back(self, task_id: Any, number: int, *, delay: int, end: AttemptEnd) -> None:
        """The attempt ends and the task is due again; only a release is not counted."""
        task = self.fence(task_id, number)
        task.attempts[-1].end = end
        task.active, task.wake = None, self.now + delay
        task.retries += end is not AttemptEnd.RELEASED

    def suspend(self, task_id: Any, number: int, asked: Mapping[str, tuple[int, AnswerAction | None]]) -> None:
        """The attempt ends with these questions: name to seconds it stays open, in milliseconds, and default."""
        task = self.fence(task_id, number)
        if task.questions.keys() & asked.keys():
            raise DuplicateQuestion
        if not (task.ttl_fixed or task.waiting):
            task.expires = max(task.expires, self.now + max(stay for stay, _ in asked.values()) + HOUR)
        for name, (stay, default) in asked.items():
            deadline = self.now + stay if task.held else min(task.expires, self.now + stay)
            task.questions[name] = Question(deadline, default)
        task.attempts[-1].end = AttemptEnd.SUSPENDED
        task.active = None
        task.move(Status.INPUT_REQUIRED)

    def answer(self, task_id: Any, answers: Mapping[str, Given], *, owner: int | None, operator: bool,
               wire: bool) -> set[str]:  # fmt: skip
        """The first valid answer to each open question, and which were recorded. An approval is never on the wire."""
        task = self.find(task_id, owner)
        opened = {
            name: asked
            for name, asked in task.open_questions().items()
            if name in answers and not (wire and asked.audience is Audience.OPERATOR)
        }
        for name, asked in opened.items():
            if asked.audience is Audience.OPERATOR and not operator:
                raise NotAllowed("")
            if answers[name].action is AnswerAction.ACCEPT and not answers[name].fits:
                raise InvalidAnswer({})
        taken = {name for name, asked in opened.items() if asked.deadline > self.now}
        for name in taken:
            task.questions[name].state, task.questions[name].action = QuestionState.ANSWERED, answers[name].action
        if taken:
            self._closed(task, taken)
        return taken

    def lapse(self) -> int:
        """Every question past its deadline takes its default or expires; a task past its own time is left to expiry."""
        count = 0
        for task in self.tasks.values():
            due = {name: q for name, q in task.open_questions().items() if q.deadline <= self.now}
            if not due or self.is_past(task):
                continue
            for asked in due.values():
                asked.state = QuestionState.ANSWERED if asked.default else QuestionState.EXPIRED
                asked.action = asked.default
            self._closed(task, set(due))
            count += len(due)
        return count

    def _closed(self, task: Task, names: set[str]) -> None:
        refused = any(task.questions[name].action is not AnswerAction.ACCEPT for name in names)
        if "approval" in names and refused:
            self._end(task, Outcome.TOOL_ERROR)
        elif not task.open_questions():
            task.move(Status.WORKING)
            task.wake = self.now

    def reap(self) -> int:
        """Every lease that ran out is a loss, the last one too many; a task past its own time is left to expiry."""
        count = 0
        for task in self.tasks.values():
            attempt = task.running()
            if attempt is None or attempt.lease >= self.now or (task.is_live and self.is_past(task)):
                continue
            attempt.end = AttemptEnd.LOST
            count += 1
            if task.active is None:
                continue
            task.losses += 1
            if task.losses >= self.knobs.max_losses:
                self._end(task, Outcome.RPC_ERROR)
            else:
                task.active, task.wake = None, self.now
        return count

    def cancel(self, task_id: Any, *, owner: int | None) -> bool:
        """End it now; whether that happened."""
        task = self.find(task_id, owner)
        if not task.is_live:
            return False
        self._end(task, Outcome.CANCELLED)
        return True

    def stop(self, task_id: Any, number: int, how: AttemptEnd) -> bool:
        """Close an attempt that was told to stop."""
        task = self.tasks.get(task_id)
        attempt = task.attempts[number - 1] if task else None
        if attempt is None or attempt.end is not None or not attempt.told:
            return False
        attempt.end, attempt.heard = how, True
        return True

    def extend(self, task_id: Any, more: int, *, owner: int | None) -> None:
        """Keep it longer, up to the longest."""
        task = self.find(task_id, owner)
        if task.expires >= task.created + self.knobs.max_keep:
            raise NotAllowed("")
        task.expires = min(task.created + self.knobs.max_keep, task.expires + more)

    def hold(self, task_id: Any, *, held: bool, owner: int | None) -> None:
        """Put a hold on it, or lift it."""
        self.find(task_id, owner).held = held

    def expire(self) -> int:
        """Everything past its time, live or not."""
        due = [task for task in self.tasks.values() if self.is_past(task) and task.expired is None]
        for task in due:
            self._expire(task)
        return len(due)

    def purge(self) -> int:
        """Everything whose retention is over and whose last attempt has ended."""
        doomed = [
            id_ for id_, task in self.tasks.items()
            if task.expired is not None and task.expired < self.now - self.knobs.purge_after and not task.running()
        ]  # fmt: skip
        for task_id in doomed:
            del self.tasks[task_id]
        return len(doomed)

    def counts(self) -> dict[str, int]:
        """How many tasks stand where."""
        counts: dict[str, int] = {}
        for task in self.tasks.values():
            standing = "tool_error" if task.outcome is Outcome.TOOL_ERROR else task.status.value
            standing = standing if task.expired is None else "expired"
            counts[standing] = counts.get(standing, 0) + 1
        return counts

    def _expire(self, task: Task) -> None:
        if task.is_live:
            expires = task.expires
            self._end(task, Outcome.EXPIRED)
            task.expires = expires
        task.expired, task.key = self.now, None

    def _end(self, task: Task, outcome: Outcome, result: Any = None) -> None:
        for asked in task.open_questions().values():
            asked.state = QuestionState.WITHDRAWN
        if (attempt := task.running()) is not None:
            attempt.told = True
            attempt.lease = min(attempt.lease, self.now + self.knobs.lease)
        task.move(outcome.status)
        task.outcome, task.result, task.active, task.wake = outcome, result, None, None
        task.expires = max(task.expires, self.now + self.knobs.retention)
