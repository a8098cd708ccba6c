"""The tool by which a client that knows no tasks fetches a result: what it says at each stage, and to whom."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.results import tool_error
from tasks_app.engine.call import Ended, How, call_tool
from tasks_app.engine.journal import Facts
from tasks_app.engine.memory import MemoryJournal
from tasks_app.engine.registry import TOOL_ATTRIBUTE, Support, Tool, registry
from tasks_app.store import queries
from tasks_app.tools import results
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import BROKEN, DONE, answer, asking, claimed, completed, created, gated, last_event

NOT_FOUND = NotFound.text


def fallback_tool() -> Tool:
    found = registry.get("get_task_result")
    assert found is not None
    return found


def fetch(task_id: UUID | str, owner: Person | None, *, credential_id: int | None = None) -> Ended:
    """Call the tool as the endpoint does: in the web process, for the owner of the credential."""
    owner_id = None if owner is None else owner.id
    facts = Facts(task_id="call", owner="user:x", owner_id=owner_id, credential_id=credential_id, is_task=False)
    return call_tool(fallback_tool(), {"task_id": str(task_id)}, MemoryJournal(facts))


def text(ended: Ended) -> str:
    assert ended.payload is not None
    [block] = ended.payload["content"]
    return str(block["text"])


def test_fallback_tool_is_never_a_task_itself() -> None:
    """Covers check 116: it is forbidden itself."""
    made = fallback_tool()

    assert made.task is Support.FORBIDDEN
    assert made.input_schema["required"] == ["task_id"]
    assert made.output_schema is None
    assert made.annotations["readOnlyHint"] is True


@pytest.mark.django_db
def test_fallback_tool_gives_the_whole_result_of_a_completed_task(alice: Person) -> None:
    """Covers check 116: completed."""
    claim = claimed(alice)
    result = {"content": [{"type": "text", "text": "4"}], "structuredContent": {"sum": 4}, "isError": False}
    store.complete(claim, result=result)

    ended = fetch(claim.task_id, alice)

    assert (ended.how, ended.payload) == (How.RESULT, result)


@pytest.mark.django_db
def test_fallback_tool_gives_a_tool_error_as_one(alice: Person) -> None:
    """Covers check 116: failed, in the eyes of a client."""
    claim = claimed(alice)
    store.complete(claim, result=tool_error("The disk is full."), is_error=True)

    ended = fetch(claim.task_id, alice)

    assert (ended.how, text(ended)) == (How.TOOL_ERROR, "The disk is full.")


@pytest.mark.django_db
def test_fallback_tool_gives_the_message_of_a_protocol_error_as_a_tool_error(alice: Person) -> None:
    """Covers check 116: failed."""
    claim = claimed(alice)
    store.fail(claim, error=BROKEN)

    ended = fetch(claim.task_id, alice)

    assert (ended.how, text(ended)) == (How.TOOL_ERROR, "broken")


@pytest.mark.django_db
def test_fallback_tool_says_that_a_cancelled_task_has_no_result(alice: Person) -> None:
    task = created(alice)
    store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    ended = fetch(task.id, alice)

    assert (ended.how, text(ended)) == (How.TOOL_ERROR, "The task was cancelled, so it has no result.")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("poll_ms", "when"),
    [(None, "5 seconds"), (3_000, "3 seconds"), (1_500, "2 seconds"), (1_000, "1 second"), (200, "1 second")],
)
def test_fallback_tool_says_when_to_ask_again_while_the_task_works(
    alice: Person, poll_ms: int | None, when: str
) -> None:
    """Covers check 116: otherwise, with the seconds of the poll interval."""
    task = created(alice, poll_ms=poll_ms)

    ended = fetch(task.id, alice)

    assert (ended.how, text(ended)) == (How.RESULT, f"The task is still working, try again in {when}.")


@pytest.mark.django_db
def test_fallback_tool_repeats_what_the_tool_says_it_is_doing(alice: Person) -> None:
    claim = claimed(alice)
    store.set_message(claim, "Reading page 3")

    assert text(fetch(claim.task_id, alice)).endswith("It says: Reading page 3")


@pytest.mark.django_db
def test_fallback_tool_tells_a_task_that_waits_for_an_answer_from_one_that_works(alice: Person) -> None:
    """Covers check 116: otherwise, with the status."""
    task_id = asking(alice)

    waiting = text(fetch(task_id, alice))
    answer(task_id, alice)
    answered = text(fetch(task_id, alice))

    assert waiting.startswith("The task is still input_required, try again in ")
    assert answered.startswith("The task is still working, try again in ")


@pytest.mark.django_db
def test_fallback_tool_does_not_tell_of_the_question_for_an_operator(alice: Person) -> None:
    task_id = gated(alice)

    assert text(fetch(task_id, alice)).startswith("The task is still working, ")


@pytest.mark.django_db
def test_fallback_tool_says_the_same_of_every_task_that_is_not_there_for_the_caller(
    alice: Person, eve: Person, clock: DatabaseClock
) -> None:
    """Covers check 116: owner scoped. Unknown, another's, expired, no id at all, and no caller: one text."""
    task_id = completed(alice)
    asked = {
        "another's": fetch(task_id, eve),
        "unknown": fetch(uuid4(), alice),
        "no id": fetch("task-1", alice),
        "empty": fetch("", alice),
        "no caller": fetch(task_id, None),
    }
    clock.advance(timedelta(days=2))
    asked["expired"] = fetch(task_id, alice)

    assert {name: (ended.how, text(ended)) for name, ended in asked.items()} == dict.fromkeys(
        asked, (How.TOOL_ERROR, NOT_FOUND)
    )


@pytest.mark.django_db
def test_fallback_tool_leaves_a_note_that_the_result_was_fetched_and_none_before_the_end(alice: Person) -> None:
    claim = claimed(alice)
    fetch(claim.task_id, alice)
    before = events(claim.task_id)
    store.complete(claim, result=DONE)

    _, credential_id = store.create_token(alice.id, name="laptop", by=alice.acts())

    fetch(claim.task_id, alice, credential_id=credential_id)

    assert "first_fetch" not in before
    assert events(claim.task_id).count("first_fetch") == 1
    assert last_event(claim.task_id, "first_fetch").actor["credential"] == credential_id


@pytest.mark.django_db
def test_fallback_tool_leaves_no_note_when_a_stranger_asks(alice: Person, eve: Person) -> None:
    task_id = completed(alice)

    fetch(task_id, eve)

    assert "first_fetch" not in events(task_id)


def events(task_id: UUID) -> list[str]:
    return [event.kind for event in queries.timeline(task_id)]


@pytest.mark.parametrize(("name", "offered"), [("fetch_later", ["fetch_later"]), ("", [])])
def test_fallback_tool_is_renamed_or_left_out_by_its_setting(
    name: str, offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Covers check 116: it is a matter of settings, and so is its name."""
    # The function remembers the last tool that was made of it: the right one is put back at the end.
    monkeypatch.setattr(results.get_task_result, TOOL_ATTRIBUTE, fallback_tool())

    with registry.temporary() as own:
        results.declare(name)

        assert [made.name for made in own.all()] == offered
