"""Testing tools without a server: `run_tool`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tasks_app.domain.questions import QuestionKind
from tasks_app.engine import Answer, Choice, Confirm, Context, QuestionExpired, Retryable, RpcError, Text, tool
from tasks_app.engine.call import How
from tasks_app.engine.memory import Progress
from tasks_app.testing import EXPIRED, ScriptError, run_tool

pytestmark = pytest.mark.usefixtures("own_registry")

ROOT = Path(__file__).parents[3]


class Approval(BaseModel):
    reason: str


class Deployed(BaseModel):
    done: bool
    hosts: list[str] = []


def make_plan(service: str) -> list[str]:
    return [f"{service}-1", f"{service}-2"]


def deploy(ctx: Context, service: str) -> Deployed:
    """Deploy a service after an operator approves the plan."""
    hosts = ctx.step("plan", make_plan, service)
    approval = ctx.ask("approve", Approval, message=f"Deploy {service}?")
    if not approval.accepted:
        return Deployed(done=False)
    for n, host in enumerate(hosts, 1):
        ctx.step(f"push-{host}", str.upper, host)
        ctx.progress(n, len(hosts), f"{host} done")
    ctx.log("deployed")
    ctx.set_variable("deployed", service)
    return Deployed(done=True, hosts=hosts)


def test_tool_is_tested_in_three_lines() -> None:
    """Covers check 113."""
    run = run_tool(tool(deploy), service="web", answers={"approve": {"reason": "ready"}})

    assert run.value == Deployed(done=True, hosts=["web-1", "web-2"])
    assert not run.is_error


def test_run_reports_everything_that_the_tool_did() -> None:
    run = run_tool(tool(deploy), service="web", answers={"approve": Approval(reason="ready")})

    assert run.how is How.RESULT
    assert run.result is not None
    assert run.result["structuredContent"] == {"done": True, "hosts": ["web-1", "web-2"]}
    assert run.steps == {"plan": ["web-1", "web-2"], "push-web-1": "WEB-1", "push-web-2": "WEB-2"}
    assert run.progress == [Progress(1, 2, "web-1 done"), Progress(2, 2, "web-2 done")]
    assert run.messages == ["web-1 done", "web-2 done"]
    assert [(question.name, question.message) for question in run.questions] == [("approve", "Deploy web?")]
    assert (run.log, run.variables, run.attempts) == (["deployed"], {"deployed": "web"}, 2)


@pytest.mark.parametrize("answer", ["decline", "cancel", Answer.decline(), Answer.cancel()])
def test_scripted_answer_can_decline_or_dismiss(answer: Any) -> None:
    run = run_tool(tool(deploy), service="web", answers={"approve": answer})

    assert run.value == Deployed(done=False)


@pytest.mark.parametrize(
    ("form", "answer", "value"),
    [(Confirm, True, True), (Confirm, Answer.accept(False), False), (Choice("a", "b"), "b", "b"), (Text, "x", "x")],
)
def test_scripted_answer_of_a_shortcut_is_its_value(form: Any, answer: Any, value: Any) -> None:
    @tool
    def asks(ctx: Context) -> dict[str, Any]:
        return {"value": ctx.ask("q", form, message="Well?").value}

    assert run_tool(asks, answers={"q": answer}).value == {"value": value}


def test_question_without_an_answer_is_an_error_that_names_it() -> None:
    with pytest.raises(ScriptError, match=r"asked 'approve' \(Deploy web\?\).*add answers=\{'approve': …\}"):
        run_tool(tool(deploy), service="web")


def test_answer_that_does_not_fit_is_an_error_that_names_the_field() -> None:
    with pytest.raises(ScriptError, match=r"'approve' does not fit.*Reason is required"):
        run_tool(tool(deploy), service="web", answers={"approve": {}})


def test_scripted_expiry_raises_in_the_tool_or_takes_the_default() -> None:
    @tool
    def waits(ctx: Context) -> str:
        try:
            ctx.ask("first", Confirm, message="First?", deadline=60)
        except QuestionExpired:
            ctx.log("nobody came")
        return str(ctx.ask("second", Text, message="Second?", deadline=60, default="fallback").value)

    run = run_tool(waits, answers={"first": EXPIRED, "second": EXPIRED})

    assert run.value == "fallback"
    # The line is outside a step, so the run after the second question writes it again.
    assert run.log == ["nobody came"] * 2


def test_expiry_that_the_tool_does_not_catch_is_a_tool_error() -> None:
    @tool
    def waits(ctx: Context) -> None:
        ctx.ask("first", Confirm, message="First?", deadline=60)

    run = run_tool(waits, answers={"first": EXPIRED})

    assert run.how is How.TOOL_ERROR
    assert 'Nobody answered the question "first" in time' in str(run.error)


def test_retries_are_taken_and_recorded_steps_do_not_run_again() -> None:
    done: list[str] = []

    @tool(retries=2)
    def flaky(ctx: Context) -> int:
        ctx.step("once", done.append, "ran")
        if ctx.attempt < 3:
            raise Retryable("busy")
        return ctx.attempt

    run = run_tool(flaky)

    assert (run.value, run.attempts, done) == (3, 3, ["ran"])


def test_retries_that_are_used_up_end_with_a_tool_error_and_the_last_text() -> None:
    @tool(retries=2)
    def hopeless(ctx: Context) -> None:
        raise Retryable(f"busy {ctx.attempt}")

    run = run_tool(hopeless)

    assert (run.how, run.error, run.attempts) == (How.TOOL_ERROR, "busy 3", 3)
    assert run.is_error


def test_protocol_error_is_reported_apart_from_the_result() -> None:
    @tool
    def breaks() -> None:
        raise RpcError(-32001, "Gone")

    run = run_tool(breaks)

    assert (run.how, run.error, run.result) == (How.RPC_ERROR, "Gone", None)
    assert run.rpc_error == {"code": -32001, "message": "Gone"}


def test_call_can_be_made_by_anyone_with_any_client() -> None:
    """Covers check 114: observed as a task and as a plain call."""

    @tool
    def who(ctx: Context) -> list[object]:
        return [ctx.owner, ctx.is_task, ctx.client_can("sampling"), ctx.client_can("form"), ctx.task_id]

    as_task = run_tool(who, task_id="t1")
    plain = run_tool(who, owner="bo", is_task=False, client_capabilities=[QuestionKind.FORM], task_id="t2")

    assert as_task.value == ["alice", True, True, True, "t1"]
    assert plain.value == ["bo", False, False, True, "t2"]


def test_arguments_that_share_a_name_with_an_option_go_into_arguments() -> None:
    @tool
    def odd(owner: str, answers: int, extra: str) -> str:
        return f"{owner} {answers} {extra}"

    assert run_tool(odd, arguments={"owner": "me", "answers": 3}, extra="x").value == "me 3 x"


def test_variables_can_be_there_from_the_start() -> None:
    @tool
    def reads(ctx: Context) -> object:
        return ctx.variables["stage"]

    assert run_tool(reads, variables={"stage": "build"}).value == "build"


def test_wrong_declaration_is_named_when_it_is_run() -> None:
    @tool(timeout=-1)
    def wrong() -> None: ...

    with pytest.raises(TypeError, match="timeout=-1"):
        run_tool(wrong)


SCRIPT = """
import sys
from tasks_app.engine import Confirm, Context, tool
from tasks_app.testing import run_tool

@tool(task="required")
def deploy(ctx: Context, service: str) -> str:
    return f"{service}: {ctx.ask('sure', Confirm, message='Sure?').accepted}"

print(run_tool(deploy, service="web", answers={"sure": True}).value)
print(sorted(name for name in sys.modules if name.partition(".")[0] in {"django", "celery", "psycopg", "channels"}))
"""


def test_engine_and_testing_need_no_django_no_database_and_no_broker() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["web: True", "[]"]
