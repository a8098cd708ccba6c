"""Webhooks: each new question is told once to each address, signed, again after a failure, never to a wrong place."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import pytest
from django.db import connection

from console import store
from console.models import Delivery, Webhook
from console.webhooks import send
from console.webhooks.address import Refused, check_public, parse_url, resolve
from console.webhooks.duty import Sender, deliver, forget
from console.webhooks.message import secret_of
from tasks_app import store as tasks
from tasks_app.domain.errors import NotAllowed
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import QuestionKind
from tasks_app.models.event import Event
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.racing import SECONDS, Writer, crowd, race
from tests.receiver import Receiver, receiving
from tests.waiting import until

ASK = {"message": "the secret plan?", "requestedSchema": {"type": "object", "properties": {}}}
SITE = "https://tasks.example.org"


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """Somebody who listens, on this machine."""
    settings.TASKDECK_WEBHOOK_ALLOW_PRIVATE = True
    with receiving() as listening:
        yield listening


def hook(url: str, *, names_tool: bool = False, salt: str = "salt") -> int:
    return store.create_webhook(url=url, salt=salt, site=SITE, names_tool=names_tool, by=Actor.engine())


def asked_by(owner: Person, kind: QuestionKind = QuestionKind.FORM) -> tasks.QuestionView:
    tasks.create(tasks.NewTask(owner_id=owner.id, tool="deploy", arguments={"token": "hidden"}))
    claim = tasks.claim_next(tasks.Claimant("w1"))
    assert claim is not None
    tasks.suspend(claim, [tasks.NewQuestion(name="go", request=ASK, kind=kind)])
    return queries.questions(claim.task_id)[0]


def send_due() -> int:
    """What the duty does, in this thread."""
    store.find_new_questions()
    leased = store.lease_deliveries(limit=10)
    for each in leased:
        deliver(each)
    return len(leased)


def states() -> list[str]:
    return list(Delivery.objects.order_by("id").values_list("state", flat=True))


@pytest.mark.django_db
def test_new_question_is_told_with_a_link_and_without_a_word_of_what_is_asked(
    receiver: Receiver, alice: Person
) -> None:
    hook(receiver.url)
    question = asked_by(alice)

    send_due()

    [got] = receiver.received
    link = f"{SITE}/inbox/{question.task_id}/{question.key}/"
    assert got.path == "/hook?channel=7"
    assert got.json["text"] == f"A task needs your input: {link}"
    assert got.json["url"] == link
    assert got.json["type"] == "question.opened"
    assert not any(word in str(got.json) for word in ("secret plan", "hidden", "deploy", "alice"))
    assert states() == ["sent"]


@pytest.mark.django_db
def test_message_is_signed_over_its_time_and_its_body(receiver: Receiver, alice: Person) -> None:
    hook(receiver.url, salt="abc")
    asked_by(alice)

    send_due()

    [got] = receiver.received
    said = got.headers["Taskdeck-Timestamp"].encode() + b"." + got.body
    expected = hmac.new(secret_of("abc").encode(), said, hashlib.sha256).hexdigest()
    assert got.headers["Taskdeck-Signature"] == f"v1={expected}"
    assert got.headers["Taskdeck-Delivery"] == str(got.json["delivery"])
    assert secret_of("abc") != secret_of("abd")


@pytest.mark.django_db
def test_tool_and_owner_are_named_only_where_that_is_wanted(receiver: Receiver, alice: Person) -> None:
    hook(receiver.url, names_tool=True)
    asked_by(alice)

    send_due()

    [got] = receiver.received
    assert got.json["text"].startswith("deploy of alice needs an answer: ")
    assert (got.json["tool"], got.json["owner"]) == ("deploy", "alice")


@pytest.mark.django_db
def test_question_is_told_once_to_each_address_and_none_from_before(
    receiver: Receiver, alice: Person, clock: DatabaseClock
) -> None:
    asked_by(alice)
    hook(receiver.url, salt="one")
    hook(receiver.url, salt="two")
    asked_by(alice)

    sent = [send_due(), send_due()]
    clock.advance(timedelta(minutes=2))
    sent += [send_due(), send_due()]

    assert sent == [2, 0, 0, 0]
    assert len(receiver.received) == 2
    assert set(Webhook.objects.values_list("seen_id", flat=True)) == {queries_newest()}


def queries_newest() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM tasks_question")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_what_only_a_model_can_answer_is_told_to_nobody(receiver: Receiver, alice: Person) -> None:
    hook(receiver.url)
    asked_by(alice, QuestionKind.SAMPLING)

    assert send_due() == 0


@pytest.mark.django_db
def test_question_that_is_over_is_not_told_any_more(receiver: Receiver, alice: Person) -> None:
    hook(receiver.url)
    question = asked_by(alice)
    store.find_new_questions()
    tasks.cancel(question.task_id, owner_id=None, by=alice.acts())

    send_due()

    assert receiver.received == []
    assert states() == ["dropped"]


@pytest.mark.django_db
def test_failed_message_is_sent_again_later_and_given_up_in_the_end(
    receiver: Receiver, alice: Person, clock: DatabaseClock
) -> None:
    receiver.statuses = [500] * 20
    hook(receiver.url)
    asked_by(alice)

    first = send_due()
    at_once = send_due()
    waits = 0
    while states() == ["waiting"]:
        clock.advance(timedelta(hours=2, seconds=1))
        send_due()
        waits += 1

    [seen] = store.webhooks()
    assert (first, at_once) == (1, 0)
    assert len(receiver.received) == waits + 1 == 8
    assert seen.last is not None
    assert (seen.last.state, seen.last.attempts, seen.last.error) == ("failed", 8, "It answered 500.")


@pytest.mark.django_db
def test_message_that_failed_once_arrives_the_second_time(
    receiver: Receiver, alice: Person, clock: DatabaseClock
) -> None:
    receiver.statuses = [503]
    hook(receiver.url)
    asked_by(alice)

    send_due()
    clock.advance(timedelta(seconds=6))
    send_due()

    assert states() == ["sent"]
    assert receiver.received[0].headers["Taskdeck-Delivery"] == receiver.received[1].headers["Taskdeck-Delivery"]


@pytest.mark.django_db
def test_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [302]
    store.queue_test(hook(receiver.url))

    send_due()

    [seen] = store.webhooks()
    assert [each.path for each in receiver.received] == ["/hook?channel=7"]
    assert seen.last is not None
    assert "redirects are not followed" in seen.last.error


@pytest.mark.django_db
def test_lost_lease_records_nothing(receiver: Receiver, clock: DatabaseClock) -> None:
    store.queue_test(hook(receiver.url))
    [slow] = store.lease_deliveries(limit=1)

    early = store.lease_deliveries(limit=1)
    clock.advance(timedelta(seconds=61))
    [again] = store.lease_deliveries(limit=1)

    assert early == []
    assert (slow.id, slow.attempt + 1) == (again.id, again.attempt)
    assert store.delivered(slow) is False
    assert store.failed(slow, error="late") is False
    assert store.delivered(again) is True


@pytest.mark.django_db(transaction=True)
def test_two_loops_never_lease_the_same_message(receiver: Receiver) -> None:
    store.queue_test(hook(receiver.url))

    one, other = race(
        lambda: store.lease_deliveries(limit=4), lambda: store.lease_deliveries(limit=4), at=None, blocks=False
    )

    assert isinstance(one, list)
    assert len(one) == 1
    assert other == []


@pytest.mark.django_db(transaction=True)
def test_loops_that_look_at_once_find_each_question_once(receiver: Receiver, alice: Person) -> None:
    hook(receiver.url)
    for _ in range(5):
        asked_by(alice)

    with crowd(3) as at_once:
        at_once(*[store.find_new_questions] * 3)
    store.find_new_questions()

    assert states() == ["waiting"] * 5


@pytest.mark.django_db(transaction=True)
def test_question_with_an_earlier_number_that_is_committed_later_is_told_too(receiver: Receiver, alice: Person) -> None:
    hook(receiver.url)
    slow = Writer(lambda: asked_by(alice).id, at=None, holds=True)
    assert slow.has_run.wait(SECONDS)
    quick = asked_by(alice).id

    store.find_new_questions()
    before = list(Delivery.objects.values_list("question_id", flat=True))
    late = slow.commit()
    store.find_new_questions()

    assert before == [quick]
    assert isinstance(late, int)
    assert late < quick
    assert set(Delivery.objects.values_list("question_id", flat=True)) == {late, quick}


@pytest.mark.django_db(transaction=True)
def test_duty_sends_in_threads_of_its_own_and_does_not_wait(receiver: Receiver, alice: Person) -> None:
    may_answer = threading.Event()

    def wait() -> None:
        may_answer.wait(10)

    receiver.meanwhile = wait
    hook(receiver.url)
    for _ in range(6):
        asked_by(alice)
    sender = Sender()

    sender.run()
    until(lambda: receiver.received)
    is_sent_before = "sent" in states()
    may_answer.set()
    until(lambda: states() == ["sent"] * 6)

    assert not is_sent_before
    assert len(receiver.received) == 6
    until(lambda: not sender._threads)


@pytest.mark.django_db
def test_server_that_dribbles_is_cut_off(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TASKDECK_WEBHOOK_ALLOW_PRIVATE = True
    monkeypatch.setattr(send, "TOTAL_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def dribble() -> None:
            peer, _ = listener.accept()
            with peer:
                while not over.wait(0.05):
                    try:
                        peer.send(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=dribble, daemon=True)
        thread.start()

        with pytest.raises(send.NotSent):
            send.post(f"http://127.0.0.1:{listener.getsockname()[1]}/", b"{}", {})

        over.set()
        thread.join(5)


@pytest.mark.parametrize(
    "number",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
     "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
     "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1"],
)  # fmt: skip
def test_private_addresses_are_refused_in_every_disguise(number: str) -> None:
    with pytest.raises(Refused):
        check_public(ip_address(number))


@pytest.mark.parametrize("url", ["http://a..b/", f"http://{'x' * 64}.example/", "http://no-such-host.invalid/"])
def test_name_that_nobody_knows_is_a_failure_like_any_other(url: str) -> None:
    with pytest.raises(send.NotSent, match="not known"):
        send.post(url, b"{}", {})


@pytest.mark.django_db
def test_message_whose_every_try_was_cut_short_is_given_up(receiver: Receiver, clock: DatabaseClock) -> None:
    store.queue_test(hook(receiver.url))
    for _ in range(store.MOST_ATTEMPTS):
        store.lease_deliveries(limit=1)
        clock.advance(timedelta(seconds=61))

    send_due()

    assert states() == ["failed"]
    assert receiver.received == []


@pytest.mark.parametrize("number", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_public_addresses_are_allowed(number: str) -> None:
    check_public(ip_address(number))


@pytest.mark.parametrize(
    "url",
    ["ftp://a.example/", "https://", "//a.example/", "https://user:pw@a.example/", "https://a.example:99999/",
     "javascript:1", "https://127.0.0.1/", "https://[::1]/", "https://[fe80::1/", "https://a.example/\r\nX: y", "https://bücher.example/",
     "https://a.example/" + "x" * 2000],
)  # fmt: skip
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(Refused):
        parse_url(url)


def test_name_that_leads_to_this_machine_is_refused_when_it_is_resolved() -> None:
    with pytest.raises(Refused, match="private network"):
        resolve("localhost", 80)


@pytest.mark.django_db
def test_private_target_is_looked_at_again_when_a_message_is_sent(receiver: Receiver, settings: Any) -> None:
    store.queue_test(hook(receiver.url.replace("127.0.0.1", "localhost")))
    settings.TASKDECK_WEBHOOK_ALLOW_PRIVATE = False

    send_due()

    [seen] = store.webhooks()
    assert receiver.received == []
    assert seen.last is not None
    assert "private network" in seen.last.error


@pytest.mark.django_db
def test_creation_and_deletion_are_on_record_by_host_alone(receiver: Receiver) -> None:
    webhook_id = hook(receiver.url)
    store.queue_test(webhook_id)

    store.delete_webhook(webhook_id, by=Actor.engine())

    kinds = list(Event.objects.filter(kind__startswith="webhook_").order_by("id").values_list("kind", "detail"))
    detail = {"webhook": webhook_id, "host": "127.0.0.1"}
    assert kinds == [("webhook_created", detail), ("webhook_deleted", detail)]
    assert not Delivery.objects.exists()


@pytest.mark.django_db
def test_there_is_a_limit_to_webhooks(receiver: Receiver) -> None:
    for number in range(20):
        hook(receiver.url, salt=str(number))

    with pytest.raises(NotAllowed, match="20"):
        hook(receiver.url, salt="one too many")


@pytest.mark.django_db
def test_old_deliveries_are_forgotten(receiver: Receiver, clock: DatabaseClock) -> None:
    store.queue_test(hook(receiver.url))
    send_due()

    clock.advance(timedelta(days=6))
    assert forget() == 0
    clock.advance(timedelta(days=2))
    assert forget() == 1
