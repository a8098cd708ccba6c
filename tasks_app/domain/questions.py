"""The words around a question: its kind, state, audience, the actions that answer it, and the minting of its key.

Checking what an answer contains is in `answers`.
"""

from __future__ import annotations

from enum import StrEnum
from random import Random, SystemRandom

KEY_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
KEY_RANDOM_CHARACTERS = 8

_SYSTEM_RANDOM = SystemRandom()


class QuestionKind(StrEnum):
    """What is asked for."""

    FORM = "form"
    """A flat form, rendered by the client or the console."""

    URL = "url"
    """A visit to an address, where the answer is given out of band."""

    SAMPLING = "sampling"
    """A message from the client's model."""

    ROOTS = "roots"
    """The list of the client's roots."""


class QuestionState(StrEnum):
    """Where a question stands."""

    OPEN = "open"
    """Nobody has answered yet."""

    ANSWERED = "answered"
    """The first valid answer was recorded."""

    EXPIRED = "expired"
    """Its deadline passed without an answer or a default action."""

    WITHDRAWN = "withdrawn"
    """The task ended while the question was open."""


class Audience(StrEnum):
    """Who may answer."""

    OWNER = "owner"
    """The task's owner, through the client or the console (or an operator with a reason)."""

    OPERATOR = "operator"
    """An operator in the console only: the approval gate, which never goes over the wire."""


class AnswerAction(StrEnum):
    """What the person did with the question."""

    ACCEPT = "accept"
    """Answered it; a form's content comes with it."""

    DECLINE = "decline"
    """Said no."""

    CANCEL = "cancel"
    """Dismissed it without deciding."""


class Via(StrEnum):
    """Where an answer came from."""

    MCP = "mcp"
    """A protocol client."""

    CONSOLE = "console"
    """A person in the web console."""

    DEADLINE = "deadline"
    """Nobody: the deadline passed and the question's default action was taken."""

    WORKER = "worker"
    """Code that holds the handle of a handed-over task."""


def mint_key(name: str, rng: Random = _SYSTEM_RANDOM) -> str:
    """Make the key of a task's question: its name, then 8 random characters, so that no key is ever used twice."""
    return f"{name}-{''.join(rng.choices(KEY_ALPHABET, k=KEY_RANDOM_CHARACTERS))}"
