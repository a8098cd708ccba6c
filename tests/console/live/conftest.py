"""People with accounts and sessions, and a bus that no parallel test hears."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import Settings

from tasks_app import bus, store


class Someone:
    """An account, its owner and its session."""

    def __init__(self, name: str, *groups: str) -> None:
        self.user = User.objects.create_user(name, password="a long password")
        for group in groups:
            self.user.groups.add(Group.objects.get_or_create(name=group)[0])
        self.owner_id = store.owner_of(self.user)
        self.browser = Client()
        self.browser.force_login(self.user)
        self.session = str(self.browser.session.session_key)

    def create(self) -> store.Snapshot:
        """A task of theirs."""
        return store.create(store.NewTask(owner_id=self.owner_id, tool="deploy", arguments={})).task


@pytest.fixture(autouse=True)
def own_bus(settings: Settings) -> Iterator[None]:
    """Groups that no parallel test knows."""
    bus.close()
    hosts = django_settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"]
    config = {"hosts": hosts, "prefix": f"live-tests-{uuid4().hex}"}
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "tasks_app.layer.OneTripLayer", "CONFIG": config}}
    yield
    bus.close()


@pytest.fixture
def ana(transactional_db: None) -> Someone:
    """Owns tasks."""
    return Someone("ana")


@pytest.fixture
def eddy(transactional_db: None) -> Someone:
    """A stranger."""
    return Someone("eddy")


@pytest.fixture
def opal(transactional_db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")
