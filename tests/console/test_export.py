"""Exports: exactly what the filter shows, streamed, safe to open, and on record."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console import export
from console.pages import exports
from console.pages.bulk import MOST_PICKED
from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.models import Event
from tasks_app.store import audit, search
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, create, finish

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def una(db: None) -> Someone:
    return Someone("una", "auditor")


def taken(someone: Someone, address: str, format_: str = "csv", **values: Any) -> tuple[bytes, str]:
    answer: Any = someone.browser.post(address, {"format": format_, **values})
    assert answer.status_code == 200
    assert answer.streaming
    return b"".join(answer.streaming_content), answer["X-Export-Id"]


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_export_holds_exactly_what_the_filter_shows(ana: Someone, una: Someone, clock: DatabaseClock) -> None:
    unread, read = finish(ana, "unread"), finish(ana, "read")
    store.record_fetch(read.id, credential_id=None)
    clock.advance(timedelta(hours=2))
    store.expire()

    content, _ = taken(una, "/expirations/expired/export/?kind=unfetched&range=7d")

    [row] = read_csv(content)
    assert (row["task_id"], row["owner"], row["fetched_times"]) == (str(unread.id), "ana", "0")
    assert row["observed_at"].endswith("Z")
    assert len(row["payload_sha256"]) == 64


def test_manifest_tells_filter_rows_digest_and_exporter(ana: Someone, una: Someone) -> None:
    create(ana)

    content, export_id = taken(una, "/audit/export/?range=24h&action=created", "jsonl")
    manifest = una.browser.get(f"/exports/{export_id}/manifest.json").json()

    assert manifest["sha256"] == hashlib.sha256(content).hexdigest()
    assert (manifest["rows"], manifest["bytes"], manifest["complete"]) == (1, len(content), True)
    assert (manifest["exporter"], manifest["format"], manifest["what"]) == ("una", "jsonl", "audit")
    assert (manifest["filter"]["action"], manifest["filter"]["scope"]) == ("created", "everyone")
    assert manifest["began_at"] < manifest["finished_at"]
    assert ana.browser.get(f"/exports/{export_id}/manifest.json").status_code == 404


def test_export_is_on_record_before_and_after(una: Someone) -> None:
    _, export_id = taken(una, "/audit/export/")

    begun, done = Event.objects.filter(kind__startswith="export").order_by("id")
    assert (begun.kind, done.kind) == (audit.EXPORT_BEGUN, audit.EXPORT_DONE)
    assert {event.detail["export"] for event in (begun, done)} == {export_id}
    assert {event.owner_id for event in (begun, done)} == {una.owner_id}
    page = una.page("/audit/")
    assert f"/exports/{export_id}/manifest.json" in page


def test_export_that_is_broken_off_is_recorded_as_such(ana: Someone) -> None:
    create(ana)
    source = export.log(audit.Wanted(scope=None), words={})
    broken = export.Export(source, export.Format.CSV, Actor.system(via="test"))
    pieces = broken.chunks()

    next(pieces)
    pieces.close()

    assert Event.objects.get(kind=audit.EXPORT_DONE).detail["complete"] is False


def test_owner_exports_own_rows_only(ana: Someone) -> None:
    eddy = Someone("eddy")
    task = create(ana)

    for address in ("/tasks/export/?scope=all", "/audit/export/?scope=all", f"/audit/export/?task={task.id}&scope=all"):
        content, _ = taken(eddy, address)
        assert str(task.id).encode() not in content.split(b"\r\n", 1)[1]
    content, _ = taken(ana, "/tasks/export/?q=tool:deploy")
    assert [row["id"] for row in read_csv(content)] == [str(task.id)]


def test_selected_tasks_are_exported_and_no_others(ana: Someone, una: Someone) -> None:
    one, other, _, anothers = create(ana), create(ana), create(ana), create(una)
    picked = [str(one.id), str(other.id), str(other.id), str(anothers.id), str(uuid.uuid4())]

    by_owner, export_id = taken(ana, "/tasks/bulk/export/", task=picked)
    by_auditor, _ = taken(una, "/tasks/bulk/export/", task=picked)

    assert {row["id"] for row in read_csv(by_owner)} == {str(one.id), str(other.id)}
    assert {row["id"] for row in read_csv(by_auditor)} == {str(one.id), str(other.id), str(anothers.id)}
    assert str(one.id) in ana.browser.get(f"/exports/{export_id}/manifest.json").json()["filter"]["tasks"]


def test_export_of_nothing_or_too_much_selected_says_so(ana: Someone) -> None:
    for picked in ([], [str(uuid.uuid4()) for _ in range(MOST_PICKED + 1)]):
        page = ana.browser.post("/tasks/bulk/export/", {"task": picked}, follow=True).content.decode()
        assert f"Select between one and {MOST_PICKED} tasks" in page
    assert not Event.objects.filter(kind__startswith="export").exists()


def test_who_extended_a_task_when_and_why_can_be_taken_away(ana: Someone, una: Someone) -> None:
    bo = Someone("bo", "operator")
    task = create(ana)
    by = Actor(ActorKind.OPERATOR, id=bo.owner_id, role="operator", via="console", reason="still needed")
    store.extend(task.id, more=timedelta(hours=1), owner_id=None, by=by)

    content, _ = taken(una, f"/audit/export/?task={task.id}&action=ttl")

    [row] = read_csv(content)
    assert (row["by"], row["role"], row["reason"], row["via"]) == ("bo for ana", "operator", "still needed", "console")
    assert json.loads(row["detail"])["why"] == "extended"


@pytest.mark.parametrize("start", export.FORMULA)
def test_formula_is_text_in_a_spreadsheet(ana: Someone, start: str) -> None:
    evil = f"{start}HYPERLINK(1)"
    store.create(store.NewTask(owner_id=ana.owner_id, tool="calc", client=evil))

    content, _ = taken(ana, "/tasks/export/")

    [row] = csv.DictReader(io.StringIO(content.decode(), newline=""))
    assert row["client"] == "'" + evil
    lines, _ = taken(ana, "/tasks/export/", "jsonl")
    assert json.loads(lines)["client"] == evil


def test_export_reads_batch_by_batch(ana: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BATCH", 7)
    made = {str(create(ana).id) for _ in range(30)}
    source = export.tasks(search.Filter(), owner_id=ana.owner_id, sort=search.Sort.CREATED, words={})

    sizes = [len(batch) for batch in source.batches]
    content, _ = taken(ana, "/tasks/export/")

    assert sizes == [7, 7, 7, 7, 2]
    assert {row["id"] for row in read_csv(content)} == made


def test_export_needs_a_post(ana: Someone) -> None:
    """Otherwise a link that a browser fetches ahead would leave an export on record."""
    assert ana.browser.get("/tasks/export/").status_code == 405


@pytest.mark.django_db(transaction=True)
def test_asynchronous_server_is_given_one_piece_at_a_time() -> None:
    task = create(Someone("ana"))
    taken_away = export.Export(
        export.log(audit.Wanted(scope=None), words={}), export.Format.JSONL, Actor.system(via="test")
    )

    async def collect() -> list[bytes]:
        return [piece async for piece in exports.in_threads(taken_away.chunks())]

    content = b"".join(asyncio.run(collect()))

    assert json.loads(content)["task_id"] == str(task.id)
    assert Event.objects.get(kind=audit.EXPORT_DONE).detail["sha256"] == hashlib.sha256(content).hexdigest()


@pytest.mark.django_db(transaction=True)
def test_asynchronous_download_that_is_broken_off_is_recorded_as_such() -> None:
    create(Someone("ana"))
    taken_away = export.Export(
        export.log(audit.Wanted(scope=None), words={}), export.Format.CSV, Actor.system(via="test")
    )

    async def leave_early() -> None:
        pieces = exports.in_threads(taken_away.chunks())
        await anext(pieces)
        await pieces.aclose()

    asyncio.run(leave_early())

    assert Event.objects.get(kind=audit.EXPORT_DONE).detail["complete"] is False


def test_command_writes_a_file_and_its_manifest(ana: Someone, tmp_path: Path, capsys: Any) -> None:
    task = create(ana)
    file = tmp_path / "audit.jsonl"

    call_command("export_audit", output=str(file), owner="ana", action="created")

    [line] = file.read_text().splitlines()
    manifest = json.loads((tmp_path / "audit.jsonl.manifest.json").read_text())
    assert json.loads(line)["task_id"] == str(task.id)
    assert manifest["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (manifest["rows"], manifest["filter"]) == (1, {"owner": "ana", "action": "created"})
    assert Event.objects.get(kind=audit.EXPORT_DONE).actor["via"] == "export_audit"


def test_command_says_what_it_does_not_understand(db: None) -> None:
    with pytest.raises(CommandError, match="is no time"):
        call_command("export_audit", since="soon")
    with pytest.raises(CommandError, match="is no owner"):
        call_command("export_audit", owner="nobody")


def test_command_applies_every_filter_that_its_manifest_names(
    ana: Someone, clock: DatabaseClock, tmp_path: Path
) -> None:
    finish(ana, "report")
    wanted = finish(ana, "crawl")
    store.record_fetch(finish(ana, "crawl").id, credential_id=None)
    clock.advance(timedelta(days=9))
    while store.expire():
        pass
    file = tmp_path / "expired.jsonl"

    call_command("export_audit", what="expirations", output=str(file), tool="crawl", kind="unfetched")

    [line] = file.read_text().splitlines()
    manifest = json.loads((tmp_path / "expired.jsonl.manifest.json").read_text())
    assert json.loads(line)["task_id"] == str(wanted.id)
    assert (manifest["rows"], manifest["filter"]) == (1, {"tool": "crawl", "kind": "unfetched"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"what": "expirations", "task": str(uuid.uuid4())}, "--task says nothing about --what expirations"),
        ({"what": "purged", "action": "created"}, "--action says nothing about --what purged"),
        ({"tool": "crawl"}, "--tool says nothing about --what audit"),
        ({"kind": "unfetched"}, "--kind says nothing about --what audit"),
        ({"task": "7f3a"}, "7f3a is no task id"),
    ],
)
def test_command_refuses_a_filter_that_it_cannot_apply(db: None, options: dict[str, str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        call_command("export_audit", **options)

    assert not Event.objects.filter(kind=audit.EXPORT_BEGUN).exists()
