"""One's own settings, and the webhooks of an admin."""

from __future__ import annotations

import re

import pytest
from pytest_django import Settings

from console import store
from console.models import Delivery
from console.webhooks.message import SECRET_PREFIX
from tasks_app.domain.identity import Actor
from tests.console.pages.markup import markup
from tests.console.pages.people import Someone

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.org/services/T000/B000/abcdefgh"


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def ada(db: None) -> Someone:
    """An admin."""
    return Someone("ada", "admin")


def test_settings_begin_with_the_defaults_and_are_kept(ana: Someone) -> None:
    before = store.notice_of(ana.user.pk)

    answer = ana.browser.post("/settings/", {"notify": "on"})

    assert (before.notify, before.advance) == (False, True)
    assert answer["Location"] == "/settings/"
    assert (store.notice_of(ana.user.pk).notify, store.notice_of(ana.user.pk).advance) == (True, False)
    assert re.search(r'name="notify" value="on" checked', ana.page("/settings/"))
    assert ana.browser.get("/inbox/count/").json()["notify"] is True


def test_notifications_are_turned_on_from_the_empty_inbox_without_losing_the_rest(ana: Someone) -> None:
    store.set_notice(ana.user.pk, advance=False)
    assert "Turn on notifications" in ana.page("/inbox/")

    ana.browser.post("/settings/notify/", {"notify": "on"})

    assert store.notice_of(ana.user.pk) == store.NoticeView(notify=True, advance=False)
    assert "Turn on notifications" not in ana.page("/inbox/")


def test_settings_of_one_account_are_not_those_of_another(ana: Someone, ada: Someone) -> None:
    ana.browser.post("/settings/", {"notify": "on"})

    assert store.notice_of(ada.user.pk) == store.NoticeView()


@pytest.mark.parametrize("groups", [(), ("operator",), ("auditor",)])
def test_webhooks_are_only_for_admins(groups: tuple[str, ...]) -> None:
    other = Someone("other", *groups)
    webhook_id = store.create_webhook(url=URL, salt="s", site="https://x.example", names_tool=False, by=Actor.engine())

    statuses = {
        other.browser.get("/settings/webhooks/").status_code,
        other.browser.get("/settings/webhooks/state/").status_code,
        other.browser.post("/settings/webhooks/", {"url": URL}).status_code,
        other.browser.post(f"/settings/webhooks/{webhook_id}/test/").status_code,
        other.browser.post(f"/settings/webhooks/{webhook_id}/delete/").status_code,
    }

    assert statuses == {403}
    assert len(store.webhooks()) == 1
    assert "/settings/webhooks/" not in other.page("/settings/")


def test_secret_is_shown_once_and_the_address_never_whole(ada: Someone) -> None:
    made = markup(ada.browser.post("/settings/webhooks/", {"url": URL}))

    later = ada.page("/settings/webhooks/")

    assert len(re.findall(rf"{SECRET_PREFIX}[0-9a-f]{{64}}", made)) == 1
    assert SECRET_PREFIX not in later
    assert "https://hooks.example.org" in later
    assert "/…efgh" in later
    assert "T000" not in made + later
    assert store.webhooks()[0].site == "http://testserver"


@pytest.mark.parametrize(
    "url", ["", "hooks.example.org", "http://127.0.0.1:9/", "http://[::ffff:10.0.0.1]/", "https://a:b@c.example/"]
)
def test_wrong_address_is_refused_with_the_reason_and_kept_in_the_field(ada: Someone, url: str) -> None:
    answer = ada.browser.post("/settings/webhooks/", {"url": url})

    assert answer.status_code == 422
    assert 'aria-describedby="hook-problem"' in markup(answer)
    assert f'value="{url}"' in markup(answer)
    assert store.webhooks() == []


def test_sent_test_waits_for_the_engine_and_the_list_follows_it(ada: Someone) -> None:
    ada.browser.post("/settings/webhooks/", {"url": URL})
    webhook_id = store.webhooks()[0].id

    ada.browser.post(f"/settings/webhooks/{webhook_id}/test/")
    moving = markup(ada.browser.get("/settings/webhooks/state/"))
    [leased] = store.lease_deliveries(limit=1)
    store.failed(leased, error="It answered <b>404</b>.")
    failed = ada.page("/settings/webhooks/")

    assert "Test on its way" in moving
    assert 'hx-trigger="every 2s"' in moving
    assert "<html" not in moving
    assert "Test failed, 1 try, next in 4s: It answered &lt;b&gt;404&lt;/b&gt;." in failed


def test_webhook_is_deleted_with_what_waits(ada: Someone) -> None:
    ada.browser.post("/settings/webhooks/", {"url": URL})
    webhook_id = store.webhooks()[0].id
    store.queue_test(webhook_id)

    ada.browser.post(f"/settings/webhooks/{webhook_id}/delete/")

    assert store.webhooks() == []
    assert not Delivery.objects.exists()
    assert ada.browser.post(f"/settings/webhooks/{webhook_id}/delete/").status_code == 404
    assert ada.browser.post(f"/settings/webhooks/{webhook_id}/test/").status_code == 404


def test_keys_and_density_are_settings_too(ana: Someone) -> None:
    """Single characters can be switched off (WCAG 2.1.4) where settings are looked for."""
    before = ana.page("/settings/")
    saved = ana.browser.post("/account/keys/", {"back": "/settings/"}, follow=True)
    ana.browser.post("/tasks/density/", {"density": "compact", "back": "/settings/"})
    after = ana.page("/settings/")

    assert 'name="single_keys" value="on" checked' in before
    assert "Settings saved." in markup(saved)
    assert saved.redirect_chain == [("/settings/", 302)]
    assert 'name="single_keys" value="on" aria' in after
    assert 'data-single-keys="off"' in after
    assert 'value="compact" aria-pressed="true"' in after


def test_demo_is_removed_from_the_settings_by_an_admin_only(ana: Someone, ada: Someone, settings: Settings) -> None:
    settings.TASKDECK_DEMO = True

    assert 'action="/demo/remove/"' in ada.page("/settings/")
    assert "/demo/remove/" not in ana.page("/settings/")
    settings.TASKDECK_DEMO = False
    assert "/demo/remove/" not in ada.page("/settings/")
