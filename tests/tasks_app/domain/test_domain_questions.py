"""The words around a question, and its key."""

from __future__ import annotations

import re
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind, QuestionState, Via, mint_key


@given(name=st.text(min_size=1, max_size=30), seed=st.integers())
def test_key_is_the_name_and_eight_lowercase_base32_characters(name: str, seed: int) -> None:
    key = mint_key(name, Random(seed))

    assert key.startswith(f"{name}-")
    assert re.fullmatch("[a-z2-7]{8}", key.removeprefix(f"{name}-"))


def test_keys_of_one_name_differ() -> None:
    keys = {mint_key("approve") for _ in range(1_000)}

    assert len(keys) == 1_000


def test_key_follows_the_random_source_it_is_given() -> None:
    assert mint_key("a", Random(1)) == mint_key("a", Random(1)) != mint_key("a", Random(2))


def test_question_words_are_the_words_of_the_database() -> None:
    assert set(QuestionKind) == {"form", "url", "sampling", "roots"}
    assert set(QuestionState) == {"open", "answered", "expired", "withdrawn"}
    assert set(Audience) == {"owner", "operator"}
    assert set(AnswerAction) == {"accept", "decline", "cancel"}
    assert set(Via) == {"mcp", "console", "deadline", "worker"}
