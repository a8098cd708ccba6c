"""What a question can ask for: how each kind goes out as a request, and how the content of an answer is read back.

A request has the shape of the protocol's own parameters, since that is what clients and the console render. When a tool
may ask, and what becomes of the answer, is in `questions` and `context`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel

from tasks_app.domain.answers import check_requested_schema
from tasks_app.domain.questions import QuestionKind
from tasks_app.engine.flat import JSONObject, flat_schema

T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)


class Wanted(ABC, Generic[T_co]):
    """What a question asks for."""

    kind: ClassVar[QuestionKind] = QuestionKind.FORM

    @abstractmethod
    def request(self) -> JSONObject:
        """Give the request as it is stored and sent, but for its message; raises ValueError for what has none."""

    @abstractmethod
    def read(self, content: Any) -> T_co:
        """Give the value of an accepted answer; raises ValueError when it does not fit."""

    @abstractmethod
    def write(self, value: Any) -> JSONObject | None:
        """Give the content of an answer that has this value: the opposite of `read`."""


class _OneField(Wanted[T_co]):
    """A form with a single required field, whose value is the answer's."""

    name: ClassVar[str]

    @abstractmethod
    def spec(self) -> JSONObject:
        """Give the schema of the field."""

    def request(self) -> JSONObject:
        """Give a form with the one field."""
        spec = {keyword: value for keyword, value in self.spec().items() if value is not None}
        return _form({"type": "object", "properties": {self.name: spec}, "required": [self.name]})

    def read(self, content: Any) -> T_co:
        """Give the value of the field."""
        value: T_co = content[self.name]
        return value

    def write(self, value: Any) -> JSONObject:
        """Give the field with this value."""
        return dict(value) if isinstance(value, Mapping) else {self.name: value}


@dataclass(frozen=True, slots=True)
class Confirm(_OneField[bool]):
    """Yes or no. The answer counts as accepted only when it is yes."""

    title: str = "Confirm"
    default: bool | None = None
    name: ClassVar[str] = "confirm"

    def spec(self) -> JSONObject:
        """Give a boolean."""
        return {"type": "boolean", "title": self.title, "default": self.default}


class Choice(_OneField[str]):
    """One of some values: `Choice("staging", "production")`, with labels `Choice({"eu": "Europe", "as": "Asia"})`."""

    name: ClassVar[str] = "choice"

    def __init__(self, *options: str | Mapping[str, str], title: str = "Choice", default: str | None = None) -> None:
        self._options: dict[str, str] = {}
        for option in options:
            self._options |= {option: option} if isinstance(option, str) else dict(option)
        self._title = title
        self._default = default

    def spec(self) -> JSONObject:
        """Give a choice; labels are only sent when there are any."""
        if not self._options:
            raise ValueError('A choice needs options, as in Choice("yes", "no").')
        spec: JSONObject = {"type": "string", "title": self._title, "default": self._default}
        if all(value == label for value, label in self._options.items()):
            return spec | {"enum": list(self._options)}
        return spec | {"oneOf": [{"const": value, "title": label} for value, label in self._options.items()]}


@dataclass(frozen=True, slots=True)
class Text(_OneField[str]):
    """A line of text, or an address or date where `format` says so."""

    title: str = "Text"
    min_length: int | None = None
    max_length: int | None = None
    format: Literal["email", "uri", "date", "date-time"] | None = None
    default: str | None = None
    name: ClassVar[str] = "text"

    def spec(self) -> JSONObject:
        """Give a string with its limits."""
        return {
            "type": "string",
            "title": self.title,
            "minLength": self.min_length,
            "maxLength": self.max_length,
            "format": self.format,
            "default": self.default,
        }


