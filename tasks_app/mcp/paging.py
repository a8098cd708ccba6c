"""Pages of what this server offers: an order that never varies, and a cursor that only we can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core import signing

from tasks_app.mcp.errors import invalid_params

T = TypeVar("T")

PAGE = 100
_SALT = "taskdeck.page"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, and the cursor of the next page when there is one."""

    items: list[T]
    cursor: str | None

    @property
    def following(self) -> dict[str, str]:
        """The cursor as a member of a result."""
        return {} if self.cursor is None else {"nextCursor": self.cursor}


def page_of(items: Sequence[T], cursor: Any, *, key: Callable[[T], str], size: int = PAGE) -> Page[T]:
    """The items, sorted by key, that come after the cursor, or the first ones. Raises the fault for a bad cursor."""
    after = None if cursor is None else _read(cursor)
    left = [item for item in items if after is None or key(item) > after]
    shown = left[:size]
    return Page(shown, signing.dumps(key(shown[-1]), salt=_SALT) if len(left) > size else None)


def _read(cursor: Any) -> str:
    try:
        after = signing.loads(cursor, salt=_SALT) if isinstance(cursor, str) else None
    except (signing.BadSignature, ValueError):  # a lone surrogate cannot even be compared
        after = None
    if not isinstance(after, str):
        raise invalid_params("The cursor is not one of this server: begin again without it")
    return after
