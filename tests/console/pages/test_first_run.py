"""The first start: accounts, the link that shows the administrator in once, and the end of the demo's data."""

from __future__ import annotations

import time
from io import StringIO
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.core.management import CommandError, call_command
from django.test import Client

from console.first_run import find_accounts, make_accounts
from console.login_link import LIFETIME_SECONDS, link_for, token_for
from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.models import Event, Expiration, Owner, Task
from tasks_app.store import credentials, demo, queries
from tasks_app.store.invariants import violations
from tests.console.pages.people import WORKER, Someone, ask, create, finish

pytestmark = pytest.mark.django_db
SYSTEM = Actor.system(via="test")


@pytest.fixture
def admin(db: None) -> User:
    """The administrator of a new server."""
    make_accounts(with_demo=True)
    found = find_accounts().admin
    assert found is not None
    return found


def said(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def test_first_start_makes_an_administrator_and_a_demo_account_without_passwords() -> None:
    made = make_accounts(with_demo=True)

    accounts = find_accounts()
    assert made
    assert accounts.admin is not None
    assert accounts.admin.username == "admin"
    assert accounts.demo is not None
    assert not accounts.admin.has_usable_password()
    assert not accounts.demo.is_superuser
    assert Owner.objects.get(kind="local").user == accounts.admin
    assert Event.objects.filter(kind="account_created").count() == 2


def test_later_starts_make_no_accounts_and_leave_those_there_are_alone(admin: User) -> None:
    User.objects.filter(username="demo").delete()

    made = make_accounts(with_demo=True)

    assert not made
    assert [user.username for user in User.objects.all()] == ["admin"]


def test_first_start_without_the_demo_makes_only_the_administrator() -> None:
    make_accounts(with_demo=False)

    assert [user.username for user in User.objects.all()] == ["admin"]


def test_first_run_prints_a_link_to_the_site_that_it_was_told(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setenv("TASKDECK_URL", "http://127.0.0.1:9123/")

    line = said("first_run").splitlines()[0]

    assert line.startswith("Sign in: http://127.0.0.1:9123/login/link/")
    path = line.removeprefix("Sign in: http://127.0.0.1:9123")
    assert client.get(path)["Location"] == "/tasks/"


def test_first_run_says_what_to_do_when_nobody_administrates(admin: User) -> None:
    User.objects.filter(pk=admin.pk).update(is_active=False)

    assert "createsuperuser" in said("first_run")


def test_login_link_signs_in_once_and_is_on_record(admin: User, client: Client) -> None:
    path = link_for(admin, site="")

    first = client.get(path)
    second = Client().get(path)

    assert first["Location"] == "/tasks/"
    assert first["Cache-Control"].startswith("max-age=0")
    assert client.get("/tasks/").status_code == 200
    assert second.status_code == 410
    assert "used up" in second.content.decode()
    event = Event.objects.get(kind="signed_in")
    assert event.actor["via"] == "login_link"
    assert event.owner_id == store.owner_of(admin)


def test_used_login_link_leads_on_whoever_is_signed_in_already(admin: User, client: Client) -> None:
    path = link_for(admin, site="")
    client.get(path)

    again = client.get(path)

    assert again["Location"] == "/tasks/"


def test_login_link_is_void_after_a_quarter_of_an_hour(admin: User, monkeypatch: pytest.MonkeyPatch) -> None:
    path = link_for(admin, site="")
    later = time.time() + LIFETIME_SECONDS + 1
    monkeypatch.setattr(signing, "time", SimpleNamespace(time=lambda: later))

    assert Client().get(path).status_code == 410


@pytest.mark.parametrize("change", ["another sign-in", "a new password", "the end of the account"])
def test_login_link_is_void_after_the_account_changed(admin: User, change: str) -> None:
    path = link_for(admin, site="")
    if change == "another sign-in":
        Client().get(link_for(admin, site=""))
    elif change == "a new password":
        admin.set_password("a long password")
        admin.save()
    else:
        User.objects.filter(pk=admin.pk).update(is_active=False)

    assert Client().get(path).status_code == 410


@pytest.mark.parametrize("token", ["x", "1-abc", "1-abc:2:3", "%00", "1:2:3"])
def test_made_up_login_link_signs_nobody_in(admin: User, token: str) -> None:
    browser = Client()

    answer = browser.get(f"/login/link/{token}/")

    assert answer.status_code == 410
    assert "_auth_user_id" not in browser.session


def test_login_link_of_one_account_cannot_be_turned_into_that_of_another(admin: User) -> None:
    other = User.objects.create_user("other")
    token = token_for(other)

    forged = f"{admin.pk}-{token.partition('-')[2]}"

    assert Client().get(f"/login/link/{forged}/").status_code == 410


def test_login_link_command_makes_a_link_for_any_active_account(admin: User, client: Client) -> None:
    User.objects.create_user("ana")

    link = said("login_link", "ana", "--site", "http://x/").strip()

    assert client.get(link.removeprefix("http://x"))["Location"] == "/tasks/"
    assert client.session["_auth_user_id"] == str(User.objects.get(username="ana").pk)
    with pytest.raises(CommandError, match="no active account"):
        call_command("login_link", "nobody")


def demo_token(owner: Someone) -> int:
    return store.create_token(owner.owner_id, name=credentials.DEMO, by=SYSTEM)[1]


def test_remove_demo_data_takes_its_tasks_and_leaves_records_and_other_tasks() -> None:
    root = Someone("root", "admin")
    token = demo_token(root)
    finished = finish(root, "hash_files", credential_id=token)
    live = create(root, "crawl_site", credential_id=token)
    mine = ask(root)

    answer = root.browser.post("/demo/remove/")

    assert answer["Location"] == "/connect/"
    assert [task.pk for task in Task.objects.all()] == [mine.id]
    assert set(Expiration.objects.values_list("task_id", flat=True)) == {finished.id, live.id}
    assert Event.objects.filter(task_id=live.id, kind="purged").exists()
    cancelled = Event.objects.get(task_id=live.id, to_status="cancelled")
    assert cancelled.actor["reason"] == "Demo data removed"
    assert violations() == []


def test_remove_demo_data_leaves_a_task_whose_worker_still_stops_for_the_next_time() -> None:
    root = Someone("root", "admin")
    task = create(root, "crawl_site", credential_id=demo_token(root))
    claim = store.claim_next(WORKER)
    assert claim is not None

    first = demo.remove(by=SYSTEM)
    store.stopped(claim)
    second = demo.remove(by=SYSTEM)

    assert (first.gone, first.stopping) == (0, 1)
    assert (second.gone, second.stopping) == (1, 0)
    assert queries.timeline(task.id)[-1].kind == "purged"


def test_remove_demo_data_is_for_administrators_alone() -> None:
    opal = Someone("opal", "operator")
    task = create(opal, "crawl_site", credential_id=demo_token(opal))

    answer = opal.browser.post("/demo/remove/")

    assert answer.status_code == 403
    assert Task.objects.filter(pk=task.id).exists()
    assert demo.has_live()
