"""A page as a browser takes it: how its template is broken into lines means nothing."""

from __future__ import annotations

import re
from typing import Protocol

# A line break beside a tag is where a template was broken; one inside a tag is a space.
_BESIDE_A_TAG = re.compile(r"(?<=>)\s*\n\s*|\s*\n\s*(?=<)")
_ANYWHERE = re.compile(r"\s*\n\s*")
_IN_A_TAG = re.compile(r'<[a-z](?:[^<>"]|"[^"]*")*>')


class Answer(Protocol):
    """Whatever has a body."""

    @property
    def content(self) -> bytes:
        """The body."""


def markup(answer: Answer) -> str:
    """The page of an answer on one line, without the spaces that only its template needs."""
    page = _ANYWHERE.sub(" ", _BESIDE_A_TAG.sub("", answer.content.decode()))
    return _IN_A_TAG.sub(lambda tag: re.sub(r"\s+(?=>)", "", re.sub(r"\s+", " ", tag[0])), page)
