"""The order of what a tool does: a replay must meet the recorded steps and questions where it left them.

Pure bookkeeping over names and positions; nothing is run and nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tasks_app.domain.errors import ToolChanged
from tasks_app.engine.journal import Entry, EntryKind


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a step or question in the order, and what is recorded there."""

    position: int
    entry: Entry | None


class Replay:
    """Walks along the recorded history. Once it has diverged, every further visit says so again."""

    def __init__(self, history: Iterable[Entry]) -> None:
        self._by_name = {entry.name: entry for entry in history}
        self._by_position = {entry.position: entry for entry in self._by_name.values() if entry.position is not None}
        self._visited: dict[str, tuple[int, EntryKind]] = {}
        self.diverged: ToolChanged | None = None

    def visit(self, name: str, kind: EntryKind) -> Place:
        """Take the next place in the order, or the one that the name has already; raises ToolChanged."""
        if self.diverged is not None:
            raise self.diverged
        if name in self._visited:
            position, visited_as = self._visited[name]
            if visited_as is not kind:
                raise self._diverge(f"{name!r} was a {visited_as}, now it is a {kind}")
            return Place(position, self._by_name.get(name))
        position = len(self._visited)
        self._check(name, kind, position)
        self._visited[name] = position, kind
        return Place(position, self._by_name.get(name))

    def record(self, entry: Entry) -> None:
        """Remember what this attempt adds, so that a second use of the name finds it."""
        self._by_name[entry.name] = entry

    def _check(self, name: str, kind: EntryKind, position: int) -> None:
        expected = self._by_position.get(position)
        if expected is not None and (expected.name, expected.kind) != (name, kind):
            raise self._diverge(f"expected {expected.kind} {expected.name!r}, got {kind} {name!r}")
        recorded = self._by_name.get(name)
        if recorded is None or recorded is expected:
            return
        if recorded.kind is not kind:
            raise self._diverge(f"{name!r} was a {recorded.kind}, now it is a {kind}")
        # A gap is a step that failed before it could be recorded; what is recorded elsewhere cannot fill it.
        if recorded.position is not None:
            raise self._diverge(f"{kind} {name!r} was number {recorded.position + 1}, now it is number {position + 1}")

    def _diverge(self, detail: str) -> ToolChanged:
        self.diverged = ToolChanged(detail)
        return self.diverged
