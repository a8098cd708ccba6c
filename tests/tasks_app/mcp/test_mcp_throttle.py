"""Not so fast: tokens come back with time, the answer says when, and memory stays bounded."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tasks_app.conf import Conf
from tasks_app.domain.clock import FrozenClock
from tasks_app.mcp.errors import Refused
from tasks_app.mcp.throttle import SEEN_SECONDS, Buckets, Throttle


def test_bucket_gives_its_burst_then_one_token_an_interval() -> None:
    clock = FrozenClock()
    buckets = Buckets(clock=clock.monotonic)

    waits = [buckets.take("a", interval=0.5, burst=3) for _ in range(4)]
    clock.advance(0.5)
    after = [buckets.take("a", interval=0.5, burst=3) for _ in range(2)]

    assert waits == [0, 0, 0, pytest.approx(0.5)]
    assert after == [0, pytest.approx(0.5)]


def test_refused_request_costs_nothing() -> None:
    clock = FrozenClock()
    buckets = Buckets(clock=clock.monotonic)
    for _ in range(100):
        buckets.take("a", interval=1, burst=1)

    clock.advance(1)

    assert buckets.take("a", interval=1, burst=1) == 0


def test_keys_do_not_share_a_bucket() -> None:
    buckets = Buckets(clock=FrozenClock().monotonic)

    assert [buckets.take(key, interval=1, burst=1) for key in "ab"] == [0, 0]


def test_rest_fills_the_bucket_no_further_than_its_burst() -> None:
    clock = FrozenClock()
    buckets = Buckets(clock=clock.monotonic)
    buckets.take("a", interval=1, burst=2)

    clock.advance(1000)

    assert [buckets.take("a", interval=1, burst=2) > 0 for _ in range(3)] == [False, False, True]


def test_memory_is_bounded_and_the_quietest_is_forgotten() -> None:
    clock = FrozenClock()
    buckets = Buckets(clock=clock.monotonic, size=3)
    for key in ("a", "b", "c", "a", "d"):
        buckets.take(key, interval=1, burst=2)

    assert len(buckets) == 3
    assert buckets.take("a", interval=1, burst=2) > 0
    assert buckets.take("b", interval=1, burst=2) == 0


def _count(call: object, *args: object, **kwargs: object) -> int:
    """How often it may be called until it refuses."""
    for number in range(10_000):
        try:
            call(*args, **kwargs)  # type: ignore[operator]
        except Refused:
            return number
    raise AssertionError("never refused")


def test_credential_may_hurry_for_four_seconds_then_is_told_when_to_come_back() -> None:
    clock = FrozenClock()
    throttle = Throttle(Conf(), clock=clock.monotonic)

    assert _count(throttle.credential, b"digest") == 400
    with pytest.raises(Refused) as refused:
        throttle.credential(b"digest")
    clock.advance(1)

    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    assert _count(throttle.credential, b"digest") == 100


def test_address_has_a_limit_of_its_own() -> None:
    clock = FrozenClock()
    throttle = Throttle(Conf(), clock=clock.monotonic)

    assert _count(throttle.address, "192.0.2.1") == 800
    clock.advance(1)

    assert _count(throttle.address, "192.0.2.1") == 200
    throttle.address("192.0.2.2")


def test_task_may_be_polled_four_times_an_interval_after_the_burst() -> None:
    clock = FrozenClock()
    throttle = Throttle(Conf(), clock=clock.monotonic)
    task_id = uuid4()

    assert _count(throttle.poll, task_id, poll_ms=5000) == 30
    clock.advance(5)

    assert _count(throttle.poll, task_id, poll_ms=5000) == 4
    throttle.poll(uuid4(), poll_ms=5000)


def test_time_to_wait_is_rounded_up() -> None:
    throttle = Throttle(Conf(polls_burst=1, polls_per_interval=1), clock=FrozenClock().monotonic)
    task_id = uuid4()
    throttle.poll(task_id, poll_ms=15_500)

    with pytest.raises(Refused) as refused:
        throttle.poll(task_id, poll_ms=15_500)

    assert refused.value.headers["Retry-After"] == "16"


def test_poll_is_refused_unread_only_to_who_saw_the_task_live_a_moment_ago() -> None:
    """section 2 item 7; nobody else learns from it that there is such a task."""
    clock = FrozenClock()
    throttle = Throttle(Conf(polls_burst=2, polls_per_interval=1), clock=clock.monotonic)
    task_id = uuid4()

    throttle.before_poll(b"me", task_id)
    assert _count(throttle.poll, task_id, poll_ms=5000, reader=b"me") == 2
    with pytest.raises(Refused) as refused:
        throttle.before_poll(b"me", task_id)
    throttle.before_poll(b"stranger", task_id)
    throttle.before_poll(b"me", uuid4())
    clock.advance(SEEN_SECONDS)
    throttle.before_poll(b"me", task_id)

    assert refused.value.headers["Retry-After"] == "5"


def test_looking_whether_a_poll_may_be_read_costs_no_token() -> None:
    throttle = Throttle(Conf(polls_burst=3, polls_per_interval=1), clock=FrozenClock().monotonic)
    task_id = uuid4()
    throttle.poll(task_id, poll_ms=5000, reader=b"me")

    for _ in range(10):
        throttle.before_poll(b"me", task_id)

    assert _count(throttle.poll, task_id, poll_ms=5000, reader=b"me") == 2
