"""What the matrix acts on: people with every role, and fresh things of theirs, of somebody else's and of nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.urls import URLPattern, URLResolver, get_resolver, reverse

from console import store as console_store
from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.store import queries
from tests.console.pages.people import Someone, ask

SYSTEM = Actor.system(via="test")


@dataclass(frozen=True, slots=True)
class Thing:
    """What an address names, by the names of its parts."""

    task_id: Any
    key: str
    credential_id: int
    view_id: int
    export_id: UUID
    webhook_id: int
    # Not anybody's: what is offered to all, and what no test can guess.
    name: str = "hash_files"
    part: str = "arguments"
    token: str = "made-up"


def thing(owner: Someone | None) -> Thing:
    """Something of somebody, or of nobody."""
    if owner is None:
        return Thing(uuid4(), "approve-12345678", 2**40, 2**40, uuid4(), 2**40)
    task = ask(owner)
    credential = store.create_token(owner.owner_id, name="laptop", by=SYSTEM)[1]
    view = console_store.save_view(owner.user, name=str(uuid4()), query="", sort="created")
    webhook = console_store.create_webhook(
        url="https://hooks.example.org/x",
        salt=str(uuid4())[:32],
        site="https://taskdeck.example.org",
        names_tool=False,
        by=SYSTEM,
    )
    return Thing(task.id, queries.questions(task.id)[0].key, credential, view.pk, _exported(owner), webhook)


def _exported(owner: Someone) -> UUID:
    answer: Any = owner.browser.post(reverse("export_audit"), {"format": "csv"})
    b"".join(answer.streaming_content)
    return UUID(answer["X-Export-Id"])


def routes() -> dict[str, URLPattern]:
    """Every address that the resolver knows, by its name."""
    found = {str(pattern.name): pattern for pattern in _patterns(get_resolver())}
    assert "None" not in found, "an address has no name"
    return found


def named_parts(pattern: URLPattern) -> set[str]:
    """What an address of this route has to name."""
    return set(pattern.pattern.converters)


def address(name: str, pattern: URLPattern, of: Thing) -> str:
    """The address of something at a route."""
    return reverse(name, kwargs={part: getattr(of, part) for part in named_parts(pattern)})


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _patterns(entry)
        else:
            yield entry
