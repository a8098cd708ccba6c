"""The variables of a task: one JSON object, changed by merging, within limits.

A variable set to null is deleted. Reading and writing the stored object is the store's part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tasks_app.domain.errors import StringTooLong, VariablesTooDeep, VariablesTooLarge
from tasks_app.domain.limits import Limits, check_size, json_depth


def merge(current: Mapping[str, object], changes: Mapping[str, object], limits: Limits) -> dict[str, object]:
    """Give the variables after the changes, leaving both inputs as they were.

    Raises StringTooLong, VariablesTooDeep or VariablesTooLarge, in which case nothing has changed.
    The depth is that of a variable's value: the map of all variables does not count as a level.
    """
    merged = {name: value for name, value in {**current, **changes}.items() if value is not None}
    # Depth comes first: the other two checks walk the value and must be able to trust that it is shallow.
    if any(json_depth(value) > limits.variables_depth for value in merged.values()):
        raise VariablesTooDeep(limits.variables_depth)
    if any(_byte_length(text) > limits.variable_string_bytes for text in _strings(merged)):
        raise StringTooLong(limits.variable_string_bytes)
    check_size(merged, limit=limits.variables_bytes, error=VariablesTooLarge)
    return merged


def _strings(value: object) -> Iterator[str]:
    """Every string in the value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield key
            yield from _strings(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _strings(child)


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
