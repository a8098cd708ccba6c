"""The flat schema that a form can show, made of a pydantic model.

References are put in place, and what pydantic says in a way of its own is said in the way that forms know. What is left
over and cannot be shown (a nested model, a list of numbers) is refused by the domain, which has the last word.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel

JSONObject = dict[str, Any]


@cache
def flat_schema(model: type[BaseModel]) -> JSONObject:
    """Give the model's fields as properties of a form."""
    full = model.model_json_schema()
    definitions = full.get("$defs", {})
    properties = {name: _flat(spec, definitions) for name, spec in full.get("properties", {}).items()}
    flat = {"type": "object", "properties": properties, "required": full.get("required", [])}
    return {keyword: value for keyword, value in flat.items() if value or keyword == "properties"}


def _flat(spec: JSONObject, definitions: JSONObject) -> JSONObject:
    """A property without references and without the ways in which pydantic spells "may be left out" and "just this"."""
    flat = dict(spec)
    if reference := flat.pop("$ref", None):
        flat = definitions[reference.rpartition("/")[2]] | flat
    choices = [choice for choice in flat.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        del flat["anyOf"]
        flat = _flat(choices[0], definitions) | flat
    if flat.get("default", ...) is None:
        del flat["default"]
    if "const" in flat:
        flat["enum"] = [flat.pop("const")]
    if isinstance(flat.get("items"), dict):
        flat["items"] = _flat(flat["items"], definitions)
        flat["items"].pop("title", None)
    return _inclusive(flat)


def _inclusive(spec: JSONObject) -> JSONObject:
    """Bounds that a form knows; what it does not know (open bounds, patterns) is left to the model's own check."""
    above, below = spec.pop("exclusiveMinimum", None), spec.pop("exclusiveMaximum", None)
    if spec.get("type") == "integer":
        if above is not None:
            spec["minimum"] = int(above) + 1
        if below is not None:
            spec["maximum"] = int(below) - 1
    for keyword in ("pattern", "multipleOf"):
        spec.pop(keyword, None)
    return spec
