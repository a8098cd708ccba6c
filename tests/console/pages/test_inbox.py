"""The inbox: what waits for whom, in which order, narrowed and paged; every kind of field; what is over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console import store as console_store
from console.pages import inbox as inbox_page
from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, QuestionKind, QuestionState, Via
from tasks_app.store import queries
from tests.conftest import DatabaseClock
from tests.console.pages.markup import markup
from tests.console.pages.people import WORKER, Someone

pytestmark = pytest.mark.django_db

PLAIN: dict[str, Any] = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
APPROVE: dict[str, Any] = {"message": "Run it?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


def asking(
    owner: Someone,
    tool: str = "deploy",
    request: Mapping[str, Any] = PLAIN,
    *,
    kind: QuestionKind = QuestionKind.FORM,
    seconds: float | None = None,
) -> store.QuestionView:
    store.create(store.NewTask(owner_id=owner.owner_id, tool=tool, arguments={"service": "web"}))
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.write_output(claim, "planned the rollout")
    store.suspend(claim, [store.NewQuestion(name="go", request=request, kind=kind, seconds=seconds)])
    return queries.questions(claim.task_id)[0]


def form(**properties: Any) -> dict[str, Any]:
    required = [name for name, spec in properties.items() if spec.pop("is_required", False)]
    return {
        "message": "Fill in",
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    }


def address(asked: store.QuestionView, what: str = "") -> str:
    return f"/inbox/{asked.task_id}/{asked.key}/{what}"


def listed(page: str) -> list[str]:
    """The tools of the list, in its order."""
    return re.findall(r'<li><a href="/inbox/[^>]*><b>([^<]+)</b>', page)


def test_soonest_expiry_stands_first_and_is_open(ana: Someone) -> None:
    asking(ana, "later", seconds=5000)
    soon = asking(ana, "soon", seconds=500)

    page = ana.page("/inbox/")

    assert listed(page) == ["soon", "later"]
    assert f'action="{address(soon, "answer/")}"' in page
    assert "form" in page


def test_list_is_narrowed_by_tool_and_by_owner(ana: Someone, opal: Someone) -> None:
    asking(ana, "deploy")
    asking(ana, "crawl")
    asking(opal, "deploy")

    by_tool = opal.page("/inbox/?scope=all&tool=deploy")
    by_owner = opal.page(f"/inbox/?scope=all&owner={opal.owner_id}")
    none = opal.page("/inbox/?scope=all&tool=nothing")

    assert sorted(listed(by_tool)) == ["deploy", "deploy"]
    assert listed(by_owner) == ["deploy"]
    assert "Nothing matches." in none
    assert "?tool=crawl&amp;scope=all" in opal.page("/inbox/?scope=all")


@pytest.mark.parametrize(
    "query", ["tool=%00", "owner=x", "owner=99999999999999999999", "owner=٣", "after=forged", "tab=no"]
)
def test_strange_address_is_an_ordinary_list(ana: Someone, query: str) -> None:
    assert ana.browser.get(f"/inbox/?{query}").status_code == 200


def test_long_list_has_pages_that_hold_each_question_once(ana: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_page, "PAGE", 2)
    for number in range(5):
        asking(ana, f"tool{number}", seconds=1000 + number)

    seen, place = [], "/inbox/"
    while place:
        page = ana.browser.get(place)
        seen += [row.item.tool for row in page.context["rows"]]
        place = f"/inbox/{page.context['more']}" if page.context["more"] else ""

    assert seen == [f"tool{number}" for number in range(5)]


def test_page_asks_the_database_a_fixed_number_of_times(ana: Someone) -> None:
    for _ in range(2):
        asking(ana)
    few = _queries(ana)
    for _ in range(15):
        asking(ana)

    assert _queries(ana) == few
    assert few <= 22


def _queries(someone: Someone) -> int:
    with CaptureQueriesContext(connection) as captured:
        someone.page("/inbox/")
    return len(captured)


def test_operator_is_called_for_approvals_of_others_but_not_for_ones_own(ana: Someone, opal: Someone) -> None:
    store.create(store.NewTask(owner_id=ana.owner_id, tool="drop", arguments={"table": "orders"}, approval=APPROVE))
    store.create(store.NewTask(owner_id=opal.owner_id, tool="own", arguments={}, approval=APPROVE))

    page = opal.page("/inbox/")

    assert opal.browser.get("/inbox/count/").json()["open"] == 1
    assert ana.browser.get("/inbox/count/").json()["open"] == 0
    assert "<title>(1) Inbox" in page
    assert sorted(listed(page)) == ["drop", "own"]
    assert "orders" in page
    assert "Approve" in page


def test_arguments_to_approve_stand_beside_the_question_and_not_in_its_heading(ana: Someone, opal: Someone) -> None:
    gate = APPROVE | {"message": 'Run drop with these arguments?\n{"table": "orders"}'}
    store.create(store.NewTask(owner_id=ana.owner_id, tool="drop", arguments={"table": "orders"}, approval=gate))

    page = opal.page("/inbox/")

    assert '<h2 class="said">Run drop with these arguments?</h2>' in page
    assert "orders" in page.partition('class="context"')[2]


def test_operator_is_told_why_their_own_task_needs_somebody_else(opal: Someone) -> None:
    task = store.create(store.NewTask(owner_id=opal.owner_id, tool="own", arguments={}, approval=APPROVE)).task
    asked = queries.questions(task.id)[0]

    page = opal.page(address(asked))

    assert "Somebody else than the task&#x27;s owner has to approve it." in page
    assert 'value="accept"' not in page


def test_model_request_is_shown_as_it_came_and_calls_nobody(ana: Someone) -> None:
    asked = asking(ana, request={"messages": [], "maxTokens": 77}, kind=QuestionKind.SAMPLING)

    page = ana.page(address(asked))

    assert "This needs a model client, not a person." in page
    assert "&quot;maxTokens&quot;: 77" in page
    assert 'value="accept"' not in page
    assert ana.browser.get("/inbox/count/").json()["open"] == 0


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://bank.example/login", ["<b>bank.example</b>"]),
        ("https://xn--bcher-kva.example/", ["<b>bücher.example</b>", "<code>xn--bcher-kva.example</code>"]),
        ("https://bücher.example/", ["<b>bücher.example</b>", "<code>xn--bcher-kva.example</code>"]),
        ("https://bank.example@evil.example/", ["<b>evil.example</b>"]),
        ("https://[::1", ["an address that cannot be opened from here"]),
    ],
)
def test_link_shows_where_it_leads_decoded_and_raw(ana: Someone, url: str, shown: list[str]) -> None:
    asked = asking(ana, request={"mode": "url", "message": "Open", "url": url}, kind=QuestionKind.URL)

    page = ana.page(address(asked))

    assert [part for part in shown if part not in page] == []


def test_every_kind_of_field_has_its_control_its_default_and_its_limits(ana: Someone) -> None:
    request = form(
        line={"type": "string", "default": "short", "minLength": 3},
        area={"type": "string", "maxLength": 500},
        mail={"type": "string", "format": "email", "default": "a@example.org"},
        link={"type": "string", "format": "uri"},
        day={"type": "string", "format": "date", "default": "2026-11-20"},
        whole={"type": "integer", "minimum": 1, "maximum": 20000, "default": 9007199254740993},
        part={"type": "number", "description": "Seconds.", "minimum": 0.5},
        sure={"type": "boolean", "is_required": True},
        dry={"type": "boolean", "default": True},
        few={"type": "string", "enum": ["a", "b"], "default": "b"},
        some={"type": "string", "enum": list("abcdefg")},
        many={"type": "string", "enum": [f"zone-{n}" for n in range(16)]},
        several={"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "minItems": 1, "maxItems": 2},
    )

    page = ana.page(address(asking(ana, request=request)))

    for part in (
        r'value="short"', "At least 3 characters", r"<textarea[^>]*maxlength=.500.",
        r'type="email" value="a@example.org"',
        r'type="url"', r'type="date" value="2026-11-20"', r'inputmode="numeric"', "Whole number, 1 to 20,000",
        r'inputmode="decimal"', "Seconds. At least 0.5", r'type="radio" name="f-sure" value="true">Yes',
        r'type="checkbox" id="[^"]+" name="f-dry" value="true" checked', r'type="radio" name="f-few" value="b" checked',
        r'<select id="[^"]+" name="f-some"', r'data-finds="[^"]+"[^>]*placeholder="Find in 16 options"',
        r'type="checkbox" name="f-several" value="x"', "Choose 1 to 2",
    ):  # fmt: skip
        assert re.search(part, page), part
    assert page.count("data-finds") == 1


def test_moment_is_shown_and_read_in_the_zone_of_the_person(ana: Someone) -> None:
    request = form(at={"type": "string", "format": "date-time", "default": "2026-07-01T09:30:00Z"})
    asked = asking(ana, request=request)

    ana.browser.post("/account/zone/", {"time_zone": "Europe/Berlin"})
    page = ana.page(address(asked))
    ana.browser.post(address(asked, "answer/"), {"action": "accept", "f-at": "2026-07-01T11:45"})

    assert 'type="datetime-local" value="2026-07-01T11:30"' in page
    assert "Time in Europe/Berlin" in page
    assert queries.questions(asked.task_id)[0].answer == {
        "action": "accept",
        "content": {"at": "2026-07-01T11:45:00+02:00"},
    }


def test_answer_that_does_not_fit_stays_in_the_inbox_with_what_was_typed(ana: Someone) -> None:
    asked = asking(ana, request=form(note={"type": "string", "is_required": True}, n={"type": "integer", "maximum": 5}))
    asking(ana, "other")

    typed = {"action": "accept", "then": "inbox", "f-note": "", "f-n": "77", "next": "1"}
    answer = ana.browser.post(address(asked, "answer/"), typed)

    page = markup(answer)
    assert answer.status_code == 422
    assert sorted(listed(page)) == ["deploy", "other"]
    assert "2 fields need a change" in page
    for anchor in re.findall(r'<a href="#([^"]+)">(?:note|n)</a>', page):
        assert f'id="{anchor}"' in page
    assert 'value="77"' in page


def test_late_answer_is_told_in_the_inbox_with_the_draft(ana: Someone, opal: Someone) -> None:
    asked = asking(ana, request=form(note={"type": "string"}))
    opal.browser.post(address(asked, "answer/"), {"action": "decline", "reason": "duplicate"})

    answer = ana.browser.post(
        address(asked, "answer/"), {"action": "accept", "then": "inbox", "f-note": "my long draft"}
    )

    page = markup(answer)
    assert answer.status_code == 409
    assert "opal declined this. Your answer was not sent." in page
    assert 'value="my long draft"' in page
    assert "<fieldset" in page
    assert "disabled" in page
    assert "Copy draft" in page
    assert "Next question" in page
    assert "duplicate" in page


def test_after_an_answer_the_next_question_opens_unless_one_wants_to_stay(ana: Someone) -> None:
    first, second, third = (asking(ana, seconds=seconds) for seconds in (100, 200, 300))

    on = ana.browser.post(address(first, "answer/"), {"action": "accept", "then": "inbox", "next": "1"})
    stays = ana.browser.post(address(second, "answer/"), {"action": "accept", "then": "inbox"})

    assert on["Location"] == address(second)
    assert stays["Location"] == address(second)
    assert 'name="next" value="1" checked' in ana.page(address(third))
    console_store.set_notice(ana.user.pk, advance=False)
    assert 'name="next" value="1">' in ana.page("/inbox/")


def test_last_answer_leads_to_the_empty_inbox(ana: Someone) -> None:
    asked = asking(ana)

    done = ana.browser.post(address(asked, "answer/"), {"action": "accept", "then": "inbox", "next": "1"}, follow=True)

    assert "Nothing needs you" in markup(done)


def test_answered_tab_shows_who_sent_what(ana: Someone) -> None:
    asked = asking(ana, request=form(note={"type": "string", "default": "unsaid"}))
    given = {asked.key: store.Answer(AnswerAction.ACCEPT, {"note": "as agreed"})}
    by = _owner(ana)
    store.answer(asked.task_id, given, owner_id=ana.owner_id, by=by, via=Via.CONSOLE)

    page = ana.page(address(asked) + "?tab=answered")

    assert listed(page) == ["deploy"]
    assert "ana answered this." in page
    assert 'value="as agreed"' in page
    assert "unsaid" not in page


def _owner(someone: Someone) -> Actor:
    return Actor(ActorKind.OWNER, id=someone.owner_id, via="console")


def test_expired_question_is_locked_before_and_after_the_sweep(ana: Someone, clock: DatabaseClock) -> None:
    asked = asking(ana, seconds=60)
    clock.advance(timedelta(seconds=61))

    unlisted, unswept = ana.page("/inbox/"), ana.page(address(asked))
    state = ana.browser.get(address(asked, "state/"))
    store.expire_questions()
    expired = ana.page("/inbox/?tab=expired")

    assert "Nothing needs you" in unlisted
    assert "Nobody answered in time." in unswept
    assert 'value="accept"' not in unswept
    assert state.status_code == 200
    assert listed(expired) == ["deploy"]
    assert queries.questions(asked.task_id)[0].state is QuestionState.EXPIRED
    clock.release()


def test_person_sees_why_they_are_asked(ana: Someone) -> None:
    page = ana.page(address(asking(ana)))

    assert "planned the rollout" in page
    assert "&quot;web&quot;" in page or '"web"' in page


def test_empty_inbox_says_what_goes_on_and_offers_to_tell(ana: Someone) -> None:
    store.create(store.NewTask(owner_id=ana.owner_id, tool="crawl"))

    page = ana.page("/inbox/")

    assert "1 task is working." in page
    assert "Turn on notifications" in page
