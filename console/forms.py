"""The form of a question: what to render, what was typed, and what is wrong with it. Validation is the domain's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils import timezone

from tasks_app.domain.answers import coerce_form, fields
from tasks_app.domain.fields import Field, FieldKind
from tasks_app.domain.questions import Audience, QuestionKind
from tasks_app.store import QuestionView

PREFIX = "f-"
LONG_TEXT = 120
FEW_OPTIONS = 5
MANY_OPTIONS = 15
MESSAGE_CHARACTERS = 2000
RAW_CHARACTERS = 20_000

_INPUT_TYPES = {
    FieldKind.EMAIL: "email",
    FieldKind.URI: "url",
    FieldKind.DATE: "date",
    FieldKind.DATETIME: "datetime-local",
}
_UNSAID = {QuestionKind.SAMPLING: "Asks the client's model", QuestionKind.ROOTS: "Asks for the client's roots"}
_INPUT_MODES = {FieldKind.NUMBER: "decimal", FieldKind.INTEGER: "numeric"}


@dataclass(frozen=True, slots=True)
class Widget:
    """One field with what stands in it."""

    field: Field
    values: tuple[str, ...]
    errors: tuple[str, ...]
    id: str

    @property
    def name(self) -> str:
        """The name under which the browser sends it, apart from the form's own."""
        return PREFIX + self.field.name

    @property
    def value(self) -> str:
        """What stands in a field with one value."""
        return self.values[0] if self.values else ""

    @property
    def shape(self) -> str:
        """Which control it is: radios, a select, checkboxes, yes or no, a text area, or one line."""
        kind = self.field.kind
        if kind is FieldKind.CHOICE:
            return "radios" if len(self.field.options) <= FEW_OPTIONS else "select"
        if kind is FieldKind.MULTI:
            return "checks"
        if kind is FieldKind.BOOLEAN:
            return "yesno" if self.field.required and self.field.default is None else "check"
        is_long = kind is FieldKind.TEXT and (self.field.max_length or 0) > LONG_TEXT
        return "area" if is_long else "line"

    @property
    def input_type(self) -> str:
        """The type of the one-line input; numbers are text, so that long ones survive."""
        return _INPUT_TYPES.get(self.field.kind, "text")

    @property
    def input_mode(self) -> str:
        """Which keyboard a phone shows."""
        return _INPUT_MODES.get(self.field.kind, "")

    @property
    def is_filtered(self) -> bool:
        """Whether there are so many options that one types to find one."""
        return self.shape == "select" and len(self.field.options) > MANY_OPTIONS

    @property
    def hint(self) -> str:
        """What the tool says of the field, and what its limits say in words: a sentence each."""
        limits = self._limits
        return f"{self.field.help.rstrip('.')}. {limits}" if self.field.help and limits else self.field.help or limits

    @property
    def _limits(self) -> str:
        if self.field.kind is FieldKind.DATETIME:
            return f"Time in {_zone_name()}"
        if self.field.kind is FieldKind.TEXT and (self.field.min_length or 0) > 1:
            return f"At least {self.field.min_length} characters"
        low, high = _shown(self.field.minimum), _shown(self.field.maximum)
        if self.field.kind is FieldKind.MULTI:
            low, high = _shown(self.field.min_items), _shown(self.field.max_items)
        said = {(True, True): f"{low} to {high}", (True, False): f"at least {low}", (False, True): f"at most {high}"}
        words = said.get((low is not None, high is not None), "")
        prefix = "choose " if self.field.kind is FieldKind.MULTI and words else ""
        whole = "Whole number" if self.field.kind is FieldKind.INTEGER else ""
        limits = ", ".join(part for part in (whole, prefix + words) if part)
        return limits[:1].upper() + limits[1:]


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A question as a page shows it, bound to what was typed or not."""

    question: QuestionView
    widgets: tuple[Widget, ...]
    errors: tuple[str, ...] = ()
    is_answerable: bool = True
    is_gone: bool = False
    """Whether its task has expired, and with it what was asked."""

    @property
    def message(self) -> str:
        """What is asked, as text and of a bounded length: whoever wrote it is not trusted."""
        return str(self.question.request.get("message") or "")[:MESSAGE_CHARACTERS]

    @property
    def heading(self) -> str:
        """What stands above it: what is asked or, of what no person is asked, who is."""
        if self.is_gone:
            return "What was asked is no longer shown."
        if self.question.audience == Audience.OPERATOR:
            # The arguments stand beside it, where they can be read.
            return self.message.partition("\n")[0]
        return self.message or _UNSAID.get(self.question.kind, "The tool asks")

    @property
    def url(self) -> str:
        """The address to open; only the web's own schemes are ever shown as a link."""
        address = str(self.question.request.get("url") or "")
        try:
            parts = urlsplit(address)
        except ValueError:
            return ""
        return address if parts.scheme in {"http", "https"} and parts.hostname else ""

    @property
    def host(self) -> str:
        """Where that address leads, as the network knows it."""
        return _ascii_host(_host(self.url))

    @property
    def readable_host(self) -> str:
        """The same as people would read it, where that differs; a look-alike is seen by comparing the two."""
        readable = _unicode_host(self.host)
        return readable if readable != self.host else ""

    @property
    def raw(self) -> str:
        """The request as it came, for what no form can show."""
        return json.dumps(self.question.request, indent=2, ensure_ascii=False)[:RAW_CHARACTERS]

    @property
    def wrong(self) -> tuple[Widget, ...]:
        """The fields that need a change."""
        return tuple(widget for widget in self.widgets if widget.errors)


