"""What could come next in a search: keys, and the values that there are. Pure; where values come from is given.

Only the word before the caret is completed; what stands before it is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from console.search import KEYS, MINE, quoted
from tasks_app.domain.status import Status
from tasks_app.store.search import Flag

MOST = 8
HINTS = {
    "id": "beginning of an id",
    "status": "working, failed …",
    "tool": "name, * for any part",
    "owner": "whose task",
    "is": "toolerror, expired …",
    "created": "<10m, >24h, 2026-11-01..2026-11-18",
    "expires": "<10m, >24h",
    "arg": "value of an argument",
    "client": "part of its name",
}
TIMES = {"created": ("<10m", "<1h", "<24h", "<7d", ">24h"), "expires": ("<10m", "<1h", "<24h", ">24h")}
_FLAGS = {
    Flag.TOOL_ERROR: "completed, and the tool reported an error",
    Flag.EXPIRED: "its time is over",
    Flag.UNFETCHED: "ended, never read",
    Flag.STOPPING: "its worker has not stopped yet",
    Flag.HELD: "kept by a legal hold",
}
_LAST = re.compile(r'(?P<minus>-?)(?:(?P<key>[a-z]+(?:\.[^\s:"]+)?):)?(?P<value>(?:"[^"]*"?|[^\s"])*)$')

FindWords = Callable[[str, str], Iterable[str]]
"""The values with this part that a key has: `tool`, `owner`, `client`, `arg` (names), `arg.<name>` (values)."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to go on: the word as it would stand there, why, and the whole search with it."""

    word: str
    hint: str
    text: str


def suggest(text: str, *, find_words: FindWords) -> list[Suggestion]:
    """How the last word of this text could end."""
    last = _LAST.search(text)
    if last is None or (last.start() and not text[last.start() - 1].isspace()):
        return []
    head, minus, key, value = text[: last.start()], last["minus"], last["key"], last["value"]
    if key is not None:
        return _values(head + minus, key, value, find_words)
    if value.startswith("arg."):
        part = value.removeprefix("arg.")
        names = _matching(find_words("arg", part), part)
        return [_suggestion(head + minus, f"arg.{name}:", "") for name in names if not re.search(r'[\s:"]', name)]
    keys = [_suggestion(head + minus, f"{key}{'.' if key == 'arg' else ':'}", HINTS[key]) for key in KEYS
            if key.startswith(value.lower())]  # fmt: skip
    tools = _matching(find_words("tool", value), value) if value else []
    return [*keys, *(_suggestion(head + minus, f"tool:{quoted(name)} ", "") for name in tools)][:MOST]


def _values(head: str, key: str, value: str, find_words: FindWords) -> list[Suggestion]:
    """Values after the last comma; those that are there already are not offered again."""
    before, comma, part = value.rpartition(",")
    chosen = {each.replace('"', "") for each in before.split(",")}
    part = part.replace('"', "")
    offered = {name: hint for name, hint in _known(key, part, find_words) if name not in chosen}
    words = _matching(offered, part)
    return [_suggestion(head, f"{key}:{before}{comma}{quoted(word)} ", offered[word]) for word in words]


def _known(key: str, part: str, find_words: FindWords) -> Sequence[tuple[str, str]]:
    if key == "status":
        return [(status.value, "") for status in Status]
    if key == "is":
        return [*((flag.value, hint) for flag, hint in _FLAGS.items()), (MINE, "of yourself")]
    if key in TIMES:
        return [(time, "") for time in TIMES[key]]
    # A quotation mark cannot be typed inside a value.
    return [(word, "") for word in find_words(key, part) if word and '"' not in word]


def _matching(words: Iterable[str], part: str) -> list[str]:
    """Those that begin so, then those that have it somewhere; what is written out already needs no suggestion."""
    part = part.lower()
    found = [word for word in words if part in word.lower() and word.lower() != part]
    return sorted(found, key=lambda word: not word.lower().startswith(part))[:MOST]


def _suggestion(head: str, word: str, hint: str) -> Suggestion:
    return Suggestion(word.rstrip(), hint, head + word)
