"""How the value of a step is kept as plain JSON and given back as what the step's function promises to return.

The return annotation decides: with one, models, dataclasses and dates come back as themselves; without one, the value
comes back as plain JSON. A first run gives back the same as a replay would, so a difference shows at once.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tasks_app.domain.errors import ToolError

NO_JSON = (PydanticSerializationError, ValueError, TypeError, RecursionError)
"""What is raised for values that have no JSON form."""


def plain_json(value: object) -> Any:
    """Give the value as JSON would give it back; raises one of NO_JSON when it cannot."""
    return json.loads(json.dumps(to_jsonable_python(value, by_alias=True), allow_nan=False))


class StepValue:
    """Writes and reads the values of one step."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._adapter = _adapter(function)

    def encode(self, value: object) -> Any:
        """Give a value as plain JSON; raises ToolError when it has none."""
        try:
            if self._adapter is not None:
                value = self._adapter.dump_python(self._adapter.validate_python(value), mode="json", by_alias=True)
            return plain_json(value)
        except NO_JSON as error:
            raise ToolError(f"The value of step {self._name!r} cannot be kept: {_first_line(error)}") from error

    def decode(self, plain: Any) -> Any:
        """Give back a value; raises ToolError when the function now promises something else."""
        if self._adapter is None:
            return plain
        try:
            return self._adapter.validate_python(plain)
        except ValidationError as error:
            raise ToolError(f"The recorded value of step {self._name!r} does not fit: {_first_line(error)}") from error


def _adapter(function: Callable[..., Any]) -> TypeAdapter[Any] | None:
    promised = _promised(function)
    if promised is Any:
        return None
    try:
        return TypeAdapter(promised)
    except PydanticUserError:
        return None


def _promised(function: Callable[..., Any]) -> Any:
    if isinstance(function, functools.partial):
        return _promised(function.func)
    if isinstance(function, type):
        return function
    if not (inspect.isroutine(function) or hasattr(function, "__wrapped__")):
        function = type(function).__call__
    try:
        return get_type_hints(function, include_extras=True).get("return", Any)
    except (NameError, TypeError, AttributeError):
        # A name that exists only for the type checker: the value comes back as plain JSON.
        return Any


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return ": ".join(filter(None, [".".join(map(str, fault["loc"])), fault["msg"]]))
    return str(error).splitlines()[0] if str(error) else type(error).__name__
