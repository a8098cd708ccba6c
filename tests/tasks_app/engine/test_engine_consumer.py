"""What a worker does when its broker goes away while it holds a message: it lives on."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_app.engine.consumer import PromptConsumer, close_quietly


class Broken:
    """A connection that cannot be closed, as one is that was taken apart with a message still unacknowledged."""

    def close(self) -> None:
        """Fail as kombu does."""
        raise AttributeError("'NoneType' object has no attribute 'hostname'")


def test_connection_that_cannot_be_closed_does_not_end_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    def let_go(consumer: Any, _error: Exception) -> None:
        connection, consumer.connection = consumer.connection, None
        connection.close()
        closed.append(connection)

    monkeypatch.setattr(PromptConsumer.__base__, "on_connection_error_after_connected", let_go)
    consumer = PromptConsumer.__new__(PromptConsumer)
    consumer.connection = Broken()

    consumer.on_connection_error_after_connected(ConnectionError("gone"))

    assert len(closed) == 1
    assert consumer.connection is None


def test_what_closing_raises_is_only_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    close_quietly(Broken().close)
    close_quietly(lambda: None)

    assert len(caplog.records) == 1
