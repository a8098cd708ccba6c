"""What a function promises to its callers: the schemas of its arguments and of its result, read off its signature.

Everything comes from pydantic, as JSON Schema 2020-12. How a tool is declared is in `registry`; how its return value
becomes a result is in `results`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import jsonschema
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from tasks_app.domain.errors import TaskdeckError, ToolError
from tasks_app.engine.context import Context

Function = Callable[..., Any]


class InvalidArguments(ToolError):
    """The arguments do not fit the tool; `fields` names what is wrong, by argument ("" for all of them)."""

    reason = "invalid_arguments"

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self.fields = {name: list(messages) for name, messages in fields.items()}
        said = "; ".join(f"{name}: {', '.join(messages)}" for name, messages in self.fields.items())
        super().__init__(f"The arguments do not fit this tool. {said}. Correct them and call the tool again.")


class BadSignature(TaskdeckError):
    """No schema can be made of the function; `hint` says what to change."""

    reason = "bad_signature"

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


class PlainSchema(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes up from field names: they say nothing and cost tokens."""

    # A default that is no JSON stays out of the schema and still works, so it is not worth a warning.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """Leave titles to those who write them."""
        return False


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's arguments and result, ready to be offered and checked."""

    names: tuple[str, ...]
    context_name: str | None
    arguments: type[BaseModel]
    input_schema: dict[str, Any]
    returns: TypeAdapter[Any] | None
    output_schema: dict[str, Any] | None

    def validate(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Give the Python value of every argument, defaults included; raises InvalidArguments."""
        try:
            checked = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise InvalidArguments(_messages(error)) from error
        return {name: getattr(checked, _field(index)) for index, name in enumerate(self.names)}


def read_signature(function: Function, *, namespace: Mapping[str, Any] | None = None) -> Signature:
    """Read the schemas off a function; `namespace` holds names that its module does not; raises BadSignature."""
    hints = _hints(function, namespace)
    parameters = list(_parameters(function))
    context = [parameter.name for parameter in parameters if _is_context(parameter, hints)]
    if len(context) > 1:
        raise BadSignature(f"it takes the context twice: {', '.join(context)}", "Keep one parameter for the context.")
    offered = [parameter for parameter in parameters if parameter.name not in context]
    try:
        arguments = _arguments_model(offered, hints)
        returns, output_schema = _output(hints.get("return"))
        input_schema = _input_schema(arguments)
    except (PydanticUserError, TypeError, ValueError, jsonschema.SchemaError) as error:
        raise BadSignature(
            f"no JSON Schema can be made of its types: {str(error).splitlines()[0].rstrip('.')}",
            "Use types that have a JSON form: scalars, lists, dicts, dataclasses, pydantic models.",
        ) from error
    return Signature(
        names=tuple(parameter.name for parameter in offered),
        context_name=context[0] if context else None,
        arguments=arguments,
        input_schema=input_schema,
        returns=returns,
        output_schema=output_schema,
    )


def _hints(function: Function, namespace: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=dict(namespace or {}), include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise BadSignature(
            f"its annotations cannot be resolved: {error}",
            "Import every name that the annotations use at run time, not only under TYPE_CHECKING.",
        ) from error


def _parameters(function: Function) -> Iterator[inspect.Parameter]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadSignature(
                f"its parameter {parameter} cannot be passed by name",
                "Name every argument: no *args, **kwargs or positional-only parameters.",
            )
        yield parameter


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    if parameter.name not in hints:
        return parameter.name == "ctx"
    hint = hints[parameter.name]
    return isinstance(hint, type) and issubclass(hint, Context)


def _field(index: int) -> str:
    return f"argument_{index}"


def _arguments_model(parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> type[BaseModel]:
    """A model whose fields are numbered, with the real names as aliases: `schema` or `_x` are no names for fields."""
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(parameters):
        annotation: Any = Annotated[hints.get(parameter.name, Any), Field(alias=parameter.name)]
        fields[_field(index)] = (annotation, ... if parameter.default is parameter.empty else parameter.default)
    return create_model("Arguments", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)


def _input_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    schema = arguments.model_json_schema(schema_generator=PlainSchema)
    del schema["title"]
    if not schema["properties"]:
        del schema["properties"]
    return _checked(schema)


def _output(annotation: Any) -> tuple[TypeAdapter[Any] | None, dict[str, Any] | None]:
    """The schema of a result that is an object of known shape; other results are content without one."""
    if annotation in (None, type(None), Any, dict, dict[str, Any], dict[str, object]):
        return None, None
    adapter = TypeAdapter(annotation)
    schema = _inlined(adapter.json_schema(mode="serialization", schema_generator=PlainSchema))
    if schema.get("type") != "object":
        return None, None
    return adapter, _checked(schema)


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A recursive model is a reference at the root, where the wire wants `type: object`."""
    root = schema.get("$ref")
    if root is None:
        return schema
    return {**schema["$defs"][root.rpartition("/")[2]], "$defs": schema["$defs"]}


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    json.dumps(schema, allow_nan=False)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def _messages(error: ValidationError) -> dict[str, list[str]]:
    said = {"missing": "is required", "extra_forbidden": "is not an argument of this tool"}
    messages: dict[str, list[str]] = {}
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        name = ".".join(str(part) for part in fault["loc"])
        messages.setdefault(name, []).append(said.get(fault["type"], fault["msg"]))
    return messages
