"""Static files: sent whole, in parts, or not at all, and without a warning in the log of the server."""

from __future__ import annotations

import pytest
from django.test import AsyncClient
from pytest_django import Settings

STYLES = "/static/taskdeck/app.css"


@pytest.fixture(autouse=True)
def found_where_they_are_written(settings: Settings) -> None:
    """Without collecting them first, as an embedded server does."""
    settings.WHITENOISE_USE_FINDERS = True
    settings.WHITENOISE_AUTOREFRESH = True


async def test_file_is_sent_whole() -> None:
    answer = await AsyncClient().get(STYLES)

    assert answer.status_code == 200
    assert not answer.streaming
    assert answer["Content-Type"].startswith("text/css")
    assert int(answer["Content-Length"]) == len(answer.content) > 10_000


async def test_part_of_a_file_is_sent_when_asked_for() -> None:
    whole = await AsyncClient().get(STYLES)
    answer = await AsyncClient().get(STYLES, headers={"Range": "bytes=10-19"})

    assert (answer.status_code, answer.content) == (206, whole.content[10:20])


async def test_copy_that_is_still_right_is_not_sent_again() -> None:
    whole = await AsyncClient().get(STYLES)
    answer = await AsyncClient().get(STYLES, headers={"If-Modified-Since": whole["Last-Modified"]})

    assert (answer.status_code, answer.content) == (304, b"")
    assert "Content-Type" not in answer
