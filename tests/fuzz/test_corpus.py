"""The known bad requests: each is answered as it should be, and nothing comes of it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.cases import VALID
from tests.fuzz.corpus import bad_messages
from tests.fuzz.corpus_http import bad_requests
from tests.fuzz.world import World

# Many cases in one world: making one costs more than asking it a hundred things.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def test_known_bad_requests_are_answered_and_leave_nothing(world: World) -> None:
    wrong = {}
    for name, case, statuses in (*bad_messages(), *bad_requests()):
        answer = world.ask(case)
        if answer.status not in statuses:
            wrong[name] = (answer.status, answer.body[:200])

    assert wrong == {}


def test_names_of_the_known_bad_requests_are_their_own() -> None:
    counted = Counter(name for name, _, _ in (*bad_messages(), *bad_requests()))

    assert [name for name, count in counted.items() if count > 1] == []


def test_requests_that_are_made_bad_are_good_before(world: World) -> None:
    answers = {name: world.ask(request.case()) for name, request in VALID.items()}

    refused = {
        name: answer.body for name, answer in answers.items() if answer.status >= 400 or b'"error":{' in answer.body
    }
    assert refused.keys() == {"modern tools/call with a state"}
