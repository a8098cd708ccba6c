"""String formats of a form."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.formats import is_date, is_date_time, is_email, is_uri

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize("text", ["ana@example.org", "a.b+c@x.co.uk", "ana@localhost", "jürgen@müller.de"])
def test_email_is_accepted(text: str) -> None:
    assert is_email(text)


@pytest.mark.parametrize(
    "text", ["", "ana", "@x.org", "ana@", "a@b@c", "a b@x.org", "ana@x..org", "ana@x.org\n", "a" * 65 + "@x.org"]
)
def test_text_that_is_no_email_is_refused(text: str) -> None:
    assert not is_email(text)


@pytest.mark.parametrize(
    "text", ["https://example.org/a?b=c#d", "file:///srv/data", "mailto:ana@x.org", "http://[::1]:80/", "urn:a:b%20c"]
)
def test_uri_is_accepted(text: str) -> None:
    assert is_uri(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "/path",
        "http://",
        "https:///x",
        "http://a b",
        "http://x/%zz",
        "http://[::1",
        "x:\n",
        "http://ä",
    ],
)
def test_text_that_is_no_uri_is_refused(text: str) -> None:
    assert not is_uri(text)


@pytest.mark.parametrize(
    "text", ["2026-02-30", "2025-02-29", "20260101", "2026-1-1", "2026-W01-1", "٢٠٢٦-01-01", "2026-01-01\n", ""]
)
def test_text_that_is_no_date_is_refused(text: str) -> None:
    assert not is_date(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T10:00:00Z",
        "2026-01-31t10:00:00z",
        "2026-01-31T10:00:00.5+02:00",
        "2026-01-31T10:00:00.123456789-11:30",
    ],
)
def test_date_time_with_an_offset_is_accepted(text: str) -> None:
    assert is_date_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T10:00:00",
        "2026-02-30T10:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31 10:00:00Z",
        "2026-01-31T10:00Z",
        "2026-01-31T10:00:00+99:00",
        "20260131--T10:00:00Z",
        "2026-01-31",
    ],
)
def test_text_that_is_no_date_time_is_refused(text: str) -> None:
    assert not is_date_time(text)


@given(st.dates())
def test_every_date_is_accepted(day: date) -> None:
    assert is_date(day.isoformat())


@given(st.datetimes(), st.integers(-1_439, 1_439))
def test_every_moment_is_accepted(moment: datetime, offset: int) -> None:
    assert is_date_time(moment.replace(tzinfo=timezone(timedelta(minutes=offset))).isoformat())


@given(ANY_TEXT)
def test_format_checks_take_any_text(text: str) -> None:
    assert {is_email(text), is_uri(text), is_date(text), is_date_time(text)} <= {True, False}


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text", ["a." * 30_000, "a@" + "b." * 100, "a@" + "b." * 30_000, "http://" + "%" * 60_000, "9" * 60_000 + "T"]
)
def test_format_checks_are_quick_on_long_hostile_text(text: str) -> None:
    assert [is_email(text), is_uri(text), is_date(text), is_date_time(text)] == [False] * 4
