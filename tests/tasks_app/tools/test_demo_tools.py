"""The demo tools: each does what its description says, and stops when it is told to. No test waits for their pace."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.domain.answers import FieldKind, fields
from tasks_app.domain.errors import Stop
from tasks_app.engine.call import How, call_tool
from tasks_app.engine.memory import MemoryJournal
from tasks_app.engine.plan import done_in, workflow
from tasks_app.engine.registry import Support, registry, tool_of
from tasks_app.testing import ToolRun, run_tool
from tasks_app.tools.demo import site
from tasks_app.tools.demo.crawl import Crawled, crawl_site
from tasks_app.tools.demo.deploy import Deployed, Provisioned, deploy_service, provision_database
from tasks_app.tools.demo.endings import send_report, sync_crm
from tasks_app.tools.demo.feedback import feedback_form
from tasks_app.tools.demo.files import hash_files
from tasks_app.tools.demo.images import resize_images
from tasks_app.tools.demo.nightly import Loaded, nightly_workflow

DEMO_TOOLS = [
    crawl_site,
    deploy_service,
    feedback_form,
    hash_files,
    nightly_workflow,
    provision_database,
    resize_images,
    send_report,
    sync_crm,
]
LONG = 120


@pytest.mark.parametrize("function", DEMO_TOOLS, ids=lambda function: function.__name__)
def test_demo_tool_is_offered_with_words_for_people(function: Callable[..., Any]) -> None:
    made = tool_of(function)

    assert registry.get(made.name) is made
    assert made.title
    assert made.expected
    assert len(made.description.split()) >= 15
    assert "required" not in made.input_schema, "every argument has a default, so that one click runs it"


def test_hash_files_gives_the_same_digest_for_the_same_seed_and_another_for_another() -> None:
    first, again, other = (run_tool(hash_files, files=3, kib=1, seed=seed, seconds=0) for seed in (7, 7, 8))

    assert first.value == again.value
    assert first.value != other.value
    assert [step.done for step in first.progress] == [1, 2, 3]
    assert [line.split("  ")[1] for line in first.log] == ["file-001.bin", "file-002.bin", "file-003.bin"]
    assert first.log == again.log != other.log


def test_resize_images_returns_text_and_a_picture_of_the_size_asked_for() -> None:
    run = run_tool(resize_images, images=2, size=20, seconds=0)

    assert run.result is not None
    text, picture = run.result["content"]
    data = base64.b64decode(picture["data"])
    assert text["text"].startswith("Resized 2 pictures")
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (20, 20)


def test_crawl_site_finds_every_page_and_the_dead_link() -> None:
    run = run_tool(crawl_site, pages=11, seconds=0)

    assert isinstance(run.value, Crawled)
    assert (run.value.pages, run.value.dead_links) == (10, [site.missing_page(11)])
    assert run.value.words == sum(page["words"] for page in run.steps.values())
    assert sorted(run.steps) == sorted(f"get /page-{number}" for number in range(11))
    assert (run.progress[-1].done, run.progress[-1].total) == (11, 11)


def test_crawl_site_does_not_fetch_again_what_an_earlier_attempt_fetched() -> None:
    made, journal = tool_of(crawl_site), MemoryJournal()
    call_tool(made, {"pages": 5, "seconds": 0}, journal)
    visited = {name: entry.value for name, entry in journal.entries.items()}
    journal.next_attempt()

    again = call_tool(made, {"pages": 5, "seconds": 0}, journal)

    assert again.how is How.RESULT
    assert {name: entry.value for name, entry in journal.entries.items()} == visited


def deploy(answer: object) -> ToolRun:
    return run_tool(deploy_service, service="shop", version="2.0", hosts=2, seconds=0, answers={"approve": answer})


def test_deploy_service_pushes_to_every_host_once_the_plan_is_approved() -> None:
    run = deploy({"strategy": "blue-green"})

    assert run.value == Deployed(done=True, hosts=["shop-1", "shop-2"], strategy="blue-green")
    assert list(run.steps) == ["plan", "push shop-1", "push shop-2"]
    assert run.questions[0].message == "Approve rollout of shop 2.0 to 2 hosts?"
    assert run.variables == {"deployed": "shop 2.0"}
    assert [step.message for step in run.progress] == ["shop-1 runs 2.0", "shop-2 runs 2.0"]


def test_deploy_service_fills_its_form_in_beforehand() -> None:
    known = {field.name: field.default for field in fields(deploy({}).questions[0].request["requestedSchema"])}

    assert known == {"strategy": "canary", "percent": 10, "notify": ["#releases"]}


@pytest.mark.parametrize("answer", ["decline", "cancel"])
def test_deploy_service_changes_nothing_when_the_plan_is_not_approved(answer: str) -> None:
    run = deploy(answer)

    assert run.value == Deployed(done=False)
    assert list(run.steps) == ["plan"]


def test_provision_database_makes_its_tables_behind_the_approval_gate() -> None:
    run = run_tool(provision_database, name="orders", tables=2, seconds=0)

    assert run.value == Provisioned(name="orders", tables=["table_1", "table_2"], rows=300)
    assert (tool_of(provision_database).approval, tool_of(provision_database).task) == ("operator", Support.REQUIRED)


def test_send_report_ends_as_a_tool_error_that_says_what_to_do() -> None:
    run = run_tool(send_report, recipient="bo@example.org", rows=10, seconds=0)

    assert run.how is How.TOOL_ERROR
    assert "nothing was sent to bo@example.org. Check the mail server" in str(run.error)
    assert run.attempts == 1
    assert "ConnectionRefusedError" in run.traceback


def test_sync_crm_ends_in_a_protocol_error_with_data() -> None:
    run = run_tool(sync_crm, contacts=40, seconds=0)

    assert run.how is How.RPC_ERROR
    assert run.rpc_error is not None
    assert (run.rpc_error["code"], run.rpc_error["data"]) == (-32000, {"schema": 3, "known": 2, "differ": 8})


def test_feedback_form_has_a_field_of_every_kind() -> None:
    run = run_tool(feedback_form, answers={"feedback": "decline"})

    known = fields(run.questions[0].request["requestedSchema"])
    assert {field.kind for field in known} == set(FieldKind)
    assert {field.required for field in known} == {True, False}
    moods = [option.label for field in known for option in field.options if field.name == "mood"]
    assert moods == ["Happy with it", "Could be better", "Not happy at all"]
    assert run.value == "No feedback on Taskdeck: the form was declined."


def test_feedback_form_reads_an_answer_in_which_everything_is_given() -> None:
    given = {
        "name": "Ana",
        "mood": "so-so",
        "version": "beta",
        "topics": ["Audit", "Docs"],
        "stars": 3,
        "hours": 1.5,
        "since": "2026-01-31",
        "call_at": "2026-02-01T10:00:00Z",
        "email": "ana@example.org",
        "link": "https://example.org/shot.png",
        "may_quote": True,
    }

    run = run_tool(feedback_form, subject="the inbox", answers={"feedback": given})

    assert run.value == "Ana gives the inbox 3 of 5 stars, for Audit, Docs."
    assert run.variables == {"stars": 3}


def test_nightly_workflow_fails_at_its_second_step_and_goes_on_from_there() -> None:
    """Covers check 130, check 131 and check 133 for the tool that ships."""
    made, journal = tool_of(nightly_workflow), MemoryJournal()
    arguments = {"orders": 10, "seconds": 0}

    failed = call_tool(made, arguments, journal)
    extracted = journal.entries["extract"]
    states = [(step.name, step.state) for step in workflow(made.steps, done_in(journal.history()), failed=failed.step)]
    journal.next_attempt()
    done = call_tool(made, arguments, journal)

    assert (failed.how, failed.step, failed.delay) == (How.RETRY, "transform", 0)
    assert states == [("extract", "done"), ("transform", "failed"), ("load", "pending"), ("verify", "pending")]
    assert done.value == Loaded(orders=10, total=sum(extracted.value), attempts=2)
    assert journal.entries["extract"] is extracted
    assert {step.state for step in workflow(made.steps, done_in(journal.history()))} == {"done"}


@pytest.mark.parametrize(
    "function", [crawl_site, hash_files, nightly_workflow, provision_database, resize_images, send_report, sync_crm]
)
def test_demo_tool_stops_at_once_when_its_task_is_cancelled(function: Callable[..., Any]) -> None:
    journal = MemoryJournal()
    journal.signal = Stop()

    ended = call_tool(tool_of(function), {"seconds": LONG}, journal)

    assert ended.how is How.STOPPED
