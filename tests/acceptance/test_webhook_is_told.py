"""A webhook from end to end: a real engine loop finds a question, and a real server of another's hears of it."""

from __future__ import annotations

import pytest

from console import store
from console.webhooks.message import secret_of, signature
from tasks_app import store as tasks
from tasks_app.domain.identity import Actor, OwnerKind
from tasks_app.store import queries
from tests.processes import start_engine
from tests.receiver import receiving
from tests.waiting import until

ASK = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.mark.django_db(transaction=True)
def test_two_engines_tell_a_webhook_of_each_question_once_also_after_it_was_away() -> None:
    owner_id = tasks.find_or_make_owner(OwnerKind.USER, subject="alice")
    with receiving() as receiver:
        receiver.statuses = [503]
        store.create_webhook(
            url=receiver.url, salt="salt", site="https://tasks.example.org", names_tool=False, by=Actor.engine()
        )
        tasks.create(tasks.NewTask(owner_id=owner_id, tool="deploy"))
        claim = tasks.claim_next(tasks.Claimant("w1"))
        assert claim is not None
        tasks.suspend(claim, [tasks.NewQuestion(name="go", request=ASK)])
        question = queries.questions(claim.task_id)[0]

        private = {"TASKDECK_WEBHOOK_ALLOW_PRIVATE": "1"}
        with start_engine(**private), start_engine(**private):
            until(lambda: [each.last for each in store.webhooks() if each.last and each.last.state == "sent"], 40)

        refused, taken = receiver.received
    assert taken.json["url"] == f"https://tasks.example.org/inbox/{question.task_id}/{question.key}/"
    assert refused.json == taken.json
    signed = signature(secret_of("salt"), timestamp=taken.headers["Taskdeck-Timestamp"], body=taken.body)
    assert taken.headers["Taskdeck-Signature"] == f"v1={signed}"
