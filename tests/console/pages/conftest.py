"""Alice, who has an account, and browsers with and without her session."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.pages import alarms, shell, sign_in, trouble

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _nobody_has_tried() -> None:
    """Wrong passwords are counted in this process: those of one test must not hold up another."""
    sign_in.throttle.clear()


@pytest.fixture(autouse=True)
def _nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs here, and after a while every page would say so; and what is remembered is not another test's."""
    alarms.memory.keep((), seconds=3600)
    watch = trouble.Watch([])
    monkeypatch.setattr(trouble, "watch", watch)
    monkeypatch.setattr(shell, "watch", watch)


@pytest.fixture
def password() -> str:
    """The password of every account made here."""
    return PASSWORD


@pytest.fixture
def alice(db: None) -> User:
    """An ordinary account."""
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def signed_in(client: Client, alice: User) -> Client:
    """A browser that Alice is signed in with."""
    client.force_login(alice)
    return client
