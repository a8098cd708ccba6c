"""Which generation of the protocol a message speaks, and the ladder that a modern request climbs before its handler.

The first rung that fails wins: `_meta` (-32602), headers (-32020), version (-32022), method (-32601), capability
(-32021). Parameters come after, and are the handler's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.conf import DEFAULTS
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import headers as rules
from tasks_app.mcp.call import Id, Method, Methods
from tasks_app.mcp.errors import (
    BAD_REQUEST,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    UNSUPPORTED_VERSION,
    Fault,
    header_mismatch,
    invalid_params,
    missing_tasks_capability,
)
from tasks_app.mcp.exchange import Headers
from tasks_app.mcp.jsonrpc import Kind, Message
from tasks_app.mcp.wire import TASKS_EXTENSION

LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions with a handshake, newest first."""
MODERN_VERSIONS = ("2026-07-28",)
ASSUMED_VERSION = "2025-03-26"
"""What a legacy client speaks that never said."""

SESSION_ID = "mcp-session-id"
IDEMPOTENCY_HEADER = "idempotency-key"
IDEMPOTENCY_META = "taskdeck/idempotencyKey"

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
PROGRESS_TOKEN = "progressToken"  # noqa: S105 - a name

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
CLIENT_CHARACTERS = 200
CLIENT_BYTES = 16 * 1024
"""What a client may say that it can do, and of itself, each as JSON: it is stored with every session and every task."""
TOKEN_CHARACTERS = 1_024

_KEY = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Era:
    """The generation that a message speaks, and its version as far as the message itself says so."""

    dialect: Dialect
    version: str | None


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a modern request says about itself and its client, once it has passed the ladder."""

    method: Method
    version: str
    capabilities: dict[str, Any]
    client: str
    declares_tasks: bool
    log_level: str | None


def meta_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """`params._meta` when it is an object, else nothing."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def era_of(message: Message, headers: Headers) -> Era:
    """Decide whom a message is for. Raises the fault for one that contradicts itself."""
    stated = headers.all(rules.PROTOCOL_VERSION)
    header = stated[0] if stated else None
    is_in_body = PROTOCOL_VERSION in meta_of(message.params)
    if header is None:
        return Era(Dialect.MODERN if is_in_body else Dialect.LEGACY, None)
    if header in LEGACY_VERSIONS:
        return _legacy_era(header, stated=stated, is_in_body=is_in_body)
    if message.kind is Kind.RESPONSE:
        raise Fault(INVALID_REQUEST, "Clients of this version send no responses", http_status=BAD_REQUEST)
    if message.method == "initialize" and header in MODERN_VERSIONS and not is_in_body:
        # A handshake under the modern header: whatever else is missing, the client must learn that there is none.
        raise Fault(METHOD_NOT_FOUND, "Method not found", http_status=NOT_FOUND)
    return Era(Dialect.MODERN, header)


def _legacy_era(header: str, *, stated: Sequence[str], is_in_body: bool) -> Era:
    if is_in_body or len(set(stated)) > 1:
        raise header_mismatch("MCP-Protocol-Version contradicts the body or itself")
    return Era(Dialect.LEGACY, header)


def is_modern_header(headers: Headers) -> bool:
    """Say whether a request without a body (GET, DELETE) names a version that has neither sessions nor streams."""
    return any(version not in LEGACY_VERSIONS for version in headers.all(rules.PROTOCOL_VERSION))


def climb(message: Message, headers: Headers, methods: Methods) -> Envelope:
    """Take a modern request up the ladder. Raises the fault of the first rung that fails."""
    meta = _checked_meta(message.params)
    version: str = meta[PROTOCOL_VERSION]
    rules.check_version(headers, version)
    rules.check_method(headers, message.method)
    rules.check_name(headers, message.method, message.params)
    if version not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": version}
        raise Fault(UNSUPPORTED_VERSION, "Unsupported protocol version", data=data)
    method = methods.find(message.method)
    capabilities: dict[str, Any] = meta[CLIENT_CAPABILITIES]
    declares_tasks = declares(capabilities, TASKS_EXTENSION)
    if method.needs_tasks and not declares_tasks:
        raise missing_tasks_capability()
    client = client_name(meta.get(CLIENT_INFO))
    return Envelope(method, version, capabilities, client, declares_tasks, meta.get(LOG_LEVEL))


