"""Prompts and resources: functions that clients read rather than call, declared with the manners of `@tool`.

Each is kept as a tool that is never a task, so that it runs, asks and fails as one. A wrong declaration never raises at
import: it is collected as a problem, which a Django system check reports, and what it declares is not offered.
"""

from __future__ import annotations

import base64
import functools
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar, overload
from urllib.parse import unquote

from pydantic_core import to_jsonable_python

from tasks_app.domain.errors import ToolError
from tasks_app.engine.options import TOOL_NAME
from tasks_app.engine.registry import Problem, Support, Tool, names_of_caller, registry
from tasks_app.engine.schema import BadSignature, Function, read_signature

F = TypeVar("F", bound=Function)
Completer: TypeAlias = Sequence[str] | Callable[[str], Iterable[str]]
"""What completes an argument: the values that there are, or a function from what was typed to what it may become."""

BAD_PROMPT = "tasks.E006"
BAD_RESOURCE = "tasks.E007"
TIMEOUT_SECONDS = 30.0

_VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, kw_only=True, eq=False)
class Prompt:
    """Messages to begin a conversation with, made by a function."""

    name: str
    tool: Tool
    title: str | None = None
    description: str = ""
    complete: Mapping[str, Completer] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Resource:
    """Something to read at an address; with variables in the address it stands for many."""

    uri: str
    name: str
    tool: Tool
    title: str | None = None
    description: str = ""
    mime_type: str | None = None
    complete: Mapping[str, Completer] = field(default_factory=dict)

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables in the address."""
        return tuple(_VARIABLE.findall(self.uri))

    def match(self, uri: str) -> dict[str, str] | None:
        """The values of the variables in this address; None when it is not one of ours."""
        found = self._pattern.fullmatch(uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        literals = _VARIABLE.split(self.uri)
        parts = (f"(?P<{part}>[^/]+)" if odd % 2 else re.escape(part) for odd, part in enumerate(literals))
        return re.compile("".join(parts))


class Content:
    """Every prompt by name and every resource by address."""

    def __init__(self) -> None:
        self._prompts: dict[str, Prompt] = {}
        self._resources: dict[str, Resource] = {}

    def prompts(self) -> list[Prompt]:
        """Give every prompt, by name."""
        return [self._prompts[name] for name in sorted(self._prompts)]

    def prompt(self, name: str) -> Prompt | None:
        """Find a prompt by its name."""
        return self._prompts.get(name)

    def resources(self) -> list[Resource]:
        """Give every resource with a fixed address, by address."""
        return [self._resources[uri] for uri in sorted(self._resources) if not self._resources[uri].variables]

    def templates(self) -> list[Resource]:
        """Give every resource with variables in its address, by address."""
        return [self._resources[uri] for uri in sorted(self._resources) if self._resources[uri].variables]

    def find(self, uri: str) -> tuple[Resource, dict[str, str]] | None:
        """Find what stands at an address, and the values of its variables; a fixed address comes first."""
        for resource in [*self.resources(), *self.templates()]:
            values = resource.match(uri)
            if values is not None:
                return resource, values
        return None

    def template(self, uri: str) -> Resource | None:
        """Find a resource by its own address, variables and all."""
        return self._resources.get(uri)

    def add(self, made: Prompt | Resource) -> bool:
        """Offer something, and say whether its name or address was still free."""
        key = made.name if isinstance(made, Prompt) else made.uri
        kept: dict[str, Any] = self._prompts if isinstance(made, Prompt) else self._resources
        return kept.setdefault(key, made) is made

    @contextmanager
    def temporary(self) -> Iterator[Content]:
        """Start empty, and put everything back at the end: for tests that declare content."""
        kept = self._prompts, self._resources
        self._prompts, self._resources = {}, {}
        try:
            yield self
        finally:
            self._prompts, self._resources = kept


content = Content()
"""The prompts and resources of this process."""


@overload
def prompt(function: F, /) -> F: ...


@overload
def prompt(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    complete: Mapping[str, Completer] | None = None,
) -> Callable[[F], F]: ...


def prompt(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Offer a function as a prompt; it returns text, a message, or a list of messages, and may ask."""
    if function is not None:
        return _declare_prompt(function, options, names_of_caller())

    def decorate(function: F) -> F:
        return _declare_prompt(function, options, names_of_caller())

    return decorate


def resource(
    uri: str,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    complete: Mapping[str, Completer] | None = None,
) -> Callable[[F], F]:
    """Offer a function as what is read at an address; it returns text, bytes, or anything that has a JSON form.

    Variables in the address, as in `file://{name}`, are the arguments of the function.
    """
    options = {"name": name, "title": title, "description": description, "mime_type": mime_type, "complete": complete}

    def decorate(function: F) -> F:
        return _declare_resource(function, uri, options, names_of_caller())

    return decorate


