"""What waits for a person, over all tasks of an owner or of everyone: a query over live state, never a copy.

An operator's own list holds, beside what their own tasks ask, what only an operator may decide, whosever it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tasks_app.domain.questions import QuestionState
from tasks_app.store.db import Params, row, rows
from tasks_app.store.locking import IS_LIVE
from tasks_app.store.rows import QUESTION_COLUMNS, QuestionView, question

MOST_COUNTED = 100
MOST_LOOKED_AT = 500

# The soonest to expire first while open; the latest to close first afterwards.
_FROM = "FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id"
_PAGE = f"SELECT {QUESTION_COLUMNS}, t.tool, t.owner_id, t.client, {IS_LIVE} AS is_live {_FROM} WHERE {{which}} ORDER BY {{order}} LIMIT {{limit}}"
_FACETS = "SELECT DISTINCT tool, owner_id FROM ({few}) few"
_FEW = f"SELECT t.tool, t.owner_id, q.id, q.closed_at {_FROM} WHERE {{which}} ORDER BY {{order}} LIMIT {{limit}}"
# Each of the states is read by the index of what is closed, which begins with the state.
_EITHER = "SELECT * FROM ({parts}) q ORDER BY {order} LIMIT {limit}"
# What ran out: by a deadline of its own, or with its task, whose expiry then withdrew it.
_RAN_OUT = ("q.state = 'expired'", "q.state = 'withdrawn' AND t.outcome = 'expired'")
# What only a client's model can answer is listed, but no person is called for it.
_FOR_PEOPLE = "q.state = 'open' AND q.expires_at > tasks_now() AND q.kind IN ('form', 'url')"
_OWN = f"""(
    SELECT q.id, q.task_id, q.key FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id
     WHERE {_FOR_PEOPLE} AND q.audience = 'owner' AND t.owner_id = %(owner)s::bigint AND {IS_LIVE} LIMIT {MOST_COUNTED})
"""
_APPROVALS = f"""(
    SELECT q.id, q.task_id, q.key FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id
     WHERE {_FOR_PEOPLE} AND q.audience = 'operator' AND {{others}} AND {IS_LIVE} LIMIT {MOST_COUNTED})
"""
_WAITING = "SELECT count(*) OVER (), id, task_id, key FROM ({which}) few ORDER BY id DESC LIMIT 1"
_LAST_LINES = """
SELECT text, at FROM tasks_output WHERE task_id = %(task)s ORDER BY "offset" DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Item:
    """A question with what a list says of its task."""

    question: QuestionView
    tool: str
    owner_id: int
    client: str
    is_live: bool
    """Whether the task has not expired: after that nothing of what was asked is shown."""

    @property
    def place(self) -> Place:
        """Where it stands in its list."""
        return Place(self.question.closed_at or self.question.expires_at, self.question.id)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of questions begins: after the one with this time and id."""

    at: datetime
    id: int


@dataclass(frozen=True, slots=True)
class Facets:
    """By what a list can be narrowed: the tools and owners of its first few hundred questions."""

    tools: tuple[str, ...]
    owner_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many questions wait for somebody, up to a limit, and the newest of them: id, task and key."""

    count: int
    newest: tuple[int, UUID, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Which questions a list holds: in this state, of an owner or (None) of everyone, of one tool, of one task owner."""

    state: QuestionState
    owner_id: int | None
    sees_approvals: bool
    tool: str = ""
    of_owner_id: int | None = None


def page(
    state: QuestionState, *, owner_id: int | None, sees_approvals: bool, limit: int, tool: str = "",
    of_owner_id: int | None = None, after: Place | None = None,
) -> list[Item]:  # fmt: skip
    """The questions in this state, of an owner or (None) of everyone, from a place that stays the same meanwhile."""
    listed = Listed(state=state, owner_id=owner_id, sees_approvals=sees_approvals, tool=tool, of_owner_id=of_owner_id)
    which, params = _which(listed)
    if after is not None:
        comparison = ">" if state is QuestionState.OPEN else "<"
        column = "q.expires_at" if state is QuestionState.OPEN else "q.closed_at"
        which += f" AND ({column}, q.id) {comparison} (%(at)s::timestamptz, %(after)s::bigint)"
        params = {**params, "at": after.at, "after": after.id}
    found = rows(_listing(_PAGE, state, which, limit), params)
    return [
        Item(question(tuple(values)), tool_, owner, client, is_live) for *values, tool_, owner, client, is_live in found
    ]


def facets(state: QuestionState, *, owner_id: int | None, sees_approvals: bool) -> Facets:
    """By what the list of these questions can be narrowed."""
    which, params = _which(Listed(state=state, owner_id=owner_id, sees_approvals=sees_approvals))
    found = rows(_FACETS.format(few=_listing(_FEW, state, which, MOST_LOOKED_AT)), params)
    return Facets(tuple(sorted({tool for tool, _ in found})), tuple(sorted({owner for _, owner in found})))


def _listing(text: str, state: QuestionState, which: str, limit: int) -> str:
    """The statement of a list in its order: of one state, or of the two that both mean that nobody answered."""
    order = _order(state)
    if state is not QuestionState.EXPIRED:
        return text.format(which=f"q.state = '{state.value}' AND {which}", order=order, limit=int(limit))
    parts = (text.format(which=f"{each} AND {which}", order=order, limit=int(limit)) for each in _RAN_OUT)
    return _EITHER.format(parts=" UNION ALL ".join(f"({part})" for part in parts), order=order, limit=int(limit))


def _order(state: QuestionState) -> str:
    return "q.expires_at, q.id" if state is QuestionState.OPEN else "q.closed_at DESC, q.id DESC"


def _which(listed: Listed) -> tuple[str, Params]:
    """The rest of the condition for a list: one text for each shape, so that each has the plan of its own index."""
    parts = ["true"]
    if listed.state is QuestionState.OPEN:
        # Past its deadline a question is over, whether or not the loop has seen it.
        parts += ["q.expires_at > tasks_now()", IS_LIVE]
    if not listed.sees_approvals:
        parts.append("q.audience = 'owner'")
    if listed.owner_id is not None:
        mine = "t.owner_id = %(owner)s::bigint"
        parts.append(f"({mine} OR q.audience = 'operator')" if listed.sees_approvals else mine)
    if listed.tool:
        parts.append("t.tool = %(tool)s::text")
    if listed.of_owner_id is not None:
        parts.append("t.owner_id = %(of)s::bigint")
    given = {"owner": listed.owner_id, "tool": listed.tool or None, "of": listed.of_owner_id}
    return " AND ".join(parts), {name: value for name, value in given.items() if value is not None}


def waiting(owner_id: int, *, approvals: bool = False, own_approvals: bool = False) -> Waiting:
    """What waits for this owner and, with `approvals`, for any operator, for one's own tasks only if that is allowed."""
    decides = _APPROVALS.format(others="true" if own_approvals else "t.owner_id <> %(owner)s::bigint")
    found = row(_WAITING.format(which=f"{_OWN} UNION ALL {decides}" if approvals else _OWN), {"owner": owner_id})
    return Waiting(0, None) if found is None else Waiting(min(int(found[0]), MOST_COUNTED), tuple(found[1:]))


def open_count(owner_id: int) -> int:
    """How many questions wait for this owner, up to a hundred."""
    return waiting(owner_id).count


def last_lines(task_id: UUID, *, limit: int) -> list[tuple[str, datetime]]:
    """The last lines that a task wrote, the newest first."""
    return [(text, at) for text, at in rows(_LAST_LINES, {"task": task_id, "limit": limit})]
