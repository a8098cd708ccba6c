"""People with accounts and browsers, as the tests of several pages need them."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.test import Client

from tasks_app import store
from tasks_app.store import tally
from tests.console.pages.markup import markup

WORKER = store.Claimant("w1")


class Someone:
    """An account, its owner and its browser."""

    def __init__(self, name: str, *groups: str) -> None:
        self.user = User.objects.create_user(name, password="a long password")
        for group in groups:
            self.user.groups.add(Group.objects.get_or_create(name=group)[0])
        self.owner_id = store.owner_of(self.user)
        self.browser = Client()
        self.browser.force_login(self.user)

    def page(self, address: str) -> str:
        """The text of a page that opens."""
        answer = self.browser.get(address)
        assert answer.status_code == 200
        return markup(answer)


def create(owner: Someone, tool: str = "deploy", *, credential_id: int | None = None) -> store.Snapshot:
    """A new task of somebody."""
    return store.create(store.NewTask(owner_id=owner.owner_id, tool=tool, credential_id=credential_id)).task


def finish(owner: Someone, tool: str, *, how: str = "completed", credential_id: int | None = None) -> store.Snapshot:
    """A task of somebody that has ended."""
    task = create(owner, tool, credential_id=credential_id)
    claim = store.claim_next(WORKER)
    assert claim is not None
    assert claim.task_id == task.id
    if how == "failed":
        store.fail(claim, error={"code": -32603, "message": "no"})
    else:
        store.complete(claim, result={"content": []}, is_error=how == "tool_error")
    return task


def ask(owner: Someone, tool: str = "deploy") -> store.Snapshot:
    """A task of somebody that waits for an answer."""
    task = create(owner, tool)
    claim = store.claim_next(WORKER)
    assert claim is not None
    request = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
    store.suspend(claim, [store.NewQuestion(name="go", request=request)])
    return task


def fold() -> None:
    """Fold every change, as the engine loop does all the time."""
    while tally.fold():
        pass
