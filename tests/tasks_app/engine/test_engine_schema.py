"""The schemas and the checks that come from a function's signature."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tasks_app.engine import AsyncContext, Context, InvalidArguments, tool
from tasks_app.engine.registry import Tool, tool_of

pytestmark = pytest.mark.usefixtures("own_registry")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Pair(TypedDict):
    left: int
    right: int


@dataclass
class Box:
    label: str
    made: date


def made_of(function: Any) -> Tool:
    return tool_of(tool(function))


def test_input_schema_of_a_tool_without_arguments_is_a_closed_object() -> None:
    def ping() -> str:
        return "pong"

    assert made_of(ping).input_schema == {"type": "object", "additionalProperties": False}


def test_input_schema_lists_arguments_with_types_defaults_and_descriptions() -> None:
    def search(
        query: Annotated[str, Field(description="What to look for", min_length=1)],
        limit: int = 10,
        kind: Literal["task", "event"] = "task",
    ) -> str:
        return query

    schema = made_of(search).input_schema

    assert schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string", "description": "What to look for", "minLength": 1},
            "limit": {"type": "integer", "default": 10},
            "kind": {"type": "string", "enum": ["task", "event"], "default": "task"},
        },
        "required": ["query"],
    }


def test_input_schema_keeps_models_as_definitions_and_is_valid_json_schema() -> None:
    def draw(points: list[Point], colour: Colour = Colour.RED) -> str:
        return ""

    schema = made_of(draw).input_schema

    jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(schema)))
    assert schema["$defs"].keys() == {"Point", "Colour"}
    jsonschema.validate({"points": [{"x": 1}], "colour": "blue"}, schema)


@pytest.mark.parametrize("name", ["schema", "copy", "_hidden", "model_config", "json", "self_"])
def test_argument_names_that_pydantic_reserves_are_offered_as_they_are(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def odd({name}: int) -> None: ...", scope)

    made = made_of(scope["odd"])

    assert list(made.input_schema["properties"]) == [name]
    assert made.validate({name: 5}) == {name: 5}


def test_context_is_found_by_its_annotation_whatever_its_name_and_left_out_of_the_schema() -> None:
    def early(me: Context, value: int) -> None: ...
    def late(value: int, *, me: "Context") -> None: ...  # noqa: UP037
    async def awaits(me: AsyncContext, value: int) -> None: ...

    for function in (early, late, awaits):
        made = made_of(function)
        assert made.signature.context_name == "me"
        assert list(made.input_schema["properties"]) == ["value"]


def test_context_is_found_by_the_name_ctx_when_nothing_is_annotated() -> None:
    def bare(ctx, value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return value

    made = made_of(bare)

    assert made.signature.context_name == "ctx"
    assert made.validate({"value": [1, "x"]}) == {"value": [1, "x"]}


def test_argument_called_ctx_of_another_type_is_an_argument() -> None:
    def odd(ctx: int) -> None: ...

    made = made_of(odd)

    assert made.signature.context_name is None
    assert list(made.input_schema["properties"]) == ["ctx"]


def test_validate_gives_python_objects_and_defaults() -> None:
    def draw(at: Point, day: date, colour: Colour = Colour.RED, tags: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        ...

    given = made_of(draw).validate({"at": {"x": 1}, "day": "2026-01-31", "colour": "blue"})

    assert given == {"at": Point(x=1, y=0), "day": date(2026, 1, 31), "colour": Colour.BLUE, "tags": frozenset()}


def test_validate_names_every_argument_that_does_not_fit() -> None:
    def draw(at: Point, size: int) -> None: ...

    with pytest.raises(InvalidArguments) as raised:
        made_of(draw).validate({"at": {"x": "far"}, "colour": "red"})

    assert raised.value.fields.keys() == {"at.x", "size", "colour"}
    assert raised.value.fields["size"] == ["is required"]
    assert raised.value.fields["colour"] == ["is not an argument of this tool"]
    assert "size: is required" in str(raised.value)


def test_validate_gives_each_call_its_own_mutable_default() -> None:
    def collect(items: list[int] = []) -> None:  # noqa: B006
        ...

    made = made_of(collect)

    made.validate({})["items"].append(1)

    assert made.validate({}) == {"items": []}


@pytest.mark.parametrize(
    ("annotation", "properties"),
    [(Point, {"x", "y"}), (Pair, {"left", "right"}), (Box, {"label", "made"})],
)
def test_output_schema_is_offered_for_objects_of_known_shape(annotation: Any, properties: set[str]) -> None:
    def give():  # type: ignore[no-untyped-def]  # noqa: ANN202
        ...

    give.__annotations__["return"] = annotation

    schema = made_of(give).output_schema

    assert schema is not None
    assert schema["type"] == "object"
    assert schema["properties"].keys() == properties


def test_output_schema_of_a_mapping_describes_its_values() -> None:
    def count() -> dict[str, int]:
        return {}

    assert made_of(count).output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_output_schema_of_a_recursive_model_is_an_object_at_its_root() -> None:
    def grow() -> Tree:
        return Tree(name="oak")

    schema = made_of(grow).output_schema

    assert schema is not None
    assert schema["type"] == "object"
    jsonschema.validate({"name": "oak", "children": [{"name": "twig", "children": []}]}, schema)


@pytest.mark.parametrize("annotation", [str, int, None, Any, list[Point], dict, dict[str, Any], Point | None, bool])
def test_output_schema_is_left_out_for_everything_else(annotation: Any) -> None:
    def give():  # type: ignore[no-untyped-def]  # noqa: ANN202
        ...

    give.__annotations__["return"] = annotation

    assert made_of(give).output_schema is None


def test_default_that_is_no_json_stays_out_of_the_schema_and_still_works() -> None:
    marker = object()

    def odd(value: Any = marker) -> None: ...

    made = made_of(odd)

    assert made.input_schema["properties"] == {"value": {}}
    assert made.validate({})["value"] is marker
