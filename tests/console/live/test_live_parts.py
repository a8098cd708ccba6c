"""The small parts of the socket: origins, cookies, news and pace."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from console.live.news import MOST_TASKS, News
from console.live.origin import is_from_our_pages
from console.live.pace import Pace
from console.live.session import session_key_of


def headers(**values: str) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in values.items()]


@pytest.mark.parametrize(
    ("host", "origin", "is_ours"),
    [
        ("deck.example", "https://deck.example", True),
        ("deck.example:8000", "http://deck.example:8000", True),
        ("DECK.example", "https://deck.EXAMPLE", True),
        ("deck.example", "https://deck.example:9000", False),
        ("deck.example", "https://other.example", False),
        ("deck.example", "file://deck.example", False),
        ("deck.example", "https://[", False),
        ("evil.example", "https://evil.example", False),
        ("deck.example", "https://front.example", True),
        ("", "https://deck.example", False),
    ],
)
def test_origin_is_ours_when_it_is_the_host_that_was_asked_or_a_trusted_one(
    settings: Settings, host: str, origin: str, is_ours: bool
) -> None:
    settings.ALLOWED_HOSTS = ["deck.example"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://front.example"]

    assert is_from_our_pages(headers(host=host, origin=origin)) is is_ours


def test_any_host_allowed_does_not_mean_any_origin(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]

    assert not is_from_our_pages(headers(host="deck.example", origin="https://evil.example"))


@pytest.mark.parametrize(("cookie", "key"), [("sessionid=abc; theme=dark", "abc"), ("theme=dark", ""), ("=;=", "")])
def test_session_is_named_by_its_cookie(cookie: str, key: str) -> None:
    assert session_key_of(headers(cookie=cookie)) == key


def test_news_keeps_the_latest_version_of_each_task() -> None:
    news = News()
    for version, status in ((3, "completed"), (2, "working")):
        news.add({"type": "task.changed", "id": "a", "v": version, "st": status})
    news.add({"type": "stats.changed"})

    assert news.as_message() == {
        "t": "news",
        "tasks": [{"id": "a", "v": 3, "st": "completed"}],
        "again": False,
        "inbox": False,
        "stats": True,
    }


def test_news_of_too_many_tasks_says_only_to_read_again() -> None:
    news = News()
    for number in range(MOST_TASKS + 1):
        news.add({"type": "task.changed", "id": str(number), "v": 1, "st": "working"})

    message = news.as_message()

    assert (message["tasks"], message["again"]) == ([], True)


def test_pace_allows_a_burst_and_then_refuses() -> None:
    pace = Pace(burst=3, per_second=0.001)

    assert [pace.allows() for _ in range(5)] == [True, True, True, False, False]


def test_pace_fills_again_with_time() -> None:
    pace = Pace(burst=1, per_second=1e9)

    assert [pace.allows() for _ in range(3)] == [True, True, True]
