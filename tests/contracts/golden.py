"""Messages as they are meant to look, kept in files: what differs from run to run is replaced by what never does."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"
WRITE = "TASKDECK_WRITE_GOLDEN"
"""Set it to let the tests write the files anew, and look at the difference before it is committed."""

_REPLACED = [
    (re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"'), '"2026-11-18T09:00:00.000Z"'),
    (re.compile(r'-[a-z2-7]{8}"'), '-aaaaaaaa"'),
    (re.compile(r'"requestState": "[^"]+"'), '"requestState": "signed"'),
    # Asking raises the lifetime, counted from the moment of the question.
    (re.compile(r'"ttlMs": 6084\d{5}'), '"ttlMs": 608400000'),
    (re.compile(r'"nextCursor": "[^"]+"'), '"nextCursor": "signed"'),
]
_TASK_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def steady(message: Any) -> Any:
    """The same message without what differs from run to run; tasks are numbered in the order in which they appear."""
    text = json.dumps(message)
    for pattern, instead in _REPLACED:
        text = pattern.sub(instead, text)
    for number, task_id in enumerate(dict.fromkeys(_TASK_ID.findall(text)), 1):
        text = text.replace(task_id, f"00000000-0000-4000-8000-{number:012d}")
    return json.loads(text)


def expected(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """What the file of this name says; written first when that is asked for."""
    path = FOLDER / f"{name}.json"
    if os.environ.get(WRITE):
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept
