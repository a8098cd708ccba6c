"""An auditor at work: what was never fetched and whose it was, who extended a task and why, taken away as a file."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, create, finish


@pytest.fixture
def clock(transactional_db: None) -> Iterator[DatabaseClock]:
    """The clock of what the test itself writes; the server's stays real."""
    clock = DatabaseClock()
    yield clock
    clock.release()


def serious_faults(page: Page) -> list[str]:
    """What a person with assistive technology would stumble over."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['help']}" for each in found if each["impact"] in {"serious", "critical"}]


@pytest.fixture
def auditor(clock: DatabaseClock, alice: User, signed_in: Page) -> Page:
    """Alice audits."""
    alice.groups.add(Group.objects.get_or_create(name="auditor")[0])
    return signed_in


def test_auditor_finds_whose_results_nobody_fetched_and_takes_away_who_extended_a_task(
    auditor: Page, clock: DatabaseClock, tmp_path: Path
) -> None:
    ana, cy, bo = Someone("ana"), Someone("cy"), Someone("bo", "operator")
    clock.set(clock.now() - timedelta(days=3))
    for owner, number in ((cy, 3), (ana, 1)):
        for _ in range(number):
            finish(owner, "report")
    task = create(ana, "deploy")
    by = Actor(ActorKind.OPERATOR, id=bo.owner_id, role="operator", via="console", reason="waiting, for ana")
    store.extend(task.id, more=timedelta(hours=1), owner_id=None, by=by)
    clock.advance(timedelta(hours=3))
    store.expire()
    clock.release()

    # Last week's results that nobody fetched, and whose most of them are.
    auditor.keyboard.press("g")
    auditor.keyboard.press("x")
    expect(auditor).to_have_url("/expirations/")
    auditor.get_by_role("link", name="Expired").click()
    auditor.get_by_role("link", name="4 never fetched").click()
    expect(auditor.locator(".facets a").first).to_have_text("cy 3")
    expect(auditor.locator("tbody tr")).to_have_count(4)

    # Who extended this task, when and why.
    auditor.get_by_role("link", name="1 extended before").click()
    auditor.get_by_role("link", name="Open record").click()
    expect(auditor.locator(".open-row")).to_contain_text("+1 h by bo for ana")
    expect(auditor.locator(".open-row")).to_contain_text("“waiting, for ana”")
    assert serious_faults(auditor) == []
    auditor.get_by_role("link", name="deploy", exact=True).click()
    expect(auditor.get_by_text("This task expired on")).to_be_visible()
    assert serious_faults(auditor) == []

    # The same as a file, with a manifest.
    auditor.get_by_role("link", name="Audit log", exact=True).first.click()
    auditor.get_by_label("Action").select_option("Expiry changed")
    auditor.get_by_role("button", name="Apply").click()
    auditor.get_by_role("button", name="Export").click()
    with auditor.expect_download() as download:
        auditor.get_by_role("button", name="CSV").click()
    file = tmp_path / "audit.csv"
    download.value.save_as(file)
    assert serious_faults(auditor) == []
    [row] = csv.DictReader(file.read_text().splitlines())
    assert (row["by"], row["reason"], row["task_id"]) == ("bo for ana", "waiting, for ana", str(task.id))

    auditor.goto("/audit/?action=export_finished")
    with auditor.expect_download() as download:
        auditor.get_by_role("link", name="Manifest").click()
    manifest = json.loads(download.value.path().read_text())
    assert (manifest["rows"], manifest["exporter"]) == (1, "alice")
    assert manifest["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_expired_page_tells_of_what_expires_while_somebody_reads(
    auditor: Page, alice: User, clock: DatabaseClock
) -> None:
    owner_id = store.owner_of(alice)
    for ttl_ms in (60_000, 120_000):
        store.create(store.NewTask(owner_id=owner_id, tool="crawl", ttl_ms=ttl_ms))
    clock.advance(timedelta(seconds=61))
    store.expire()
    auditor.goto("/expirations/expired/")
    expect(auditor.locator(".live")).to_have_text("Live")
    auditor.locator("tbody tr").first.hover()

    clock.advance(timedelta(seconds=61))
    store.expire()

    pill = auditor.locator("[data-new]")
    expect(pill).to_have_text("1 new", timeout=15_000)
    pill.click()
    expect(auditor.locator("tbody tr")).to_have_count(2)
