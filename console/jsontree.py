"""A JSON value as a tree that a template can fold. Numbers stay the text that they were, so none is ever rounded."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

MOST_CHILDREN = 200
DEEPEST = 20
LARGEST_CHARACTERS = 64_000
LONGEST_STRING = 2_000

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Number(str):
    """A number as it was written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One value with the name that it has in its parent; `more` counts children, or characters, that are not shown.

    `path` leads to it from the whole, as JavaScript and jq would write it.
    """

    name: str | None
    text: str = ""
    is_list: bool = False
    children: tuple[Node, ...] = field(default=())
    count: int = 0
    more: int = 0
    path: str = ""

    @property
    def is_branch(self) -> bool:
        """Whether there is something to fold."""
        return self.count > 0


def tree(text: str) -> Node | None:
    """The tree of a JSON text; None for one that is too large to show, or is none."""
    if len(text) > LARGEST_CHARACTERS:
        return None
    try:
        return _node(None, json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number), depth=0)
    except (ValueError, RecursionError):
        return None


def _node(name: str | None, value: Any, *, depth: int, path: str = "") -> Node:
    if not isinstance(value, dict | list):
        return _leaf(name, value, path)
    is_list = isinstance(value, list)
    members = list(value.items()) if isinstance(value, dict) else [(None, each) for each in value]
    if not members:
        return Node(name, "[]" if is_list else "{}", path=path)
    shown = members[:MOST_CHILDREN] if depth < DEEPEST else []
    children = tuple(
        _node(key, each, depth=depth + 1, path=path + (f"[{index}]" if is_list else _member(str(key))))
        for index, (key, each) in enumerate(shown)
    )
    return Node(name, "", is_list, children, len(members), len(members) - len(shown), path)


def _leaf(name: str | None, value: Any, path: str) -> Node:
    if isinstance(value, Number):
        return Node(name, str(value), path=path)
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= LONGEST_STRING:
        return Node(name, text, path=path)
    return Node(name, f"{text[:LONGEST_STRING]}…", more=len(text) - LONGEST_STRING, path=path)


def _member(key: str) -> str:
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"
