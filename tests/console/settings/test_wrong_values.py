"""A wrong value of each kind of setting ends the process with one line that names the setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.settings.conftest import Manage

WRONG = {
    "a number that is none": ("PORT", "eighty"),
    "a number out of range": ("PORT", "65536"),
    "a whole number that is none": ("TASKDECK_LIVE_TASKS", "2.5"),
    "a number that must be positive": ("TASKDECK_TICK", "0"),
    "a length of time that is none": ("TASKDECK_LEASE", "a while"),
    "a length of time without an end": ("TASKDECK_MAX_TTL", "inf"),
    "a lease without an end": ("TASKDECK_LEASE", "inf"),
    "a length of time that no calendar holds": ("TASKDECK_PURGE_AFTER", "1e300"),
    "a length of time that is no number": ("TASKDECK_RECORD_RETENTION", "nan"),
    "a switch": ("TASKDECK_BEHIND_PROXY", "maybe"),
    "a switch of the engine": ("TASKDECK_SELF_APPROVAL", "sometimes"),
    "a choice": ("TASKDECK_LOG_LEVEL", "loud"),
    "a choice of the engine": ("TASKDECK_TTL_OVERFLOW", "explode"),
    "a database of another make": ("DATABASE_URL", "mysql://ana@db/tasks"),
    "a database without a name": ("DATABASE_URL", "postgresql://ana@db:5432"),
    "a database with a bad port": ("DATABASE_URL", "postgresql://ana@db:many/tasks"),
    "a database that is no address": ("DATABASE_URL", "postgresql://[::1/tasks"),
    "a broker of another make": ("BROKER_URL", "kafka://broker:9092"),
    "a broker with a bad port": ("BROKER_URL", "redis://broker:many/0"),
    "a channel layer of another make": ("CHANNEL_URL", "amqp://broker"),
    "a list with one wrong host": ("TASKDECK_ALLOWED_HOSTS", "tasks.example.org, https://tasks.example.org"),
    "a list with one wrong origin": ("TASKDECK_TRUSTED_ORIGINS", "https://tasks.example.org, tasks.example.org"),
}


@pytest.mark.parametrize(("name", "value"), WRONG.values(), ids=WRONG.keys())
def test_wrong_value_is_refused_in_one_line_that_names_the_setting(manage: Manage, name: str, value: str) -> None:
    ended = manage("check", env={name: value})

    assert ended.returncode == 1
    assert ended.stderr.startswith("Wrong setting: ")
    assert ended.stderr.count("\n") == 1
    assert name in ended.stderr


@pytest.mark.parametrize("name", ["typo", "tasks_app.no_such.verifier", "tasks_app.conf.PREFIX"])
def test_verifier_that_is_not_there_is_told_at_the_start(manage: Manage, name: str) -> None:
    ended = manage("check", env={"TASKDECK_VERIFIERS": f"token,{name}"})

    assert ended.returncode == 1
    assert f"TASKDECK_VERIFIERS names {name!r}, which is no verifier." in ended.stderr


def test_directory_that_is_a_file_is_refused_in_one_line(manage: Manage, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.touch()

    ended = manage("check", env={"TASKDECK_DATA": str(file)})

    assert ended.returncode == 1
    assert ended.stderr.startswith("Wrong setting: TASKDECK_DATA=")
    assert ended.stderr.endswith(": there is a file of that name; give a directory, which may be new.\n")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"TASKDECK_LEASE": "10", "TASKDECK_HEARTBEAT": "6"},
            "Wrong setting: TASKDECK_LEASE must be at least twice TASKDECK_HEARTBEAT.\n",
        ),
        (
            {"TASKDECK_DEFAULT_TTL": "100", "TASKDECK_MAX_TTL": "99"},
            "Wrong setting: TASKDECK_DEFAULT_TTL must not exceed TASKDECK_MAX_TTL.\n",
        ),
    ],
)
def test_values_that_do_not_fit_together_are_refused_in_one_line(
    manage: Manage, given: dict[str, str], line: str
) -> None:
    ended = manage("check", env=given)

    assert (ended.returncode, ended.stderr) == (1, line)


def test_two_wrong_values_are_both_named_in_the_one_line(manage: Manage) -> None:
    ended = manage("check", env={"TASKDECK_TICK": "fast", "TASKDECK_LIVE_TASKS": "-1"})

    assert ended.stderr.count("\n") == 1
    assert "TASKDECK_TICK='fast'" in ended.stderr
    assert "TASKDECK_LIVE_TASKS='-1'" in ended.stderr


def test_password_in_a_wrong_address_is_not_printed(manage: Manage) -> None:
    ended = manage("check", env={"DATABASE_URL": "mysql://ana:hunter2@db/tasks"})

    assert ended.returncode == 1
    assert "hunter2" not in ended.stderr + ended.stdout


def test_empty_value_means_the_default(manage: Manage) -> None:
    empty = {"PORT": "", "DATABASE_URL": "", "TASKDECK_LEASE": "", "TASKDECK_BEHIND_PROXY": "", "TASKDECK_DATA": ""}

    ended = manage("check", env=empty)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_right_values_of_every_kind_are_accepted(manage: Manage, tmp_path: Path) -> None:
    right = {
        "PORT": "9000",
        "HOST": "127.0.0.1",
        "DATABASE_URL": "postgresql://ana:pass%40word@db:5433/tasks?sslmode=require",
        "BROKER_URL": "amqps://ana@broker:5671/tasks",
        "CHANNEL_URL": "rediss://ana:secret@cache:6380/1",
        "TASKDECK_DATA": str(tmp_path / "new"),
        "TASKDECK_ALLOWED_HOSTS": "tasks.example.org, .example.com, [::1]",
        "TASKDECK_TRUSTED_ORIGINS": "https://tasks.example.org",
        "TASKDECK_BEHIND_PROXY": "yes",
        "TASKDECK_LOG_LEVEL": "warning",
        "TASKDECK_LEASE": "12.5",
        "TASKDECK_HEARTBEAT": "4",
        "TASKDECK_TTL_OVERFLOW": "reject",
    }

    ended = manage("check", env=right)

    assert (ended.returncode, ended.stderr) == (0, "")
