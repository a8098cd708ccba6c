"""Plain text that any column can hold, and digests of bytes and of requests.

Nothing here knows what the text is about.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

REPLACEMENT = "\ufffd"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Say whether Postgres can keep the text as it is: no U+0000, no lone surrogate."""
    return _UNSTORABLE.search(text) is None


def clean_text(text: str, limit: int) -> str:
    """Make the text storable, each U+0000 and lone surrogate becoming U+FFFD, and at most `limit` characters long."""
    return _UNSTORABLE.sub(REPLACEMENT, text[:limit])


def digest(data: bytes) -> bytes:
    """Give the SHA-256 of the data, 32 bytes."""
    return hashlib.sha256(data).digest()


def to_json_bytes(value: object) -> bytes:
    """Serialize a value as compact JSON in UTF-8; lone surrogates are kept as they are, never an error."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def request_digest(tool: str, arguments: Mapping[str, object]) -> bytes:
    """Give 32 bytes that are equal for equal requests, in whatever order the arguments were written.

    Types count: 1, 1.0, "1" and true are four different arguments.
    """
    text = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return digest(text.encode("ascii"))
