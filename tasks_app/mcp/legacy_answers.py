"""Answers to what was asked on a stream: a response posted to any process, known by the id of its request.

Whoever answers first wins, here or in the console. What comes too late, or to no question of the caller's, is accepted
and dropped: the protocol has no answer to an answer, and clients break when they get one.
"""

from __future__ import annotations

import logging
from uuid import UUID

from tasks_app.domain.errors import InvalidAnswer, LimitExceeded, NotFound
from tasks_app.domain.questions import AnswerAction, QuestionKind
from tasks_app.mcp import rounds, wire
from tasks_app.mcp.call import Call, Message
from tasks_app.mcp.errors import BAD_REQUEST, Fault, fault_of
from tasks_app.mcp.polls import to_task_id
from tasks_app.mcp.waiting import look
from tasks_app.store.questions import Answer
from tasks_app.store.rows import QuestionView

REJECTED_BY_USER = -1

logger = logging.getLogger(__name__)


async def receive_response(call: Call, message: Message) -> None:
    """Record what a client answers. Raises the fault (400) for an answer that does not fit; the question stays open."""
    try:
        task_id, key = _named(message["id"])
        asked = await _question(call, task_id, key)
        done = await rounds.answer(call, task_id, {key: _answer(asked, message)})
    except NotFound:
        logger.info("request %s answers no question that is open", call.request.request_id)
        return
    except (InvalidAnswer, LimitExceeded) as error:
        fault = fault_of(error)
        raise Fault(fault.code, fault.message, data=fault.data, http_status=BAD_REQUEST) from error
    if done.ignored:
        logger.info("request %s answers a question that was answered before", call.request.request_id)


def _named(request_id: object) -> tuple[UUID, str]:
    """The task and the question that the id of a request of ours names."""
    task, _, key = request_id.partition("/") if isinstance(request_id, str) else ("", "", "")
    return to_task_id(task), key


async def _question(call: Call, task_id: UUID, key: str) -> QuestionView:
    seen = await look(task_id, owner_id=call.caller.owner_id)
    for asked in seen.questions if seen is not None else ():
        if asked.key == key:
            return asked
    raise NotFound


def _answer(asked: QuestionView, message: Message) -> Answer:
    """A result as the answer that it is; an error means that nobody answered, or that a person said no."""
    error = message.get("error")
    if error is None:
        return wire.answer_of(asked.kind, message["result"])
    is_no = error.get("code") == REJECTED_BY_USER and asked.kind is QuestionKind.SAMPLING
    return Answer(AnswerAction.DECLINE if is_no else AnswerAction.CANCEL)
