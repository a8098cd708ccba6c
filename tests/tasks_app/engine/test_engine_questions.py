"""What can be asked: the request that goes out, and how an answer is read back."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, Field, field_validator

from tasks_app.domain.answers import kind_of
from tasks_app.domain.errors import QuestionExpired, ToolError
from tasks_app.domain.questions import AnswerAction, QuestionKind, QuestionState
from tasks_app.engine import Answer, BadQuestion, Choice, Confirm, Question, Text
from tasks_app.engine.forms import Root, Roots, Sample, Sampling, Visit
from tasks_app.engine.journal import Entry, EntryKind
from tasks_app.engine.questions import Reply


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Order(BaseModel):
    name: str = Field(min_length=2, max_length=40, title="Your name")
    count: int = Field(gt=0, lt=10)
    price: float = Field(default=1.5, ge=0)
    gift: bool = False
    size: Size = Size.SMALL
    speed: Literal["slow", "fast"]
    exactly: Literal["yes"] = "yes"
    extras: list[Literal["bow", "card"]] = []
    day: date | None = None
    at: datetime | None = None
    link: AnyUrl | None = None


class Nested(BaseModel):
    order: Order


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("must be even")
        return number


def answered(content: Any, action: AnswerAction = AnswerAction.ACCEPT) -> Entry:
    return Entry(
        position=0,
        name="q",
        kind=EntryKind.QUESTION,
        value=content,
        state=QuestionState.ANSWERED,
        action=action,
    )


def schema_of(form: Any) -> dict[str, Any]:
    opened = Question(form, "Well?").open("q")
    schema: dict[str, Any] = opened.request["requestedSchema"]
    return schema


def test_confirm_asks_for_one_boolean() -> None:
    opened = Question(Confirm, "Sure?").open("sure")

    assert opened.kind is QuestionKind.FORM
    assert opened.message == "Sure?"
    assert opened.request == {
        "mode": "form",
        "message": "Sure?",
        "requestedSchema": {
            "type": "object",
            "properties": {"confirm": {"type": "boolean", "title": "Confirm"}},
            "required": ["confirm"],
        },
    }


def test_choice_lists_values_and_labels_only_where_there_are_some() -> None:
    plain = schema_of(Choice("staging", "production", title="Where", default="staging"))
    labelled = schema_of(Choice({"eu": "Europe", "us": "America"}))

    assert plain["properties"]["choice"] == {
        "type": "string",
        "title": "Where",
        "enum": ["staging", "production"],
        "default": "staging",
    }
    assert labelled["properties"]["choice"]["oneOf"] == [
        {"const": "eu", "title": "Europe"},
        {"const": "us", "title": "America"},
    ]


def test_text_carries_its_limits_and_format() -> None:
    schema = schema_of(Text(title="Mail", min_length=3, max_length=60, format="email"))

    assert schema["properties"]["text"] == {
        "type": "string",
        "title": "Mail",
        "minLength": 3,
        "maxLength": 60,
        "format": "email",
    }


def test_model_becomes_a_flat_form_without_references() -> None:
    schema = schema_of(Order)

    assert "$defs" not in schema
    assert schema["required"] == ["name", "count", "speed"]
    properties = schema["properties"]
    assert properties["name"] == {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 40}
    assert properties["count"] == {"type": "integer", "title": "Count", "minimum": 1, "maximum": 9}
    assert properties["price"] == {"type": "number", "title": "Price", "minimum": 0, "default": 1.5}
    assert properties["gift"] == {"type": "boolean", "title": "Gift", "default": False}
    assert properties["size"]["enum"] == ["s", "l"]
    assert properties["size"]["default"] == "s"
    assert properties["exactly"]["enum"] == ["yes"]
    assert properties["extras"]["items"] == {"type": "string", "enum": ["bow", "card"]}
    assert (properties["day"]["format"], properties["at"]["format"]) == ("date", "date-time")
    assert "default" not in properties["day"]
    assert properties["link"]["format"] == "uri"


@pytest.mark.parametrize(
    "form",
    [Nested, Choice, Choice(), Text(default="x", min_length=3), dict, "a text"],
    ids=["nested model", "bare choice", "empty choice", "default that does not fit", "a type", "no form"],
)
def test_what_no_form_can_show_is_refused_when_it_is_asked(form: Any) -> None:
    with pytest.raises(BadQuestion, match="The question 'q' cannot be asked"):
        Question(form, "Well?").open("q")


def test_model_with_a_list_of_numbers_is_refused_by_the_name_of_its_field() -> None:
    class Numbers(BaseModel):
        chosen: list[int]

    with pytest.raises(BadQuestion, match="chosen"):
        Question(Numbers, "Which?").open("q")


@pytest.mark.parametrize("name", ["", "two words", "slash/ed", "x" * 101])
def test_question_name_that_cannot_be_part_of_a_key_is_refused(name: str) -> None:
    with pytest.raises(BadQuestion, match="its name must be"):
        Question(Confirm, "Sure?").open(name)


@pytest.mark.parametrize(("deadline", "seconds"), [(None, None), (90, 90.0), (timedelta(hours=1), 3600.0)])
def test_deadline_is_a_number_of_seconds(deadline: Any, seconds: float | None) -> None:
    assert Question(Confirm, "Sure?", deadline=deadline).open("q").deadline == seconds


@pytest.mark.parametrize("deadline", [0, -1, float("inf"), timedelta(0)])
def test_deadline_that_is_not_ahead_is_refused(deadline: Any) -> None:
    with pytest.raises(BadQuestion, match="deadline"):
        Question(Confirm, "Sure?", deadline=deadline).open("q")


@pytest.mark.parametrize(
    ("form", "default", "reply"),
    [
        (Confirm, True, Reply(AnswerAction.ACCEPT, {"confirm": True})),
        (Confirm, "decline", Reply(AnswerAction.DECLINE)),
        (Confirm, AnswerAction.CANCEL, Reply(AnswerAction.CANCEL)),
        (Text, "anything", Reply(AnswerAction.ACCEPT, {"text": "anything"})),
        (Text, Answer.accept("decline"), Reply(AnswerAction.ACCEPT, {"text": "decline"})),
        (Even, Even(number=4), Reply(AnswerAction.ACCEPT, {"number": 4})),
        (Even, {"number": 4}, Reply(AnswerAction.ACCEPT, {"number": 4})),
        (Even, Answer.decline(), Reply(AnswerAction.DECLINE)),
        (Visit("https://example.org/"), True, Reply(AnswerAction.ACCEPT)),
    ],
)
def test_default_is_stored_as_the_answer_that_it_stands_for(form: Any, default: Any, reply: Reply) -> None:
    assert Question(form, "Well?", default=default).open("q").default == reply


@pytest.mark.parametrize(("form", "default"), [(Confirm, "perhaps"), (Choice("a", "b"), "c"), (Even, True)])
def test_default_that_does_not_fit_is_refused(form: Any, default: Any) -> None:
    with pytest.raises(BadQuestion):
        Question(form, "Well?", default=default).open("q")


@pytest.mark.parametrize(
    ("form", "content", "value"),
    [
        (Confirm, {"confirm": True}, True),
        (Choice("a", "b"), {"choice": "b"}, "b"),
        (Text, {"text": "hello"}, "hello"),
        (Even, {"number": 4}, Even(number=4)),
        (Visit("https://example.org/"), None, None),
        (Roots(), {"roots": [{"uri": "file:///srv", "name": "work"}]}, [Root("file:///srv", "work")]),
        (
            Sampling((), 10),
            {"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "Hi"}, "stopReason": "endTurn"},
            Sample("Hi", "assistant", "m-1", ({"type": "text", "text": "Hi"},), "endTurn"),
        ),
    ],
)
def test_accepted_answer_is_read_as_what_was_asked_for(form: Any, content: Any, value: Any) -> None:
    answer = Question(form, "Well?").read(answered(content))

    assert answer.action is AnswerAction.ACCEPT
    assert answer.value == value
    assert answer.accepted


@pytest.mark.parametrize("action", [AnswerAction.DECLINE, AnswerAction.CANCEL])
def test_answer_that_declines_or_dismisses_has_no_value(action: AnswerAction) -> None:
    answer = Question(Order, "Well?").read(answered(None, action))

    assert (answer.action, answer.value, answer.accepted) == (action, None, False)


def test_confirm_that_was_sent_back_with_no_is_not_accepted() -> None:
    answer = Question(Confirm, "Sure?").read(answered({"confirm": False}))

    assert answer.action is AnswerAction.ACCEPT
    assert not answer.accepted


def test_answer_that_the_model_refuses_is_a_tool_error_that_says_why() -> None:
    with pytest.raises(ToolError, match="number: Value error, must be even"):
        Question(Even, "Which?").read(answered({"number": 3}))


def test_question_that_expired_without_a_default_raises() -> None:
    entry = Entry(position=0, name="q", kind=EntryKind.QUESTION, state=QuestionState.EXPIRED)

    with pytest.raises(QuestionExpired, match='"q"'):
        Question(Confirm, "Sure?").read(entry)


@pytest.mark.parametrize(
    ("form", "kind", "request_"),
    [
        (
            Visit("https://example.org/"),
            QuestionKind.URL,
            {"mode": "url", "url": "https://example.org/", "message": "Go"},
        ),
        (Roots(), QuestionKind.ROOTS, {}),
        (
            Sampling(({"role": "user", "content": {"type": "text", "text": "Hi"}},), 50, {"temperature": 0.5}),
            QuestionKind.SAMPLING,
            {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
                "maxTokens": 50,
                "temperature": 0.5,
            },
        ),
    ],
)
def test_request_of_each_kind_is_recognised_by_the_rules_for_answers(
    form: Any, kind: QuestionKind, request_: dict[str, Any]
) -> None:
    opened = Question(form, "Go").open("q")

    assert opened.kind is kind is kind_of(opened.request)
    assert opened.request == request_


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (Reply(AnswerAction.DECLINE), {"action": "decline"}),
        (Reply(AnswerAction.ACCEPT, {"confirm": True}), {"action": "accept", "content": {"confirm": True}}),
    ],
)
def test_reply_is_one_json_object(reply: Reply, shown: dict[str, Any]) -> None:
    assert reply.as_json() == shown


def test_reply_of_a_model_or_of_roots_may_be_written_out_whole() -> None:
    message = {"role": "assistant", "model": "m-1", "content": [{"type": "text", "text": "Hi"}]}
    roots = {"roots": [{"uri": "file:///srv"}]}

    assert Question(Sampling((), 10)).open("q").reply(message).content == message
    assert Question(Roots()).open("q").reply(roots).content == roots


def test_answer_that_lacks_what_was_asked_for_is_a_tool_error() -> None:
    with pytest.raises(ToolError, match="does not fit the question"):
        Question(Confirm, "Sure?").read(answered({}))
