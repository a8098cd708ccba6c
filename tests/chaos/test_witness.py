"""What the clients of the chaos run hold against the server: a witness that never objects would prove nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.chaos.remote import Failure, Witness

TASK: dict[str, Any] = {"taskId": "one", "status": "completed", "result": 1, "lastUpdatedAt": "2026-11-18T12:00:01Z"}


def test_request_that_fails_outside_of_an_outage_is_held_against_the_server() -> None:
    witness = Witness(failures=[Failure(10.0, 11.0, "tasks/get was answered with 500")], outages=[(12.0, 20.0)])

    assert list(witness.undeclared()) == ["J5: outside of an outage tasks/get was answered with 500"]


def test_request_that_fails_in_an_outage_is_allowed() -> None:
    witness = Witness()
    with witness.outage():
        now = time.monotonic()
        witness.failures.append(Failure(now, now, "tasks/get was answered with 500"))

    assert list(witness.undeclared()) == []


@pytest.mark.parametrize(
    ("later", "promise"),
    [
        ({"status": "working", "result": None}, "J2"),
        ({"result": 2}, "J2"),
        ({"lastUpdatedAt": "2026-11-18T12:00:00Z"}, "J4"),
    ],
)
def test_end_that_changes_is_held_against_the_server(later: dict[str, Any], promise: str) -> None:
    witness = Witness()

    witness.see(TASK, begun=time.monotonic())
    witness.see(TASK | later, begun=time.monotonic())

    assert [text.partition(":")[0] for text in witness.wrong] == [promise]


def test_looks_that_overlap_may_be_answered_in_either_order() -> None:
    witness = Witness()
    begun = time.monotonic()

    witness.see(TASK, begun=time.monotonic())
    witness.see(TASK | {"status": "working", "result": None, "lastUpdatedAt": "2026-11-18T11:00:00Z"}, begun=begun - 1)

    assert witness.wrong == []
