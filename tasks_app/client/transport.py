"""One JSON-RPC request over HTTP, and its answer: plain JSON, or the last message of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30.0
ACCEPTED = 202
STREAM = "text/event-stream"
CLIENT_INFO = {"name": "taskdeck-client", "version": "0.1.0"}


class Unreachable(Exception):
    """There is no answer: nobody listens, the connection broke, or it took too long."""


class Refused(Exception):
    """The server answered with an error; `code` is the protocol's, or the status of HTTP where there is none."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a request, and the headers that came with it."""

    result: dict[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Transport:
    """Where the endpoint is, and what is presented there. A connection is opened for each request."""

    url: str
    token: str
    timeout: float = TIMEOUT_SECONDS

    def send(self, message: Mapping[str, Any], *, headers: Mapping[str, str]) -> Reply:
        """Send one message and give its result. Raises Refused or Unreachable."""
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.netloc, timeout=self.timeout)
        try:
            connection.request("POST", parts.path or "/", json.dumps(message), self._headers(headers))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return _reply(answer.status, found, answer.read())
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self.url}: {error}") from error
        finally:
            connection.close()

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "Accept": f"application/json, {STREAM}",
            "Authorization": f"Bearer {self.token}",
            **more,
        }


def _reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    if status == ACCEPTED:
        return Reply({}, headers)
    message = _message(headers.get("content-type", ""), body)
    error = message.get("error")
    if isinstance(error, dict):
        raise Refused(int(error.get("code", status)), str(error.get("message", "")))
    result = message.get("result")
    if not isinstance(result, dict):
        raise Refused(status, str(message.get("error_description") or error or "The answer makes no sense"))
    return Reply(result, headers)


def _message(content_type: str, body: bytes) -> dict[str, Any]:
    text = body.decode("utf-8", "replace")
    try:
        found = _last_event(text) if content_type.startswith(STREAM) else json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _last_event(text: str) -> Any:
    """What came before it are notifications; the answer is the last one."""
    data = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    return json.loads(next((each for each in reversed(data) if each), "{}"))
