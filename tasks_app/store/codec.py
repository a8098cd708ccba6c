"""How payload is stored: JSON as ASCII text. The one place that would encrypt it.

Text rather than jsonb: valid JSON may carry U+0000 and lone surrogates, which jsonb refuses and ASCII escapes survive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tasks_app.domain.text import clean_text


def encode(value: object) -> str:
    """A payload as it is stored."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def decode(text: str) -> Any:
    """A stored payload as a value."""
    return json.loads(text)


def storable(value: Any) -> Any:
    """The same value as jsonb can hold it: each U+0000 and lone surrogate in its texts becomes U+FFFD."""
    if isinstance(value, str):
        return clean_text(value, len(value))
    if isinstance(value, Mapping):
        return {storable(name): storable(child) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [storable(child) for child in value]
    return value
