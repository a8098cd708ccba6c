"""A command run by hand finds the services of the data directory; addresses that are given come first."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.settings.conftest import Manage

SHOW = """
import json
from django.conf import settings
from django.db import connection
print(json.dumps({
    "database": connection.settings_dict["HOST"],
    "name": connection.settings_dict["NAME"],
    "broker": settings.CELERY_BROKER_URL,
    "channel": settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"],
    "secret": settings.SECRET_KEY,
}))
"""


def shown(manage: Manage, **env: str) -> dict[str, Any]:
    """What the settings say in a process that was started by hand."""
    ended = manage("shell", "--no-imports", "-c", SHOW, env=env)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.fixture
def data() -> Iterator[Path]:
    """A data directory that the account of the database can reach, whoever runs the tests; pytest's own are private."""
    with tempfile.TemporaryDirectory(prefix="taskdeck-data-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def test_command_run_by_hand_finds_the_services_of_the_data_directory(manage: Manage, data: Path) -> None:
    found = shown(manage, TASKDECK_DATA=str(data))

    assert (found["database"], found["name"]) == (str(data / "pg" / "run"), "taskdeck")
    assert found["broker"] == f"redis+socket://{data}/valkey/run/valkey.sock"
    assert found["channel"] == [f"unix://{data}/valkey/run/valkey.sock"]


def test_command_run_by_hand_uses_the_secret_of_the_data_directory(manage: Manage, data: Path) -> None:
    (data / "secret_key").write_text("the secret of this installation\n")

    found = shown(manage, TASKDECK_DATA=str(data))

    assert found["secret"] == "the secret of this installation"


def test_addresses_and_secret_that_are_given_come_first(manage: Manage, data: Path) -> None:
    (data / "secret_key").write_text("the secret of this installation\n")
    given = {
        "TASKDECK_DATA": str(data),
        "DATABASE_URL": "postgresql://ana@db/tasks",
        "BROKER_URL": "redis://broker/0",
        "CHANNEL_URL": "redis://broker/1",
        "TASKDECK_SECRET_KEY": "the secret that was given",
    }

    found = shown(manage, **given)

    assert found == {
        "database": "db",
        "name": "tasks",
        "broker": "redis://broker/0",
        "channel": ["redis://broker/1"],
        "secret": "the secret that was given",
    }
