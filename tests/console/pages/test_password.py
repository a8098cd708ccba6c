"""Passwords: trying only so often, and changing one's own."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.throttle import Throttle
from tasks_app.models import Event


class Clock:
    """A clock that stands still until it is told to move."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_throttle_refuses_after_so_many_tries_and_lets_in_again_later() -> None:
    clock = Clock()
    throttle = Throttle(tries=2, seconds=60, clock=clock)
    throttle.count("ana")
    clock.now += 20
    throttle.count("ana")

    assert throttle.wait("ana") == 40
    assert throttle.wait("bo") is None
    clock.now += 40
    assert throttle.wait("ana") is None
    throttle.count("ana")
    assert throttle.wait("ana") == 20


def test_throttle_forgets_the_least_recent_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.throttle.MOST_KNOWN", 2)
    throttle = Throttle(tries=1, seconds=60)

    for name in ("ana", "bo", "cy"):
        throttle.count(name)

    assert throttle.wait("ana") is None
    assert throttle.wait("cy") == 60


def test_sixth_password_within_a_minute_is_not_even_looked_at(client: Client, alice: User, password: str) -> None:
    wrong = [client.post("/login/", {"username": "alice", "password": "no"}).status_code for _ in range(5)]

    answer = client.post("/login/", {"username": "Alice", "password": password})

    page = answer.content.decode()
    assert wrong == [200] * 5
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert "Too many wrong passwords." in page
    assert 'value="Alice"' in page
    assert "_auth_user_id" not in client.session


def test_other_names_and_addresses_are_not_held_up(client: Client, alice: User, password: str) -> None:
    for _ in range(5):
        client.post("/login/", {"username": "mallory", "password": "no"})
        client.post("/login/", {"username": "alice", "password": "no"}, REMOTE_ADDR="192.0.2.7")

    assert client.post("/login/", {"username": "alice", "password": password})["Location"] == "/"


def test_getting_in_starts_the_count_anew(client: Client, alice: User, password: str) -> None:
    for _ in range(2):
        for _ in range(4):
            client.post("/login/", {"username": "alice", "password": "no"})
        answer = client.post("/login/", {"username": "alice", "password": password})
        assert answer["Location"] == "/"
        client.post("/logout/")


def test_sign_in_is_on_record(client: Client, alice: User, password: str) -> None:
    client.post("/login/", {"username": "alice", "password": password})

    assert Event.objects.get(kind="signed_in").actor["via"] == "password"


def test_password_is_changed_by_whoever_knows_it(signed_in: Client, alice: User, password: str) -> None:
    new = {"new_password1": "another long one", "new_password2": "another long one"}

    refused = signed_in.post("/account/password/", {"old_password": "wrong", **new})
    changed = signed_in.post("/account/password/", {"old_password": password, **new})

    assert refused.status_code == 200
    assert 'aria-describedby="id_old_password-e"' in refused.content.decode()
    assert changed["Location"] == "/"
    alice.refresh_from_db()
    assert alice.check_password("another long one")
    assert signed_in.get("/tasks/").status_code == 200
    assert Event.objects.filter(kind="password_changed").count() == 1


def test_other_sessions_end_with_a_new_password(signed_in: Client, alice: User, password: str) -> None:
    other = Client()
    other.force_login(alice)

    new = {"new_password1": "another long one", "new_password2": "another long one"}
    signed_in.post("/account/password/", {"old_password": password, **new})

    assert other.get("/tasks/").status_code == 302


def test_first_password_needs_no_old_one(client: Client, db: None) -> None:
    user = User.objects.create_user("admin")
    client.force_login(user)

    page = client.get("/account/password/").content.decode()
    answer = client.post(
        "/account/password/", {"new_password1": "a first long one", "new_password2": "a first long one"}
    )

    assert "old_password" not in page
    assert answer["Location"] == "/"
    user.refresh_from_db()
    assert user.check_password("a first long one")


@pytest.mark.parametrize("weak", ["short", "password123"])
def test_weak_password_is_refused_with_the_reason(signed_in: Client, alice: User, password: str, weak: str) -> None:
    answer = signed_in.post(
        "/account/password/", {"old_password": password, "new_password1": weak, "new_password2": weak}
    )

    assert answer.status_code == 200
    assert 'id="id_new_password2-e"' in answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(password)
