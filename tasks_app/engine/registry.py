"""How a function becomes a tool: the `@tool` decorator, the tool that it makes, and the registry that holds them.

A wrong declaration never raises at import: it is collected as a problem, which a Django system check reports, and the
tool is not offered. Which modules are imported to find tools is not decided here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, TypeVar, overload

from tasks_app.domain.errors import ToolChanged
from tasks_app.engine.options import option_problems
from tasks_app.engine.schema import BadSignature, Function, Signature, read_signature

F = TypeVar("F", bound=Function)

TOOL_ATTRIBUTE = "__taskdeck_tool__"
DEFAULT_TIMEOUT_SECONDS = 300.0
DEFAULT_RETRIES = 3


class Support(StrEnum):
    """Whether a call of the tool may, must or must not be a task."""

    OPTIONAL = "optional"
    """The caller chooses; the work is durable either way."""

    REQUIRED = "required"
    """Only as a task."""

    FORBIDDEN = "forbidden"
    """Never: it runs inside the web process and leaves no row."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A wrong declaration: the id of its system check, what is wrong, what to do, and where."""

    id: str
    message: str
    hint: str
    obj: object


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """A function that clients may call, with everything that is known about running it. Times are in seconds."""

    name: str
    function: Function
    signature: Signature
    description: str = ""
    title: str | None = None
    task: Support = Support.OPTIONAL
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    retries: int = DEFAULT_RETRIES
    retry_on: tuple[type[Exception], ...] = ()
    ttl: float | None = None
    poll: float | None = None
    expected: float | None = None
    concurrency: int | None = None
    labels: tuple[str, ...] | None = None
    version: int = 1
    accepts_versions: tuple[int, ...] = ()
    approval: Literal["operator"] | None = None
    ask_first: bool = False
    steps: tuple[str, ...] = ()
    annotations: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_async(self) -> bool:
        """Say whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.signature.input_schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the result, for a tool that returns an object of known shape."""
        return self.signature.output_schema

    def validate(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Give the Python value of every argument, defaults included; raises InvalidArguments."""
        return self.signature.validate(arguments)

    def check_version(self, recorded: int) -> None:
        """Raise ToolChanged when a task begun with another version of the tool cannot go on with this one."""
        if recorded != self.version and recorded not in self.accepts_versions:
            raise ToolChanged(f"it began with version {recorded}, and this is version {self.version}")


class Registry:
    """All tools of a process by name, and the problems found while they were declared."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._problems: list[Problem] = []

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every wrong declaration so far."""
        return tuple(self._problems)

    def add(self, tool: Tool) -> bool:
        """Offer a tool, and say whether its name was still free; a second one of the same name is a problem."""
        taken = self._tools.get(tool.name)
        if taken is None:
            self._tools[tool.name] = tool
            return True
        message = f"The tool {tool.name!r} is declared twice: {_place(taken.function)} and {_place(tool.function)}."
        self.report(Problem("tasks.E001", message, "Rename one of them with @tool(name=…).", tool.function))
        return False

    def report(self, problem: Problem) -> None:
        """Remember a wrong declaration."""
        self._problems.append(problem)

    def get(self, name: str) -> Tool | None:
        """Find a tool by its name."""
        return self._tools.get(name)

    def all(self) -> list[Tool]:
        """Give every tool, by name, in an order that never varies."""
        return [self._tools[name] for name in sorted(self._tools)]

    def caps(self) -> dict[str, int]:
        """Give how many attempts of a tool may run at once, for the tools that say so."""
        return {name: tool.concurrency for name, tool in self._tools.items() if tool.concurrency is not None}

    def planned(self) -> list[str]:
        """Give the names of the tools that declare their steps."""
        return [name for name, tool in self._tools.items() if tool.steps]

    def clear(self) -> None:
        """Forget every tool and every problem."""
        self._tools.clear()
        self._problems.clear()

    @contextmanager
    def temporary(self) -> Iterator[Registry]:
        """Start empty, and put everything back at the end: for tests that declare tools."""
        kept = self._tools, self._problems
        self._tools, self._problems = {}, []
        try:
            yield self
        finally:
            self._tools, self._problems = kept


registry = Registry()
"""The tools of this process."""


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    title: str | None = None,
    task: Literal["optional", "required", "forbidden"] = "optional",
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    retries: int = DEFAULT_RETRIES,
    retry_on: type[Exception] | tuple[type[Exception], ...] = (),
    ttl: float | None = None,
    poll: float | None = None,
    expected: float | None = None,
    concurrency: int | None = None,
    labels: tuple[str, ...] | None = None,
    version: int = 1,
    accepts_versions: tuple[int, ...] = (),
    approval: Literal["operator"] | None = None,
    ask_first: bool = False,
    steps: tuple[str, ...] = (),
    annotations: Mapping[str, object] | None = None,
) -> Callable[[F], F]: ...


def tool(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Offer a function to clients as a tool; it stays a plain function for everyone else."""
    if function is not None:
        return _declare(function, options, namespace=names_of_caller())

    def decorate(function: F) -> F:
        return _declare(function, options, namespace=names_of_caller())

    return decorate


def tool_of(declared: Function | Tool) -> Tool:
    """Give the tool that `@tool` made of a function; raises TypeError with the reason when there is none."""
    if isinstance(declared, Tool):
        return declared
    made: Tool | None = getattr(declared, TOOL_ATTRIBUTE, None)
    if made is not None:
        return made
    found = [problem.message for problem in registry.problems if problem.obj is declared]
    raise TypeError(" ".join(found) or f"{_place(declared)} is not a tool: put @tool above it.")


def names_of_caller() -> Mapping[str, Any]:
    """The local names where the decorator stands: annotations may use them, and the module does not know them."""
    frame = inspect.currentframe()
    decorated = frame and frame.f_back and frame.f_back.f_back
    return dict(decorated.f_locals) if decorated else {}


def _declare(function: F, options: Mapping[str, Any], *, namespace: Mapping[str, Any]) -> F:
    made, problems = _build(function, options, namespace)
    for problem in problems:
        registry.report(problem)
    # The attribute is set for a duplicate, too: the function can still be tested while the name is put right.
    if made is not None:
        registry.add(made)
        setattr(function, TOOL_ATTRIBUTE, made)
    return function


def _build(
    function: Function, options: Mapping[str, Any], namespace: Mapping[str, Any]
) -> tuple[Tool | None, list[Problem]]:
    name = function.__name__ if options.get("name") is None else options["name"]
    where = f"The tool {name!r} ({_place(function)})"
    try:
        signature = read_signature(function, namespace=namespace)
    except BadSignature as bad:
        return None, [Problem("tasks.E002", f"{where} cannot be offered: {bad}.", bad.hint, function)]
    wrong = option_problems({**options, "name": name}, argument_names=signature.names)
    if wrong:
        return None, [Problem(id_, f"{where} {message}", hint, function) for id_, message, hint in wrong]
    return Tool(**_normalised(function, options, name), signature=signature), []


def _normalised(function: Function, options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options as `Tool` keeps them: nothing given twice, nothing that a caller could change afterwards."""
    fields = {key: value for key, value in options.items() if value is not None}
    fields |= {"name": name, "function": function, "task": Support(options.get("task", Support.OPTIONAL))}
    fields["description"] = options.get("description") or inspect.getdoc(function) or ""
    fields["annotations"] = MappingProxyType(dict(options.get("annotations") or {}))
    retry_on = options.get("retry_on", ())
    fields["retry_on"] = (retry_on,) if isinstance(retry_on, type) else tuple(retry_on)
    for key in ("labels", "accepts_versions", "steps"):
        if options.get(key) is not None:
            fields[key] = tuple(options[key])
    return fields


def _place(function: Function) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', function)}"