def form_for(
    question: QuestionView, typed: QueryDict | None = None, errors: Mapping[str, Sequence[str]] | None = None
) -> QuestionForm:
    """The form of a question, with its defaults or with what was typed and what is wrong with it."""
    said = errors or {}
    if question.kind is not QuestionKind.FORM:
        return QuestionForm(question, (), tuple(said.get("", ())), question.kind is QuestionKind.URL)
    try:
        known = fields(question.request.get("requestedSchema") or {})
    except ValueError as unshowable:
        return QuestionForm(question, (), (str(unshowable),), is_answerable=False)
    widgets = (
        Widget(each, typed_values(each, typed), tuple(said.get(each.name, ())), f"q{question.id}-{index}")
        for index, each in enumerate(known)
    )
    return QuestionForm(question, tuple(widgets), tuple(said.get("", ())))


def answered_form(question: QuestionView) -> QuestionForm:
    """The form of a question that is over, with what was answered in its fields; empty where nothing was."""
    content = (question.answer or {}).get("content")
    form = form_for(question, QueryDict())
    given = content if isinstance(content, Mapping) else {}
    filled = (replace(each, values=_texts(each.field, given.get(each.field.name))) for each in form.widgets)
    return replace(form, widgets=tuple(filled))


def draft_of(question: QuestionView, typed: QueryDict | None = None) -> QuestionForm:
    """The form of a question whose task has expired: what was typed, by the names that it was sent with."""
    sent = dict(typed.lists() if typed else ())
    said = {
        name.removeprefix(PREFIX): ", ".join(map(str, values))
        for name, values in sent.items()
        if name.startswith(PREFIX)
    }
    widgets = (
        Widget(_line(name), (text,), (), f"q{question.id}-{index}") for index, (name, text) in enumerate(said.items())
    )
    return QuestionForm(question, tuple(widgets), is_answerable=False, is_gone=True)


def _line(name: str) -> Field:
    """A field of which no more is known than its name; long enough for anything."""
    return Field(name=name, title=name, kind=FieldKind.TEXT, required=True, max_length=RAW_CHARACTERS)


def content_of(question: QuestionView, typed: QueryDict, *, zone: tzinfo) -> dict[str, object]:
    """What was typed, as the content of an answer. Raises InvalidAnswer."""
    schema = question.request.get("requestedSchema") or {}
    values = {name.removeprefix(PREFIX): typed.getlist(name) for name in typed if name.startswith(PREFIX)}
    return coerce_form(schema, values, zone=zone)


def typed_values(each: Field, typed: QueryDict | None) -> tuple[str, ...]:
    """What stands in a field: what was typed, or its default."""
    if typed is not None:
        return tuple(typed.getlist(PREFIX + each.name))
    return _texts(each, each.default)


def _texts(each: Field, value: object) -> tuple[str, ...]:
    """A value as the controls of its field hold it."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value)
    if isinstance(value, bool):
        return ("true" if value else "false",)
    return (_local(str(value)) if each.kind is FieldKind.DATETIME else str(value),)


def _shown(limit: float | None) -> str | None:
    return None if limit is None else f"{limit:,}" if isinstance(limit, int) else str(limit)


def _local(moment: str) -> str:
    """A moment as the browser's date and time field wants it: in the person's zone, without an offset."""
    try:
        at = datetime.fromisoformat(moment)
        aware = at if at.tzinfo else at.replace(tzinfo=UTC)
        return timezone.localtime(aware).replace(tzinfo=None).isoformat(timespec="minutes")
    except (ValueError, OverflowError):
        return ""


def _zone_name() -> str:
    return timezone.get_current_timezone_name().replace("_", " ")


def _host(address: str) -> str:
    return (urlsplit(address).hostname or "") if address else ""


def _ascii_host(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def _unicode_host(host: str) -> str:
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host
