"""What a running attempt writes: steps, output, progress, message, variables."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import StringTooLong, VariablesTooDeep, VariablesTooLarge
from tasks_app.store import Claim, queries
from tests.conftest import Person
from tests.tasks_app.store.life import DONE, again, answer, asking, claimed, kinds, look, sql

pytestmark = pytest.mark.django_db

ODD = "nul \x00 lone \ud800 tail \udfff"
CLEAN = "nul \ufffd lone \ufffd tail \ufffd"


def variables(claim: Claim) -> dict[str, Any]:
    """The stored variables of a task."""
    return json.loads(look(claim.task_id).variables)  # type: ignore[no-any-return]


def nested(levels: int) -> object:
    """Arrays and objects in turn, so many levels deep."""
    value: object = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_steps_are_remembered_for_the_next_attempt(alice: Person) -> None:
    claim = claimed(alice)
    store.save_step(claim, name="plan", position=0, value={"hosts": ["a", "b"], "odd": ODD})
    store.save_step(claim, name="push", position=1, value=None)
    store.release(claim)

    second = again()
    found = store.history(second).steps

    assert [(step.name, step.position, step.attempt, step.value) for step in found] == [
        ("plan", 0, 1, {"hosts": ["a", "b"], "odd": ODD}),
        ("push", 1, 1, None),
    ]


def test_first_value_of_a_step_stays(alice: Person) -> None:
    claim = claimed(alice)
    store.save_step(claim, name="plan", position=0, value=1)

    store.save_step(claim, name="plan", position=0, value=2)

    assert [step.value for step in store.history(claim).steps] == [1]


def test_two_steps_cannot_have_the_same_place(alice: Person) -> None:
    claim = claimed(alice)
    store.save_step(claim, name="one", position=0, value=1)

    with pytest.raises(IntegrityError, match="step_position_once"), transaction.atomic():
        store.save_step(claim, name="two", position=0, value=2)


def test_output_is_appended_at_byte_offsets(alice: Person) -> None:
    claim = claimed(alice)

    store.write_output(claim, "héllo\n")
    task = store.write_output(claim, ODD)

    chunks = queries.output(claim.task_id)
    assert [(chunk.offset, chunk.size, chunk.text) for chunk in chunks] == [
        (0, 7, "héllo\n"),
        (7, len(CLEAN.encode()), CLEAN),
    ]
    assert task.output_bytes == 7 + len(CLEAN.encode())
    assert [chunk.text for chunk in queries.output(claim.task_id, after=7)] == [CLEAN]
    assert len(queries.output(claim.task_id, limit=1)) == 1


def test_output_goes_on_where_the_attempt_before_ended(alice: Person) -> None:
    claim = claimed(alice)
    store.write_output(claim, "one")
    store.release(claim)

    store.write_output(again(), "two")

    assert [(chunk.offset, chunk.text) for chunk in queries.output(claim.task_id)] == [(0, "one"), (3, "two")]


def test_message_stamps_the_task_and_is_no_transition(alice: Person) -> None:
    """check 61: an update, not a change of status; every stamp is later than the one before."""
    claim = claimed(alice)
    before = look(claim.task_id)

    first = store.set_message(claim, "one " + ODD)
    second = store.set_message(claim, "")

    assert (first.status_message, second.status_message) == ("one " + CLEAN, "")
    assert before.updated_at < first.updated_at < second.updated_at
    assert (first.status_at, first.version, second.version) == (
        before.status_at,
        before.version + 1,
        before.version + 2,
    )
    assert kinds(claim.task_id) == ["created", "attempt_started"]


def test_message_is_cut_to_a_thousand_characters(alice: Person) -> None:
    claim = claimed(alice)

    assert store.set_message(claim, "é" * 1001).status_message == "é" * 1000


def test_progress_never_goes_back(alice: Person) -> None:
    claim = claimed(alice)

    reports = [store.set_progress(claim, done=done, total=10) for done in (3, 2, 7)]

    assert [report.progress_done for report in reports] == [3, 3, 7]
    assert reports[-1].progress_total == 10


def test_progress_without_a_total_never_goes_back_either(alice: Person) -> None:
    claim = claimed(alice)
    store.set_progress(claim, done=3)

    assert store.set_progress(claim, done=1).progress_done == 3


def test_progress_starts_again_when_the_total_changes(alice: Person) -> None:
    claim = claimed(alice)
    store.set_progress(claim, done=9, total=10)

    report = store.set_progress(claim, done=1, total=20)

    assert (report.progress_done, report.progress_total) == (1, 20)


def test_progress_changes_the_message_only_when_it_has_one(alice: Person) -> None:
    claim = claimed(alice)
    store.set_progress(claim, done=1, message="first " + ODD)

    assert store.set_progress(claim, done=2).status_message == "first " + CLEAN


def test_variables_merge_and_null_deletes(alice: Person) -> None:
    """check 66, check 83, check 86."""
    claim = claimed(alice)

    store.set_variables(claim, {"progress": 10, "name": "x", "absent": None})
    merged = store.set_variables(claim, {"progress": 50, "name": None, "odd": ODD})

    assert merged == variables(claim) == {"progress": 50, "odd": ODD}
    assert json.loads(queries.get(claim.task_id, owner_id=alice.id).variables)["progress"] == 50


def test_variables_are_there_for_the_next_attempt(alice: Person) -> None:
    task_id = asking(alice)
    answer(task_id, alice)
    store.set_variables(again(), {"a": 1})
    store.release(store.handed_over(task_id, number=2, owner_id=alice.id))

    assert json.loads(again().variables) == {"a": 1}


def test_variables_are_kept_up_to_the_limit_and_not_beyond(alice: Person) -> None:
    """check 80, check 100: 1,048,576 bytes of the merged map; beyond it, the stored map stays."""
    claim = claimed(alice)
    parts = {f"k{index:02}": "x" * 60_000 for index in range(17)}
    room = 1_048_576 - len(json.dumps({**parts, "last": ""}, separators=(",", ":")))
    store.set_variables(claim, parts)

    with pytest.raises(VariablesTooLarge):
        store.set_variables(claim, {"last": "y" * (room + 1)})
    before = variables(claim)
    store.set_variables(claim, {"last": "y" * room})

    assert before == parts
    assert variables(claim) == {**parts, "last": "y" * room}


def test_variables_are_ten_levels_deep_at_most(alice: Person) -> None:
    """check 81."""
    claim = claimed(alice)
    store.set_variables(claim, {"v": nested(10)})

    with pytest.raises(VariablesTooDeep):
        store.set_variables(claim, {"w": nested(11)})

    assert variables(claim) == {"v": nested(10)}


def test_strings_in_variables_are_measured_in_bytes(alice: Person) -> None:
    """check 82."""
    claim = claimed(alice)
    store.set_variables(claim, {"v": ["é" * 32_768]})

    with pytest.raises(StringTooLong):
        store.set_variables(claim, {"v": {"deep": ["é" * 32_768 + "x"]}})

    assert variables(claim) == {"v": ["é" * 32_768]}


def test_limits_of_variables_follow_the_settings(alice: Person, settings: Settings) -> None:
    """check 85: 512,000 bytes, 5 levels, 32,768 bytes a string."""
    settings.TASKDECK_VARIABLES_BYTES = 512_000
    settings.TASKDECK_VARIABLES_DEPTH = 5
    settings.TASKDECK_VARIABLE_STRING_BYTES = 32_768
    claim = claimed(alice)

    store.set_variables(claim, {"deep": nested(5), "long": "x" * 32_768})
    with pytest.raises(VariablesTooDeep):
        store.set_variables(claim, {"deep": nested(6)})
    with pytest.raises(StringTooLong):
        store.set_variables(claim, {"long": "x" * 32_769})
    with pytest.raises(VariablesTooLarge):
        store.set_variables(claim, {f"k{index}": "x" * 32_768 for index in range(16)})

    assert variables(claim) == {"deep": nested(5), "long": "x" * 32_768}


def test_journal_leaves_no_event_and_no_payload_in_the_log(alice: Person) -> None:
    claim = claimed(alice)
    store.save_step(claim, name="s", position=0, value="secret")
    store.write_output(claim, "secret")
    store.set_progress(claim, done=1, message="secret")
    store.set_variables(claim, {"a": "secret"})
    store.complete(claim, result=DONE)

    assert kinds(claim.task_id) == ["created", "attempt_started", "to completed", "attempt_ended"]
    assert sql("SELECT 1 FROM tasks_event e WHERE e::text LIKE '%secret%'") == []


def test_last_words_of_a_finished_task_stay(alice: Person) -> None:
    claim = claimed(alice)
    store.set_progress(claim, done=3, total=4, message="almost")
    store.set_variables(claim, {"a": 1})

    store.complete(claim, result=DONE)

    task = look(claim.task_id)
    assert (task.progress_done, task.progress_total, task.status_message) == (3, 4, "almost")
    assert variables(claim) == {"a": 1}
