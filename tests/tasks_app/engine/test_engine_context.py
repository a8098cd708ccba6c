"""What a tool can do through its context, on a journal in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from tasks_app.domain.errors import LeaseLost, QuestionExpired, Stop, Suspend, ToolChanged, ToolError, VariablesTooLarge
from tasks_app.domain.limits import Limits
from tasks_app.domain.questions import AnswerAction, QuestionKind
from tasks_app.engine import BadQuestion, Choice, Confirm, Context, IllegalOrder, Question, Text
from tasks_app.engine.forms import Root
from tasks_app.engine.journal import Facts, Release
from tasks_app.engine.leg import Leg
from tasks_app.engine.memory import MemoryJournal, Progress
from tasks_app.engine.questions import OpenQuestion


class Plan(BaseModel):
    hosts: list[str]
    on: date


@dataclass
class Receipt:
    number: int


class Approval(BaseModel):
    reason: str = ""


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal(Facts(task_id="t1", owner="alice"))


def run(journal: MemoryJournal) -> Context:
    """Begin a run from the top, with what is recorded so far."""
    return Context(Leg(journal))


def asked(ask: Callable[[], Any]) -> tuple[OpenQuestion, ...]:
    """Ask without an answer, and give what the run ended with."""
    with pytest.raises(Suspend) as suspended:
        ask()
    return tuple(question for question in suspended.value.questions if isinstance(question, OpenQuestion))


def make_plan(*hosts: str) -> Plan:
    return Plan(hosts=list(hosts), on=date(2026, 1, 31))


def refuse(*_: object) -> Any:
    raise AssertionError("a recorded step must not run again")


def test_step_runs_once_and_gives_the_recorded_value_on_a_replay(journal: MemoryJournal) -> None:
    first = run(journal).step("plan", make_plan, "a", "b")

    again = run(journal).step("plan", make_plan_that_refuses, "a", "b")

    assert first == again == Plan(hosts=["a", "b"], on=date(2026, 1, 31))


def make_plan_that_refuses(*hosts: str) -> Plan:
    raise AssertionError("a recorded step must not run again")


def test_step_gives_the_recorded_value_when_its_name_is_used_again(journal: MemoryJournal) -> None:
    ctx = run(journal)

    assert ctx.step("n", lambda: 1) == 1
    assert ctx.step("n", refuse) == 1


def receipt(number: int) -> Receipt:
    return Receipt(number)


def days() -> list[date]:
    return [date(2026, 1, 31)]


class Counter:
    def __call__(self, number: int) -> Receipt:
        return Receipt(number)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (partial(receipt, 7), Receipt(7)),
        (days, [date(2026, 1, 31)]),
        (partial(Counter(), 7), Receipt(7)),
        (partial(Approval, reason="x"), Approval(reason="x")),
        (lambda: {"a": (1, 2)}, {"a": [1, 2]}),
        (lambda: None, None),
        (lambda: Receipt(7), {"number": 7}),
    ],
)
def test_step_value_is_the_same_in_the_first_run_and_in_every_replay(
    journal: MemoryJournal, function: Callable[[], Any], value: Any
) -> None:
    first = run(journal).step("s", function)
    replayed = run(journal).step("s", function)

    assert first == replayed == value


def not_an_int() -> int:
    return "seven"  # type: ignore[return-value]


@pytest.mark.parametrize("function", [object, lambda: float("nan"), not_an_int, lambda: {"a": object()}])
def test_step_value_that_cannot_be_kept_is_a_tool_error_and_nothing_is_recorded(
    journal: MemoryJournal, function: Callable[[], Any]
) -> None:
    with pytest.raises(ToolError, match="The value of step 's' cannot be kept"):
        run(journal).step("s", function)

    assert journal.history() == []


def test_step_that_gives_nothing_is_recorded_and_does_not_run_again(journal: MemoryJournal) -> None:
    ran: list[int] = []
    run(journal).step("append", ran.append, 1)

    run(journal).step("append", ran.append, 1)

    assert ran == [1]


def numbers_again() -> list[int]:
    return []


def only_for_the_type_checker() -> Missing:  # type: ignore[name-defined]  # noqa: F821
    return {"kept": True}


def opaque() -> threading.Lock:
    return {"kept": True}  # type: ignore[return-value]


@pytest.mark.parametrize("function", [only_for_the_type_checker, opaque])
def test_step_whose_annotation_is_of_no_use_is_kept_as_plain_json(
    journal: MemoryJournal, function: Callable[[], Any]
) -> None:
    assert run(journal).step("s", function) == {"kept": True}


def test_recorded_value_that_the_function_no_longer_promises_is_a_tool_error(journal: MemoryJournal) -> None:
    run(journal).step("numbers", lambda: "seven")

    with pytest.raises(ToolError, match="The recorded value of step 'numbers' does not fit"):
        run(journal).step("numbers", numbers_again)


def test_step_that_fails_is_not_recorded_and_runs_again(journal: MemoryJournal) -> None:
    with pytest.raises(ZeroDivisionError):
        run(journal).step("divide", lambda: 1 // 0)

    assert run(journal).step("divide", lambda: 1) == 1


def test_step_that_fails_keeps_its_place_so_that_later_ones_are_found(journal: MemoryJournal) -> None:
    first = run(journal)
    with pytest.raises(ZeroDivisionError):
        first.step("flaky", lambda: 1 // 0)
    first.step("solid", lambda: "kept")

    second = run(journal)

    assert second.step("flaky", lambda: "now") == "now"
    assert second.step("solid", refuse) == "kept"


@pytest.mark.parametrize("name", ["", "x" * 201, "nul\x00"])
def test_step_needs_a_name_that_can_be_stored(journal: MemoryJournal, name: str) -> None:
    with pytest.raises(ToolError, match="A step needs a name"):
        run(journal).step(name, refuse)


def test_step_inside_a_step_is_refused(journal: MemoryJournal) -> None:
    ctx = run(journal)

    with pytest.raises(IllegalOrder, match="step 'inner' is inside step 'outer'"):
        ctx.step("outer", lambda: ctx.step("inner", lambda: 1))


def test_question_inside_a_step_is_refused(journal: MemoryJournal) -> None:
    ctx = run(journal)

    with pytest.raises(IllegalOrder, match="question 'sure' is inside step 'outer'"):
        ctx.step("outer", lambda: ctx.ask("sure", Confirm, message="Sure?"))


def test_step_may_report_while_it_runs(journal: MemoryJournal) -> None:
    ctx = run(journal)

    ctx.step("count", lambda: ctx.progress(1, 2))

    assert journal.progress == [Progress(1, 2)]


def test_ask_without_an_answer_ends_the_run_with_the_question(journal: MemoryJournal) -> None:
    ctx = run(journal)
    ctx.step("plan", make_plan, "a")

    (question,) = asked(lambda: ctx.ask("approve", Approval, message="Deploy?", deadline=60, default="decline"))

    assert (question.name, question.position, question.message) == ("approve", 1, "Deploy?")
    assert question.kind is QuestionKind.FORM
    assert question.deadline == 60
    assert question.default is not None
    assert question.default.action is AnswerAction.DECLINE


def test_ask_gives_the_recorded_answer_as_the_model(journal: MemoryJournal) -> None:
    (question,) = asked(lambda: run(journal).ask("approve", Approval, message="Deploy?"))
    journal.answer(question, question.reply({"reason": "ready"}))

    answer = run(journal).ask("approve", Approval, message="Deploy?")

    assert answer.accepted
    assert answer.value == Approval(reason="ready")


def test_ask_gives_the_answer_again_when_the_name_is_used_again(journal: MemoryJournal) -> None:
    (question,) = asked(lambda: run(journal).ask("where", Choice("a", "b"), message="Where?"))
    journal.answer(question, question.reply("b"))
    ctx = run(journal)

    answers = [ctx.ask("where", Choice("a", "b"), message="Where?") for _ in range(2)]

    assert [answer.value for answer in answers] == ["b", "b"]


def test_ask_that_expired_without_a_default_raises_and_never_asks_again(journal: MemoryJournal) -> None:
    (question,) = asked(lambda: run(journal).ask("sure", Confirm, message="Sure?", deadline=1))
    journal.expire(question)
    ctx = run(journal)

    for _ in range(2):
        with pytest.raises(QuestionExpired):
            ctx.ask("sure", Confirm, message="Sure?", deadline=1)


def test_ask_that_expired_with_a_default_gives_it(journal: MemoryJournal) -> None:
    def ask() -> Any:
        return run(journal).ask("sure", Confirm, message="Sure?", deadline=1, default=True)

    (question,) = asked(ask)
    journal.expire(question)

    assert ask().value is True


def test_ask_all_opens_every_question_at_once_and_gives_answers_by_name(journal: MemoryJournal) -> None:
    def ask() -> dict[str, Any]:
        return run(journal).ask_all(who=Question(Text, "Your name?"), sure=Question(Confirm, "Sure?"))

    who, sure = asked(ask)
    journal.answer(who, who.reply("Ada"))
    journal.answer(sure, sure.reply("decline"))
    answers = ask()

    assert [(question.name, question.position) for question in (who, sure)] == [("who", 0), ("sure", 1)]
    assert answers["who"].value == "Ada"
    assert answers["sure"].action is AnswerAction.DECLINE


def test_ask_all_asks_again_only_for_what_is_still_open(journal: MemoryJournal) -> None:
    def ask() -> dict[str, Any]:
        return run(journal).ask_all(who=Question(Text, "Your name?"), sure=Question(Confirm, "Sure?"))

    who, _ = asked(ask)
    journal.answer(who, who.reply("Ada"))

    (open_one,) = asked(ask)

    assert (open_one.name, open_one.position) == ("sure", 1)


def test_ask_url_carries_the_address(journal: MemoryJournal) -> None:
    def ask() -> Any:
        return run(journal).ask_url("login", "https://example.org/login", message="Sign in")

    (question,) = asked(ask)
    journal.answer(question, question.reply(True))

    assert question.request == {"mode": "url", "url": "https://example.org/login", "message": "Sign in"}
    assert ask().accepted


def test_sample_turns_text_into_a_conversation_and_gives_what_the_model_said(journal: MemoryJournal) -> None:
    def ask() -> Any:
        return run(journal).sample("summary", "Summarise: …", max_tokens=20, systemPrompt="Be brief")

    (question,) = asked(ask)
    journal.answer(question, question.reply("Short."))

    assert question.kind is QuestionKind.SAMPLING
    assert question.request["messages"] == [{"role": "user", "content": {"type": "text", "text": "Summarise: …"}}]
    assert (question.request["maxTokens"], question.request["systemPrompt"]) == (20, "Be brief")
    assert ask().value.text == "Short."


def test_sample_takes_a_whole_conversation(journal: MemoryJournal) -> None:
    turns = [{"role": role, "content": {"type": "text", "text": role}} for role in ("user", "assistant", "user")]

    (question,) = asked(lambda: run(journal).sample("next", turns))

    assert question.request["messages"] == turns


def test_question_is_closed_only_once(journal: MemoryJournal) -> None:
    (question,) = asked(lambda: run(journal).ask("sure", Confirm, message="Sure?"))
    journal.answer(question, question.reply(True))

    with pytest.raises(IllegalOrder, match="'sure' was closed before"):
        journal.answer(question, question.reply(False))


def test_roots_gives_the_places_of_the_client(journal: MemoryJournal) -> None:
    (question,) = asked(lambda: run(journal).roots())
    journal.answer(question, question.reply(["file:///srv"]))

    assert question.kind is QuestionKind.ROOTS
    assert run(journal).roots().value == [Root("file:///srv")]


def test_question_that_cannot_be_asked_takes_no_place_in_the_order(journal: MemoryJournal) -> None:
    ctx = run(journal)
    with pytest.raises(BadQuestion):
        ctx.ask("which", Choice(), message="Which?")

    (question,) = asked(lambda: ctx.ask("sure", Confirm, message="Sure?"))

    assert question.position == 0


def test_question_with_another_text_than_recorded_is_refused_in_a_test(journal: MemoryJournal) -> None:
    (question,) = asked(lambda: run(journal).ask("sure", Confirm, message="Sure at 10:00?"))
    journal.answer(question, question.reply(True))

    with pytest.raises(IllegalOrder, match="'Sure at 10:00\\?' and is now asked as 'Sure at 10:01\\?'"):
        run(journal).ask("sure", Confirm, message="Sure at 10:01?")


def test_replay_in_another_order_fails_with_what_was_expected(journal: MemoryJournal) -> None:
    first = run(journal)
    first.step("plan", lambda: 1)
    first.step("push", lambda: 2)

    with pytest.raises(ToolChanged, match="expected step 'plan', got step 'push'"):
        run(journal).step("push", lambda: 2)


def test_progress_never_goes_back_while_the_total_stays(journal: MemoryJournal) -> None:
    ctx = run(journal)

    ctx.progress(5, 10, "half")
    ctx.progress(3, 10)
    ctx.progress(1, 20)

    assert journal.progress == [Progress(5, 10, "half"), Progress(5, 10), Progress(1, 20)]
    assert journal.messages == ["half"]


@pytest.mark.parametrize(("done", "total"), [(-1, None), (float("nan"), None), (1, float("inf")), (1, -2)])
def test_progress_that_is_no_count_is_refused(journal: MemoryJournal, done: float, total: float | None) -> None:
    with pytest.raises(ValueError, match="Progress is counted from 0 up"):
        run(journal).progress(done, total)


def test_message_and_log_are_kept_in_order(journal: MemoryJournal) -> None:
    ctx = run(journal)

    ctx.message("starting")
    ctx.log("line 1")
    ctx.log("line 2")

    assert journal.messages == ["starting"]
    assert journal.log == ["line 1", "line 2"]


def test_variables_are_merged_and_deleted_by_none_and_only_read_through_the_property(journal: MemoryJournal) -> None:
    """Covers check 107, and check 83 through the context: null deletes a key, and an absent key is fine."""
    ctx = run(journal)

    ctx.set_variable("stage", "build")
    ctx.set_variables({"day": date(2026, 1, 31), "stage": None, "absent": None})

    assert dict(ctx.variables) == {"day": "2026-01-31"} == journal.variables()
    with pytest.raises(TypeError):
        ctx.variables["x"] = 1  # type: ignore[index]


def test_variables_of_an_earlier_run_are_there_in_the_next(journal: MemoryJournal) -> None:
    run(journal).set_variable("seen", 1)

    assert run(journal).variables["seen"] == 1


def test_variables_above_the_limit_are_refused_and_stay_as_they_were() -> None:
    journal = MemoryJournal(variables={"kept": 1}, limits=Limits(variables_bytes=50))
    ctx = run(journal)

    with pytest.raises(VariablesTooLarge):
        ctx.set_variable("big", "x" * 50)

    assert dict(ctx.variables) == {"kept": 1}


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_variable_that_is_no_json_is_a_tool_error(journal: MemoryJournal, value: object) -> None:
    with pytest.raises(ToolError, match="cannot be kept as JSON"):
        run(journal).set_variable("thing", value)


def test_context_tells_whose_call_it_is() -> None:
    """Covers check 114: a tool can tell whether it was called as a task."""
    facts = Facts(task_id="t9", owner="alice", attempt=3, is_task=False, client_can=frozenset({QuestionKind.FORM}))

    ctx = run(MemoryJournal(facts))

    assert (ctx.task_id, ctx.owner, ctx.attempt, ctx.is_task) == ("t9", "alice", 3, False)
    assert ctx.client_can("form")
    assert not ctx.client_can(QuestionKind.SAMPLING)
    with pytest.raises(ValueError, match="telepathy"):
        ctx.client_can("telepathy")


def test_idempotency_key_is_the_same_in_every_attempt(journal: MemoryJournal) -> None:
    first = run(journal).idempotency_key("push")
    journal.next_attempt()

    assert first == run(journal).idempotency_key("push") == "t1:push"


def test_new_step_does_not_run_once_the_worker_shuts_down_but_a_recorded_one_is_given(journal: MemoryJournal) -> None:
    run(journal).step("done", lambda: 1)
    journal.signal = Release()
    ctx = run(journal)

    assert ctx.should_stop
    assert ctx.step("done", refuse) == 1
    with pytest.raises(Release):
        ctx.step("new", refuse)


def test_check_cancelled_ends_the_run_only_when_the_task_was_cancelled(journal: MemoryJournal) -> None:
    ctx = run(journal)
    ctx.check_cancelled()
    assert not ctx.should_stop

    journal.signal = Stop()

    with pytest.raises(Stop):
        ctx.check_cancelled()


class FencedJournal(MemoryJournal):
    """A journal whose attempt was overtaken: every write is refused."""

    def save_log(self, text: str) -> None:
        raise LeaseLost


def test_lost_lease_ends_the_run_with_a_signal_that_no_except_clause_swallows() -> None:
    ctx = run(FencedJournal())

    with pytest.raises(BaseException) as ended:  # noqa: PT011
        ctx.log("too late")

    assert type(ended.value) is Stop
    assert not isinstance(ended.value, Exception)


def test_nothing_happens_after_the_end_even_if_the_signal_was_swallowed(journal: MemoryJournal) -> None:
    ctx = run(journal)
    with pytest.raises(Suspend) as ended:
        ctx.ask("sure", Confirm, message="Sure?")

    for act in (lambda: ctx.log("x"), lambda: ctx.step("s", refuse), lambda: ctx.complete(1), ctx.check_cancelled):
        with pytest.raises(Suspend) as again:
            act()
        assert again.value is ended.value
    assert ctx.should_stop
    assert journal.log == []
