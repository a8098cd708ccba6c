"""Declaring tools: what `@tool` makes, where it is kept, and how wrong declarations are reported."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_app.engine import Context, ToolChanged, tool
from tasks_app.engine.registry import Registry, Support, Tool, registry, tool_of

pytestmark = pytest.mark.usefixtures("own_registry")


def test_tool_without_options_takes_everything_from_the_function() -> None:
    """Covers check 113: a plain function is a tool."""

    @tool
    def add(left: int, right: int = 2) -> str:
        """Add two numbers."""
        return str(left + right)

    made = tool_of(add)

    assert (made.name, made.description, made.task) == ("add", "Add two numbers.", Support.OPTIONAL)
    assert (made.timeout, made.retries, made.version) == (300, 3, 1)
    assert registry.get("add") is made


def test_tool_leaves_the_function_callable() -> None:
    @tool(task="required")
    def double(number: int) -> int:
        return number * 2

    assert double(21) == 42


def test_tool_keeps_every_option_that_it_is_given() -> None:
    @tool(
        name="ops.deploy-2",
        description="Ships it.",
        title="Deploy",
        task="required",
        timeout=900,
        retries=2,
        retry_on=OSError,
        ttl=60,
        poll=0.5,
        expected=30,
        concurrency=4,
        labels=("service",),
        version=3,
        accepts_versions=(2,),
        approval="operator",
        ask_first=True,
        steps=("plan", "push"),
        annotations={"destructiveHint": True},
    )
    def deploy(service: str) -> str:
        """Something else."""
        return service

    made = tool_of(deploy)

    assert made.name == "ops.deploy-2"
    assert (made.description, made.title, made.task) == ("Ships it.", "Deploy", "required")
    assert (made.timeout, made.retries, made.retry_on) == (900, 2, (OSError,))
    assert (made.ttl, made.poll, made.expected, made.concurrency) == (60, 0.5, 30, 4)
    assert (made.labels, made.version, made.accepts_versions) == (("service",), 3, (2,))
    assert (made.approval, made.ask_first, made.steps) == ("operator", True, ("plan", "push"))
    assert dict(made.annotations) == {"destructiveHint": True}


def test_registry_lists_tools_by_name_in_one_order() -> None:
    @tool
    def zebra() -> None: ...

    @tool
    def ant() -> None: ...

    assert [made.name for made in registry.all()] == ["ant", "zebra"]


def test_registry_knows_nothing_of_a_name_that_was_not_declared() -> None:
    assert registry.get("nobody") is None


def test_registry_that_is_temporary_puts_everything_back() -> None:
    @tool
    def outside() -> None: ...

    with registry.temporary():

        @tool
        def inside() -> None: ...

        assert [made.name for made in registry.all()] == ["inside"]

    assert [made.name for made in registry.all()] == ["outside"]


def test_registry_that_is_cleared_forgets_tools_and_problems() -> None:
    @tool(timeout=0)
    def broken() -> None: ...

    registry.clear()

    assert registry.all() == []
    assert registry.problems == ()


def test_second_tool_of_the_same_name_is_a_problem_and_the_first_stays() -> None:
    def declare() -> Any:
        @tool(name="twin")
        def twin() -> None: ...

        return twin

    first, second = declare(), declare()

    (problem,) = registry.problems
    assert problem.id == "tasks.E001"
    assert "'twin'" in problem.message
    assert problem.obj is second
    assert registry.get("twin") is tool_of(first)


def test_types_without_a_json_form_are_a_problem_that_names_the_tool() -> None:
    class Opaque:
        pass

    @tool
    def takes_anything(thing: Opaque) -> None: ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E002"
    assert "takes_anything" in problem.message
    assert "pydantic models" in problem.hint
    assert registry.all() == []


@pytest.mark.parametrize("kind", ["star", "stars", "slash"])
def test_parameters_that_cannot_be_named_are_a_problem(kind: str) -> None:
    if kind == "star":

        @tool
        def star(*values: int) -> None: ...

    elif kind == "stars":

        @tool
        def stars(**values: int) -> None: ...

    else:

        @tool
        def slash(value: int, /) -> None: ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E002"
    assert "cannot be passed by name" in problem.message


def test_annotations_that_cannot_be_resolved_are_a_problem() -> None:
    @tool
    def lost(thing: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
        ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E002"
    assert "Missing" in problem.message


def test_context_taken_twice_is_a_problem() -> None:
    @tool
    def greedy(ctx: Context, other: Context) -> None: ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E002"
    assert "ctx, other" in problem.message


def test_approval_of_a_forbidden_tool_is_a_problem() -> None:
    @tool(task="forbidden", approval="operator")
    def inline() -> None: ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E003"
    assert "never a task" in problem.message


@pytest.mark.parametrize("name", ["", "two words", "slash/ed", "ümlaut", "x" * 129])
def test_name_that_clients_refuse_is_a_problem(name: str) -> None:
    @tool(name=name)
    def named() -> None: ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E004"
    assert registry.all() == []


@pytest.mark.parametrize("name", ["a", "x" * 128, "A-z_0.9"])
def test_name_at_the_edge_of_what_clients_accept_is_offered(name: str) -> None:
    @tool(name=name)
    def named() -> None: ...

    assert registry.problems == ()
    assert [made.name for made in registry.all()] == [name]


@pytest.mark.parametrize(
    "options",
    [
        {"task": "sometimes"},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": True},
        {"timeout": float("inf")},
        {"timeout": None},
        {"retries": -1},
        {"retries": 1.5},
        {"retry_on": ("OSError",)},
        {"retry_on": KeyboardInterrupt},
        {"ttl": 0},
        {"poll": -1},
        {"expected": "soon"},
        {"concurrency": 0},
        {"labels": ("nobody",)},
        {"labels": "value"},
        {"version": 0},
        {"accepts_versions": ("1",)},
        {"approval": "boss"},
        {"ask_first": 1},
        {"steps": ("a", "a")},
        {"annotations": ["readOnlyHint"]},
        {"retires": 3},
    ],
    ids=str,
)
def test_option_with_a_wrong_value_is_a_problem_that_names_it(options: dict[str, Any]) -> None:
    @tool(**options)
    def wrong(value: str) -> None: ...

    (problem,) = registry.problems
    assert problem.id == "tasks.E005"
    assert next(iter(options)) in problem.message
    assert problem.hint
    assert registry.all() == []


def test_every_problem_of_a_declaration_is_reported_at_once() -> None:
    @tool(name="no good", timeout=0, retries=-1, task="forbidden", approval="operator")
    def hopeless() -> None: ...

    assert [problem.id for problem in registry.problems] == ["tasks.E004", "tasks.E005", "tasks.E005", "tasks.E003"]


def test_tool_of_a_plain_function_says_what_to_do() -> None:
    def plain() -> None: ...

    with pytest.raises(TypeError, match="put @tool above it"):
        tool_of(plain)


def test_tool_of_a_wrong_declaration_says_what_is_wrong() -> None:
    @tool(timeout=0)
    def wrong() -> None: ...

    with pytest.raises(TypeError, match="timeout=0"):
        tool_of(wrong)


def test_tool_accepts_only_tasks_of_its_own_and_of_listed_versions(own_registry: Registry) -> None:
    @tool(version=4, accepts_versions=(2, 3))
    def evolving() -> None: ...

    made = tool_of(evolving)

    for recorded in (2, 3, 4):
        made.check_version(recorded)
    for recorded in (1, 5):
        with pytest.raises(ToolChanged, match=f"version {recorded}"):
            made.check_version(recorded)


def test_tools_are_compared_by_identity() -> None:
    @tool
    def one() -> None: ...

    made = tool_of(one)

    assert isinstance(made, Tool)
    assert {made: 1}[made] == 1
