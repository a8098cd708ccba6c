"""Actors, ids and tokens."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import uuid
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.identity import Actor, ActorKind, OwnerKind, Scope, new_task_id, new_token, token_digest

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_task_ids_pass_through_addresses_headers_and_gateways_as_they_are() -> None:
    """section 2 item 20: also with the prefix that a gateway puts before them."""
    for task_id in (str(new_task_id()) for _ in range(100)):
        assert re.fullmatch(r"[0-9a-f-]{1,64}", task_id)
        assert quote(task_id, safe="") == task_id


def test_task_ids_are_different_and_use_every_bit() -> None:
    ids = [new_task_id() for _ in range(10_000)]

    seen_set = 0
    seen_clear = 0
    for task_id in ids:
        seen_set |= task_id.int
        seen_clear |= ~task_id.int & (2**128 - 1)
    assert len(set(ids)) == 10_000
    assert seen_set == seen_clear == 2**128 - 1
    assert all(isinstance(task_id, uuid.UUID) for task_id in ids)


def test_token_is_prefixed_url_safe_and_holds_32_random_bytes() -> None:
    tokens = {new_token() for _ in range(1_000)}

    assert len(tokens) == 1_000
    assert all(re.fullmatch("td_[A-Za-z0-9_-]{43}", token) for token in tokens)


def test_token_digest_is_the_sha256_of_the_token() -> None:
    assert token_digest("td_x") == hashlib.sha256(b"td_x").digest()


@given(ANY_TEXT)
def test_token_digest_takes_any_text_a_header_may_hold(token: str) -> None:
    assert len(token_digest(token)) == 32


def test_actor_says_only_what_is_known() -> None:
    actor = Actor(ActorKind.OPERATOR, id=7, role="operator", via="console", reason="owner is away")

    assert actor.as_json() == {
        "kind": "operator",
        "id": 7,
        "role": "operator",
        "via": "console",
        "reason": "owner is away",
    }


@given(reason=ANY_TEXT, request=ANY_TEXT)
def test_actor_is_always_json_that_postgres_can_hold(reason: str, request: str) -> None:
    actor = Actor(ActorKind.CLIENT, id="c", reason=reason, request=request)

    text = json.dumps(actor.as_json(), ensure_ascii=False)

    assert "\\u0000" not in text
    assert text.encode()


def test_actor_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Actor.engine().kind = ActorKind.ADMIN  # type: ignore[misc]


def test_machine_actors_have_constructors() -> None:
    assert Actor.engine().as_json() == {"kind": "engine", "via": "engine"}
    assert Actor.worker("host:12:ab").as_json() == {"kind": "worker", "id": "host:12:ab", "via": "worker"}
    assert Actor.system(via="purge", reason="policy").as_json() == {
        "kind": "system",
        "via": "purge",
        "reason": "policy",
    }


def test_identity_words_are_the_words_of_the_database_and_the_wire() -> None:
    assert set(OwnerKind) == {"user", "client", "team", "local"}
    assert set(Scope) == {"tasks:run", "tasks:read", "tasks:answer", "tasks:cancel"}
    assert set(ActorKind) == {"owner", "operator", "admin", "client", "worker", "engine", "system"}