@dataclass(frozen=True, slots=True)
class ModelForm(Wanted[M]):
    """A form with the fields of a pydantic model."""

    model: type[M]

    def request(self) -> JSONObject:
        """Give the model's flat schema; raises ValueError when it is not flat."""
        return _form(flat_schema(self.model))

    def read(self, content: Any) -> M:
        """Give the model; raises ValueError, since a model may check more than a schema can say."""
        return self.model.model_validate(content)

    def write(self, value: Any) -> JSONObject:
        """Give the fields of a model, or of a mapping that stands for one."""
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(value, Mapping):
            return dict(value)
        raise ValueError(f"answer with a {self.model.__name__} or a dict of its fields, not {value!r}")


@dataclass(frozen=True, slots=True)
class Acknowledge(Wanted[None]):
    """A form without fields: someone only has to say that the task may go on."""

    def request(self) -> JSONObject:
        """Give an empty form."""
        return _form({"type": "object", "properties": {}})

    def read(self, content: Any) -> None:
        """There is nothing to read."""

    def write(self, value: Any) -> JSONObject:
        """Give no field; those of a mapping are kept, to be refused."""
        return dict(value) if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Visit(Wanted[None]):
    """A visit to an address; accepting means that the person agreed to open it, not that they are done."""

    url: str
    kind: ClassVar[QuestionKind] = QuestionKind.URL

    def request(self) -> JSONObject:
        """Give the address."""
        return {"mode": "url", "url": self.url}

    def read(self, content: Any) -> None:
        """There is nothing to read."""

    def write(self, value: Any) -> None:
        """There is nothing to write."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the client's model said; `text` joins its text blocks, `content` holds all blocks."""

    text: str
    role: str
    model: str
    content: tuple[JSONObject, ...]
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Sampling(Wanted[Sample]):
    """A message from the client's model; `settings` are the optional parameters of the protocol's request."""

    messages: tuple[JSONObject, ...]
    max_tokens: int
    settings: Mapping[str, object] = field(default_factory=dict)
    kind: ClassVar[QuestionKind] = QuestionKind.SAMPLING

    def request(self) -> JSONObject:
        """Give the conversation so far."""
        return {"messages": list(self.messages), "maxTokens": self.max_tokens, **self.settings}

    def read(self, content: Any) -> Sample:
        """Give what the model said."""
        blocks = content["content"] if isinstance(content["content"], list) else [content["content"]]
        return Sample(
            text="".join(block["text"] for block in blocks if block["type"] == "text"),
            role=content["role"],
            model=content["model"],
            content=tuple(blocks),
            stop_reason=content.get("stopReason"),
        )

    def write(self, value: Any) -> JSONObject:
        """Give a whole message; plain text stands for one."""
        if isinstance(value, Mapping):
            return dict(value)
        return {"role": "assistant", "model": "scripted", "content": {"type": "text", "text": str(value)}}


@dataclass(frozen=True, slots=True)
class Root:
    """A place that the client lets the server work in."""

    uri: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Roots(Wanted[list[Root]]):
    """The client's roots."""

    kind: ClassVar[QuestionKind] = QuestionKind.ROOTS

    def request(self) -> JSONObject:
        """There is nothing to say."""
        return {}

    def read(self, content: Any) -> list[Root]:
        """Give the roots in the client's order."""
        return [Root(root["uri"], root.get("name")) for root in content["roots"]]

    def write(self, value: Any) -> JSONObject:
        """Give the whole list; bare addresses stand for roots."""
        if isinstance(value, Mapping):
            return dict(value)
        return {"roots": [{"uri": root} if isinstance(root, str) else dict(root) for root in value]}


def wanted(form: type[M] | Wanted[Any] | type[Wanted[Any]]) -> Wanted[Any]:
    """Give what is asked for by a model, a shortcut, or the bare class of a shortcut; raises ValueError."""
    if isinstance(form, Wanted):
        return form
    if isinstance(form, type) and issubclass(form, BaseModel):
        return ModelForm(form)
    if isinstance(form, type) and issubclass(form, Wanted):
        return form()
    raise ValueError(f"ask for a pydantic model, Confirm, Choice or Text, not {form!r}")


def _form(schema: JSONObject) -> JSONObject:
    check_requested_schema(schema)
    return {"mode": "form", "requestedSchema": schema}
