"""Who acts: kinds of owner, scopes of a credential, actors, and the minting of ids and tokens.

Whether an actor may do something is decided by the store and the console, not here.
"""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from enum import StrEnum

from tasks_app.domain.text import clean_text, digest

TOKEN_PREFIX = "td_"  # noqa: S105 - not a secret: it tells scanners what leaked
TOKEN_BYTES = 32
TASK_ID_BYTES = 16
REASON_CHARACTERS = 1000


class OwnerKind(StrEnum):
    """What sort of party owns tasks."""

    USER = "user"
    """A person."""

    CLIENT = "client"
    """A machine client that acts for itself."""

    TEAM = "team"
    """A group that shares its tasks."""

    LOCAL = "local"
    """Everyone, on a server that allows anonymous use."""


class Scope(StrEnum):
    """What a credential allows on the protocol endpoint."""

    RUN = "tasks:run"
    """Call tools."""

    READ = "tasks:read"
    """List and read: tools, prompts, resources, tasks and their results."""

    ANSWER = "tasks:answer"
    """Answer what a task asks."""

    CANCEL = "tasks:cancel"
    """Cancel tasks."""


class ActorKind(StrEnum):
    """In what capacity something was done."""

    OWNER = "owner"
    """The task's owner."""

    OPERATOR = "operator"
    """An operator, acting for the owner."""

    ADMIN = "admin"
    """An administrator."""

    CLIENT = "client"
    """A protocol client, with a credential."""

    WORKER = "worker"
    """The worker that ran an attempt."""

    ENGINE = "engine"
    """The engine loop."""

    SYSTEM = "system"
    """A command, a migration, or the start of the server."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something, in what capacity, by what way and why: what every event records."""

    kind: ActorKind
    id: int | str | None = None
    role: str | None = None
    credential: int | str | None = None
    via: str | None = None
    reason: str | None = None
    request: str | None = None

    def as_json(self) -> dict[str, int | str]:
        """Give the known parts as a JSON object that the database can hold."""
        parts = {
            "kind": self.kind.value,
            "id": self.id,
            "role": self.role,
            "credential": self.credential,
            "via": self.via,
            "reason": self.reason,
            "request": self.request,
        }
        return {name: _storable(value) for name, value in parts.items() if value is not None}

    @classmethod
    def engine(cls) -> Actor:
        """Name the engine loop."""
        return cls(kind=ActorKind.ENGINE, via="engine")

    @classmethod
    def worker(cls, worker: str) -> Actor:
        """Name the worker that runs an attempt."""
        return cls(kind=ActorKind.WORKER, id=worker, via="worker")

    @classmethod
    def system(cls, *, via: str, reason: str | None = None) -> Actor:
        """Name the server itself: a command or a start-up step."""
        return cls(kind=ActorKind.SYSTEM, via=via, reason=reason)


def new_task_id() -> uuid.UUID:
    """Mint a task id out of 128 random bits."""
    return uuid.UUID(bytes=secrets.token_bytes(TASK_ID_BYTES))


def new_token() -> str:
    """Mint a bearer token; it is shown once and only its digest is kept."""
    return TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def token_digest(token: str) -> bytes:
    """Give the 32 bytes by which a token is looked up."""
    # A token comes from a request header, so it may hold anything at all.
    return digest(token.encode("utf-8", "surrogatepass"))


def _storable(value: int | str) -> int | str:
    return clean_text(value, REASON_CHARACTERS) if isinstance(value, str) else value
