"""Labels: the arguments of a call by which its task can be found.

Storing and searching them is the store's part.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from tasks_app.domain.text import is_storable

LABEL_CHARACTERS = 200


def labels_for(arguments: Mapping[str, object], only: Collection[str] | None = None) -> dict[str, str]:
    """Give the top-level scalar arguments as text, or just those named in `only`.

    Left out: null, lists and objects, text longer than 200 characters, and what the database cannot hold.
    """
    found = ((name, _as_text(value)) for name, value in arguments.items() if only is None or name in only)
    return {name: text for name, text in found if text is not None and _fits(name) and _fits(text)}


def _as_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return None


def _fits(text: str) -> bool:
    return len(text) <= LABEL_CHARACTERS and is_storable(text)
