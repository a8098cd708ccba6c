"""What the console refuses stands in the audit log: of who was refused, and not of whom they tried to reach."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from django.test import Client

from tasks_app.models import Event
from tasks_app.store.refusals import ledger
from tests.console.pages.people import Someone, create

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_noted() -> Iterator[None]:
    ledger.forget()
    yield
    ledger.forget()


def test_reach_for_anothers_task_is_recorded_without_its_owner_seeing_it() -> None:
    ana, eddy, una = Someone("ana"), Someone("eddy"), Someone("una", "auditor")
    task = create(ana)
    for _ in range(3):
        assert eddy.browser.get(f"/tasks/{task.id}/").status_code == 404
    eddy.browser.post(f"/tasks/{task.id}/cancel/")
    ledger.flush()

    for_auditor = una.page(f"/audit/?task={task.id}&action=refused")
    assert "task (view) · 3\N{MULTIPLICATION SIGN}" in for_auditor
    assert "cancel (cancel)" in for_auditor
    assert "Refused" in eddy.page("/audit/?action=refused").partition("<tbody>")[2]
    for address in ("/audit/?action=refused&range=all", f"/audit/?task={task.id}", f"/tasks/{task.id}/"):
        assert "eddy" not in ana.page(address)
    assert "<tbody>" not in ana.page("/audit/?action=refused&range=all")


def test_task_that_never_was_is_recorded_the_same() -> None:
    eddy = Someone("eddy")
    unknown = uuid.uuid4()
    eddy.browser.get(f"/tasks/{unknown}/")
    ledger.flush()

    event = Event.objects.get(kind="refused")
    assert (event.detail["tasks"], event.owner_id, event.task_id) == ([str(unknown)], eddy.owner_id, None)


def test_action_that_the_role_does_not_allow_is_recorded() -> None:
    ana = Someone("ana")
    task = create(ana)
    assert ana.browser.post(f"/tasks/{task.id}/hold/", {"held": "1", "reason": "x"}).status_code == 403
    ledger.flush()

    assert Event.objects.get(kind="refused").detail["action"] == "hold (hold)"


def test_wrong_password_is_recorded_by_address_and_keeps_no_name() -> None:
    browser = Client()
    for _ in range(2):
        browser.post("/login/", {"username": "ana", "password": "wrong"})
    ledger.flush()

    event = Event.objects.get(kind="refused")
    assert (event.detail["action"], event.detail["count"], event.owner_id) == ("sign_in", 2, None)
    assert "ana" not in str(event.detail)


def test_page_that_does_not_exist_is_no_refusal() -> None:
    Someone("ana").browser.get("/nowhere/")

    assert ledger.flush() == 0
