"""Connecting a client: tokens that are shown once, what to paste, and the check that turns green."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.models import Credential, Event
from tasks_app.store import credentials
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone

pytestmark = pytest.mark.django_db
TOKEN = re.compile(r"td_[\w-]{43}")
TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


def made(owner: Someone, name: str = "laptop", **more: str) -> str:
    """Create a token as the form does, and read it off the page."""
    answer = owner.browser.post("/connect/tokens/", {"name": name, "kind": "all", "days": "90", **more})
    assert answer.status_code == 200
    [token] = set(TOKEN.findall(answer.content.decode()))
    return str(token)


def test_connect_names_the_endpoint_by_the_address_of_the_browser(ana: Someone) -> None:
    page = ana.page("/connect/")

    assert "http://testserver/mcp" in page
    assert "claude mcp add --transport http taskdeck http://testserver/mcp" in page


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor", "vscode", "inspector", "python", "curl"])
def test_connect_has_a_text_for_each_client_without_any_token(ana: Someone, client: str) -> None:
    made(ana)

    page = ana.page(f"/connect/?client={client}")

    assert f'href="?client={client}#paste" aria-current="true"' in page
    assert "http://testserver/mcp" in page
    assert TOKEN.search(page) is None


def test_token_is_shown_once_and_works(ana: Someone) -> None:
    token = made(ana)

    caller = store.authenticate(token)
    assert caller is not None
    assert caller.owner_id == ana.owner_id
    assert caller.scopes == {"tasks:run", "tasks:read", "tasks:answer", "tasks:cancel"}
    later = ana.page("/connect/")
    assert token not in later
    assert "laptop" in later
    assert Event.objects.get(kind="token_created").actor["id"] == ana.owner_id


def test_page_that_shows_a_token_is_never_kept(ana: Someone) -> None:
    answer = ana.browser.post("/connect/tokens/", {"name": "laptop"})

    assert "no-store" in answer["Cache-Control"]


def test_token_that_may_only_read_holds_no_other_scope(ana: Someone) -> None:
    caller = store.authenticate(made(ana, kind="read"))

    assert caller is not None
    assert caller.scopes == {"tasks:read"}


def test_kind_that_there_is_not_gives_the_narrowest_token(ana: Someone) -> None:
    caller = store.authenticate(made(ana, kind="everything"))

    assert caller is not None
    assert caller.scopes == {"tasks:read"}


def test_token_is_worthless_after_its_time_and_leaves_the_list(ana: Someone, clock: DatabaseClock) -> None:
    token = made(ana, days="30")

    clock.advance(timedelta(days=30, seconds=1))

    assert store.authenticate(token) is None
    assert credentials.tokens(ana.owner_id) == []


def test_token_that_never_expires_has_no_end(ana: Someone) -> None:
    made(ana, days="never")

    assert Credential.objects.get().expires_at is None


@pytest.mark.parametrize("name", ["", "   ", credentials.DEMO])
def test_token_without_a_name_of_its_own_is_refused(ana: Someone, name: str) -> None:
    answer = ana.browser.post("/connect/tokens/", {"name": name})

    assert answer.status_code == 422
    assert 'aria-describedby="token-problem"' in answer.content.decode()
    assert not Credential.objects.exists()


def test_name_of_a_token_is_text_and_nothing_else(ana: Someone) -> None:
    made(ana, name="<img src=x onerror=alert(1)>")

    page = ana.page("/connect/")

    assert "<img" not in page
    assert "&lt;img src=x" in page


def test_revoked_token_is_worthless_at_once(ana: Someone) -> None:
    token = made(ana)

    answer = ana.browser.post(f"/connect/tokens/{Credential.objects.get().pk}/revoke/")

    assert answer["Location"] == "/connect/"
    assert store.authenticate(token) is None
    assert "None yet." in ana.page("/connect/")


def test_token_of_another_is_not_there_to_revoke_but_for_an_admin(ana: Someone) -> None:
    token = made(ana)
    address = f"/connect/tokens/{Credential.objects.get().pk}/revoke/"
    eddy, opal, root = Someone("eddy"), Someone("opal", "operator"), Someone("root", "admin")

    refused = [eddy.browser.post(address).status_code, opal.browser.post(address).status_code]
    assert refused == [404, 404]
    assert store.authenticate(token) is not None

    assert root.browser.post(address).status_code == 302
    assert store.authenticate(token) is None


def test_tokens_of_others_are_not_in_the_list(ana: Someone) -> None:
    made(ana, name="secret-of-ana")

    page = Someone("root", "admin").page("/connect/")

    assert "secret-of-ana" not in page


def test_check_asks_for_a_token_first(ana: Someone) -> None:
    fragment = ana.page("/connect/check/")

    assert "Create a token first." in fragment
    assert "hx-get" not in fragment


def test_check_waits_for_the_first_call_and_goes_on_asking(ana: Someone) -> None:
    made(ana)

    fragment = ana.page("/connect/check/")

    assert "Waiting for the first call with “laptop”" in fragment
    assert 'hx-get="/connect/check/" hx-trigger="every 2s"' in fragment
    assert "data-done" not in fragment


def test_check_turns_green_on_the_first_use_and_stops_asking_after_a_tool_call(ana: Someone) -> None:
    caller = store.authenticate(made(ana))
    used = ana.page("/connect/check/")
    assert caller is not None
    new = store.NewTask(
        owner_id=ana.owner_id,
        tool="hash_files",
        client="claude-code/2.1",
        credential_id=caller.credential_id,
        client_capabilities=TASKS,
    )
    task = store.create(new).task

    called = ana.page("/connect/check/")

    assert "data-done" in used
    assert "authenticated as ana" in used
    assert "hx-get" in used
    assert f'href="/tasks/{task.id}/"' in called
    assert "claude-code/2.1 called hash_files" in called
    assert "hx-get" not in called
    assert "-32021" not in called


def called(owner: Someone, token: str, *, waits: bool, capabilities: dict[str, Any]) -> store.Snapshot:
    """A task as the protocol makes it; a caller who waits for the result is given none."""
    caller = store.authenticate(token)
    assert caller is not None
    new = store.NewTask(
        owner_id=owner.owner_id,
        tool="hash_files",
        credential_id=caller.credential_id,
        client_capabilities=capabilities,
        waiting=waits,
    )
    return store.create(new).task


def test_check_explains_a_client_without_the_tasks_extension_until_it_is_mended(ana: Someone) -> None:
    token = made(ana)
    hidden = called(ana, token, waits=True, capabilities={"elicitation": {}})
    wrong = ana.page("/connect/check/")
    called(ana, token, waits=False, capabilities=TASKS)
    right = ana.page("/connect/check/")

    assert f'href="/tasks/{hidden.id}/"' in wrong
    assert "did not declare" in wrong
    assert "<code>extensions</code>" in wrong
    assert "-32021" in wrong
    assert "hx-get" in wrong
    assert "did not declare" not in right
    assert "hx-get" not in right


@pytest.mark.parametrize(("waits", "capabilities"), [(False, {"progress": {"token": 1}}), (False, {}), (True, TASKS)])
def test_check_does_not_warn_a_client_that_takes_tasks(ana: Someone, waits: bool, capabilities: dict[str, Any]) -> None:
    """A client of 2025-11-25 asks for a task with its call and declares nothing; a declared one may have to wait."""
    called(ana, made(ana), waits=waits, capabilities=capabilities)

    assert "did not declare" not in ana.page("/connect/check/")


def test_check_says_what_a_refused_call_means(ana: Someone) -> None:
    store.authenticate(made(ana))

    assert "A client that gets -32021 did not declare" in ana.page("/connect/check/")


def test_check_is_not_turned_green_by_the_demo_client(ana: Someone) -> None:
    token, _ = store.create_token(ana.owner_id, name=credentials.DEMO, by=Actor.system(via="test"))
    store.authenticate(token)

    assert "Create a token first." in ana.page("/connect/check/")