def _checked_meta(params: Mapping[str, Any]) -> dict[str, Any]:
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise invalid_params("`params._meta` must be an object")
    if not isinstance(meta.get(PROTOCOL_VERSION), str):
        raise invalid_params(f"`params._meta` needs the string {PROTOCOL_VERSION}")
    if not isinstance(meta.get(CLIENT_CAPABILITIES), dict):
        raise invalid_params(f"`params._meta` needs the object {CLIENT_CAPABILITIES}")
    if not isinstance(meta.get(CLIENT_INFO, {}), dict):
        raise invalid_params(f"{CLIENT_INFO} must be an object")
    if meta.get(LOG_LEVEL, LOG_LEVELS[0]) not in LOG_LEVELS:
        raise invalid_params(f"{LOG_LEVEL} must be one of {', '.join(LOG_LEVELS)}")
    return meta


def declares(capabilities: Mapping[str, Any], extension: str) -> bool:
    """Say whether a client declares an extension; that it is there is what counts, not its settings."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and extension in extensions


def client_name(info: Any) -> str:
    """`name/version` of a client, for people to read."""
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return ""
    version = info.get("version")
    text = f"{info['name']}/{version}" if isinstance(version, str) and version else info["name"]
    return text[:CLIENT_CHARACTERS]


def bounded(said: dict[str, Any], *, name: str) -> dict[str, Any]:
    """What a client says of itself. Raises the fault when that is more than is kept."""
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode("utf-8", "surrogatepass")) > CLIENT_BYTES:
        raise invalid_params(f"`{name}` may have at most {CLIENT_BYTES} bytes as JSON")
    return said


def check_client(meta: Mapping[str, Any], *, body_bytes: int) -> None:
    """Raises the fault when a modern request says more of its client than is kept."""
    # What is in a small body is small: most requests are not looked at.
    if body_bytes > CLIENT_BYTES:
        for name in (CLIENT_CAPABILITIES, CLIENT_INFO):
            bounded(meta.get(name, {}), name=name)


def progress_token(meta: Mapping[str, Any]) -> Id | None:
    """The token that progress notifications carry. Raises the fault for one that is no short string and no integer."""
    token = meta.get(PROGRESS_TOKEN)
    if token is None:
        return None
    if isinstance(token, bool) or not isinstance(token, str | int):
        raise invalid_params("`_meta.progressToken` must be a string or an integer")
    if isinstance(token, str) and len(token) > TOKEN_CHARACTERS:
        raise invalid_params(f"`_meta.progressToken` may have at most {TOKEN_CHARACTERS} characters")
    return token


def idempotency_key(headers: Headers, meta: Mapping[str, Any]) -> str | None:
    """The key under which a request is carried out once. Raises the fault for a bad one, or two that disagree."""
    keys: list[Any] = list(headers.all(IDEMPOTENCY_HEADER))
    if IDEMPOTENCY_META in meta:
        keys.append(meta[IDEMPOTENCY_META])
    if not keys:
        return None
    if any(key != keys[0] for key in keys):
        raise invalid_params(f"The header Idempotency-Key and {IDEMPOTENCY_META} must agree")
    limit = DEFAULTS.idempotency_key_characters
    if not isinstance(keys[0], str) or len(keys[0]) > limit or not _KEY.fullmatch(keys[0]):
        raise invalid_params(f"An idempotency key has 1 to {limit} visible ASCII characters")
    return keys[0]
