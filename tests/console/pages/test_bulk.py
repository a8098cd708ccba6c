"""Acting on several tasks at once: asked first, done one by one, told honestly, and never on what is another's."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.pages.bulk import MOST_PICKED
from tasks_app import store
from tasks_app.models.event import Event
from tasks_app.store import queries
from tests.console.pages.markup import markup
from tests.console.pages.people import Someone, create, finish

pytestmark = pytest.mark.django_db

CANCEL = "/tasks/bulk/cancel/"
EXTEND = "/tasks/bulk/extend/"


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


@pytest.fixture
def eddy(db: None) -> Someone:
    """A stranger."""
    return Someone("eddy")


def post(someone: Someone, address: str, *tasks: object, **values: str) -> str:
    ids = [str(getattr(task, "id", task)) for task in tasks]
    return markup(someone.browser.post(address, {"task": ids, **values}, follow=True))


def status(task: store.Snapshot) -> str:
    return queries.get(task.id, owner_id=None).status.value


def bulk_events() -> list[Event]:
    return list(Event.objects.filter(kind="bulk"))


def test_list_has_a_box_for_every_row_and_a_bar_that_needs_no_script(ana: Someone) -> None:
    task = create(ana)

    page = ana.page("/tasks/")

    assert f'name="task" value="{task.id}" form="bulk"' in page
    assert f'formaction="{CANCEL}"' in page


def test_cancel_asks_first_and_says_what_it_will_do(ana: Someone) -> None:
    ended = finish(ana, "done")
    live = create(ana)

    page = post(ana, CANCEL, live, ended)

    assert "Cancel 1 task?" in page
    assert "1 of the selected has ended already" in page
    assert status(live) == "working"
    assert bulk_events() == []


def test_cancel_tells_what_became_of_each(ana: Someone) -> None:
    """section 2 item 22: many are cancelled at once, from a list that a search has narrowed."""
    ended = finish(ana, "done")
    live = [create(ana), create(ana)]
    missing = uuid.uuid4()

    page = post(ana, CANCEL, *live, ended, missing, confirmed="yes", reason="wrong list")

    assert "2 cancelled, 1 had ended already" in page
    assert "1 not there" in page
    assert [status(task) for task in live] == ["cancelled", "cancelled"]
    assert status(ended) == "completed"


def test_each_cancelled_task_has_its_own_event_and_one_says_that_they_belong_together(ana: Someone) -> None:
    live, missing = create(ana), uuid.uuid4()

    post(ana, CANCEL, live, missing, confirmed="yes", reason="wrong list")

    [own] = Event.objects.filter(task_id=live.id, to_status="cancelled")
    assert own.actor["reason"] == "wrong list"
    [bulk] = bulk_events()
    assert bulk.owner_id == ana.owner_id
    assert bulk.actor["reason"] == "wrong list"
    assert bulk.detail == {"action": "cancel", "tasks": 2, "outcomes": {"done": 1, "missing": 1}}


def test_extend_keeps_all_of_them_for_longer(ana: Someone) -> None:
    tasks = [create(ana), create(ana)]

    page = post(ana, EXTEND, *tasks, confirmed="yes", by="1d")

    assert "2 extended." in page
    for task in tasks:
        assert (queries.get(task.id, owner_id=None).expires_at - task.expires_at).days == 1


def test_extend_says_which_cannot_be_kept_longer(ana: Someone, settings: Any) -> None:
    task = create(ana)
    settings.TASKDECK_MAX_KEEP = 60

    page = post(ana, EXTEND, task, confirmed="yes", by="1d")

    assert "0 extended, 1 cannot be kept longer" in page


@pytest.mark.parametrize("address", [CANCEL, EXTEND])
def test_anothers_task_looks_like_one_that_never_was(ana: Someone, eddy: Someone, address: str) -> None:
    task, missing = create(ana), uuid.uuid4()
    before = queries.get(task.id, owner_id=None)

    asked, unknown = post(eddy, address, task), post(eddy, address, missing)
    told = post(eddy, address, task, confirmed="yes", reason="mine now")

    assert _without(asked, task.id) == _without(unknown, missing)
    assert "1 not there" in told
    assert queries.get(task.id, owner_id=None) == before


def _without(page: str, task_id: object) -> str:
    of_the_moment = ("csrf", 'name="server-time"')
    lines = page.replace(str(task_id), "").splitlines()
    return "\n".join(line for line in lines if not any(each in line.lower() for each in of_the_moment))


def test_operator_gives_a_reason_or_nothing_happens_at_all(ana: Someone, opal: Someone) -> None:
    own, anothers = create(opal), create(ana)

    refused = opal.browser.post(CANCEL, {"task": [own.id, anothers.id], "confirmed": "yes"})
    nothing = (status(own), status(anothers))
    post(opal, CANCEL, own, anothers, confirmed="yes", reason="runaway")

    assert refused.status_code == 422
    assert "Give a reason" in markup(refused)
    assert nothing == ("working", "working")
    assert (status(own), status(anothers)) == ("cancelled", "cancelled")
    [event] = Event.objects.filter(task_id=anothers.id, to_status="cancelled")
    assert (event.actor["role"], event.actor["reason"]) == ("operator", "runaway")


def test_auditor_cannot_act_on_what_they_only_read(ana: Someone) -> None:
    auditor, task = Someone("ada", "auditor"), create(ana)

    page = post(auditor, CANCEL, task, confirmed="yes", reason="tidy")

    assert "1 not there" in page
    assert status(task) == "working"


def test_too_many_at_once_are_refused(ana: Someone) -> None:
    task = create(ana)
    ids = [task.id, *(uuid.uuid4() for _ in range(MOST_PICKED))]

    response = ana.browser.post(CANCEL, {"task": ids, "confirmed": "yes"})

    assert response.status_code == 422
    assert f"At most {MOST_PICKED} tasks" in markup(response)
    assert status(task) == "working"


@pytest.mark.parametrize("picked", [[], ["nonsense"], ["", "' OR 1=1"]])
def test_nothing_that_is_an_id_leads_back_with_a_word(ana: Someone, picked: list[str]) -> None:
    assert "No task was selected" in post(ana, CANCEL, *picked, confirmed="yes")


def test_form_leads_back_to_the_list_and_nowhere_else(ana: Someone) -> None:
    task = create(ana)
    values = {"task": [task.id], "confirmed": "yes"}

    ours = ana.browser.post(EXTEND, {**values, "back": "/tasks/?q=status%3Aworking"})
    foreign = ana.browser.post(EXTEND, {**values, "back": "https://evil.example/"})

    assert ours["Location"] == "/tasks/?q=status%3Aworking"
    assert foreign["Location"] == "/tasks/"


def test_asking_costs_the_same_for_one_task_and_for_many(ana: Someone) -> None:
    tasks = [create(ana) for _ in range(20)]

    def asked(count: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            ana.browser.post(CANCEL, {"task": [task.id for task in tasks[:count]]})
        return len(captured)

    assert asked(1) == asked(20)


def test_only_a_fragment_is_sent_to_a_page_that_asks_in_a_dialog(ana: Someone) -> None:
    task = create(ana)

    page = markup(ana.browser.post(CANCEL, {"task": [task.id]}, headers={"HX-Request": "true"}))

    assert "Cancel 1 task?" in page
    assert "<html" not in page