def _declare_prompt(function: F, options: Mapping[str, Any], names: Mapping[str, Any]) -> F:
    name = options.get("name") or function.__name__
    tool = _tool(function, name, _messages, names, BAD_PROMPT)
    if tool is None:
        return function
    wrong = "has a name that clients refuse" if not TOOL_NAME.fullmatch(name) else _bad_completion(options, tool)
    if not wrong:
        made = Prompt(name=name, tool=tool, **_described(function, options))
        wrong = "" if content.add(made) else "is declared twice"
    if wrong:
        _report(BAD_PROMPT, f"The prompt {name!r} {wrong}.", function)
    return function


def _declare_resource(function: F, uri: str, options: Mapping[str, Any], names: Mapping[str, Any]) -> F:
    tool = _tool(function, options.get("name") or function.__name__, _contents, names, BAD_RESOURCE)
    if tool is None:
        return function
    made = Resource(uri=uri, name=tool.name, tool=tool, mime_type=options["mime_type"], **_described(function, options))
    wrong = _bad_address(made) or _bad_completion(options, tool)
    if not wrong and not content.add(made):
        wrong = "is declared twice"
    if wrong:
        _report(BAD_RESOURCE, f"The resource {uri!r} {wrong}.", function)
    return function


def _tool(
    function: Function, name: str, shape: Callable[[Any], Any], names: Mapping[str, Any], problem: str
) -> Tool | None:
    try:
        signature = read_signature(function, namespace=names)
    except BadSignature as bad:
        registry.report(Problem(problem, f"{name!r} cannot be offered: {bad}.", bad.hint, function))
        return None
    return Tool(
        name=name,
        function=_shaping(function, shape),
        # What it returns is no tool's result, so nothing is promised about that.
        signature=replace(signature, returns=None, output_schema=None),
        task=Support.FORBIDDEN,
        timeout=TIMEOUT_SECONDS,
    )


def _shaping(function: Function, shape: Callable[[Any], Any]) -> Function:
    """The same function, its value in the shape that clients read."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def shaped_async(**arguments: Any) -> Any:
            return _as_result(shape(await function(**arguments)))

        return shaped_async

    @functools.wraps(function)
    def shaped(**arguments: Any) -> Any:
        return _as_result(shape(function(**arguments)))

    return shaped


def _as_result(shape: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "structuredContent": shape}


def _described(function: Function, options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": options.get("title"),
        "description": options.get("description") or inspect.getdoc(function) or "",
        "complete": dict(options.get("complete") or {}),
    }


def _bad_address(made: Resource) -> str:
    if not _SCHEME.match(made.uri) or any(sign in _VARIABLE.sub("", made.uri) for sign in "{} "):
        return "has no address that can be read: it needs a scheme, and variables as in file://{name}"
    if sorted(made.variables) != sorted(made.tool.signature.names):
        return "must have exactly the arguments of its function as variables"
    return ""


def _bad_completion(options: Mapping[str, Any], tool: Tool) -> str:
    unknown = [name for name in options.get("complete") or {} if name not in tool.signature.names]
    return f"completes what are no arguments: {', '.join(unknown)}" if unknown else ""


def _report(problem: str, message: str, function: Function) -> None:
    registry.report(Problem(problem, message, "Correct the declaration above the function.", function))


def _messages(value: Any) -> dict[str, Any]:
    plain = to_jsonable_python(value, by_alias=True, exclude_none=True)
    if isinstance(plain, dict) and isinstance(plain.get("messages"), list):
        return plain
    return {"messages": [_message(each) for each in (plain if isinstance(plain, list) else [plain])]}


def _message(plain: Any) -> dict[str, Any]:
    if isinstance(plain, str):
        plain = {"type": "text", "text": plain}
    if isinstance(plain, dict) and "type" in plain:
        return {"role": "user", "content": plain}
    if isinstance(plain, dict) and {"role", "content"} <= plain.keys():
        inner = plain["content"]
        return {**plain, "content": {"type": "text", "text": inner} if isinstance(inner, str) else inner}
    raise ToolError("The prompt returned something that is neither text nor a message.")


def _contents(value: Any) -> dict[str, Any]:
    """What was read, still without its address."""
    if isinstance(value, bytes | bytearray):
        return {"contents": [{"blob": base64.b64encode(value).decode("ascii")}]}
    plain = to_jsonable_python(value, by_alias=True)
    if isinstance(plain, dict) and isinstance(plain.get("contents"), list):
        return plain
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return {"contents": [{"text": text}]}
