"""A Postgres address as Django's database settings."""

from __future__ import annotations

from console.settings.environment import database


def test_every_part_of_an_address_is_taken() -> None:
    found = database("postgresql://ana:pass%40word@db.example.org:5433/my%20tasks?sslmode=require")

    assert found == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "my tasks",
        "USER": "ana",
        "PASSWORD": "pass@word",
        "HOST": "db.example.org",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "require"},
    }


def test_socket_directory_and_port_may_be_parameters() -> None:
    found = database("postgresql://postgres@/taskdeck?host=/var/run/a%20b&port=5432")

    assert (found["HOST"], found["PORT"], found["OPTIONS"]) == ("/var/run/a b", "5432", {})
