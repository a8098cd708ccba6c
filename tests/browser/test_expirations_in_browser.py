"""The end of tasks in a real browser: a policy is tried out before it counts, and what expired is explained."""

from __future__ import annotations

import csv
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.policy import Rule
from tasks_app.store import policy
from tests.browser.test_live_in_browser import claimed, complete, create
from tests.conftest import DatabaseClock


@pytest.fixture
def owner_id(alice: User) -> int:
    """Alice as an owner."""
    return store.owner_of(alice)


def test_admin_sees_what_a_policy_would_do_and_then_puts_it_in_force(
    signed_in: Page, alice: User, owner_id: int
) -> None:
    alice.groups.add(Group.objects.get_or_create(name="admin")[0])
    for _ in range(3):
        create(owner_id)
    create(owner_id, "crawl")
    signed_in.goto("/expirations/")
    signed_in.get_by_role("link", name="Policy").click()
    expect(signed_in.get_by_text("No policy has been saved")).to_be_visible()

    signed_in.get_by_role("textbox", name="Tool").fill("deploy")
    signed_in.get_by_label("Purge after").fill("2d")
    signed_in.get_by_role("button", name="Show what it would do").click()
    preview = signed_in.get_by_role("region", name="Would become version 1")
    expect(preview.get_by_role("status")).to_contain_text("3tasks touched")
    assert policy.newest().version == 0
    preview.get_by_label("Reason").fill("less to keep")
    preview.get_by_role("button", name="Save as version 1").click()

    expect(signed_in.get_by_text("Version 1 is in force.")).to_be_visible()
    versions = signed_in.get_by_role("region", name="Versions")
    expect(versions).to_contain_text("by alice")
    expect(versions).to_contain_text("less to keep")
    assert policy.newest().terms("deploy", owner_id).purge_after == timedelta(days=2).total_seconds()


def test_record_says_who_extended_the_task_and_under_which_policy_and_is_exported(
    signed_in: Page, owner_id: int, clock: DatabaseClock, tmp_path: Path
) -> None:
    by = Actor(ActorKind.OWNER, id=owner_id, via="console", reason="tidy")
    policy.save([Rule(tool="deploy", purge_after=3600.0)], base=0, by=by)
    clock.set(clock.now() - timedelta(days=2))
    claim = claimed(owner_id)
    complete(claim)
    store.extend(claim.task_id, more=timedelta(hours=1), owner_id=owner_id, by=by)
    clock.release()
    while store.expire():
        pass
    signed_in.goto("/expirations/expired/")

    signed_in.get_by_role("link", name="Open record").click()
    facts = signed_in.locator(".open-row")
    expect(facts).to_contain_text("version 1")
    expect(facts).to_contain_text("alice")
    signed_in.get_by_role("button", name="Export").click()
    with signed_in.expect_download() as download:
        signed_in.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "records.csv")

    [record] = csv.DictReader((tmp_path / "records.csv").read_text().splitlines())
    assert record["task_id"] == str(claim.task_id)
    assert record["policy_version"] == "1"
    assert record["extended_times"] == "1"
    assert record["extended_by"] == "alice"
